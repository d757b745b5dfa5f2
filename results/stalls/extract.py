"""Writes stalls.csv: how stalls met compactions in each run, from the records and events of adoc-motivation.

extract.py results/runs/batch-*.fillrandom.*/*/record.json
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pandas as pd

from kvdyno.analysis.events import load_events

_SOON = 0.05  # s


def main() -> None:
    """Reads the records named as arguments, writes the table beside this script."""
    rows = [row for name in sys.argv[1:] if (row := of_run(Path(name))) is not None]
    rows.sort(key=lambda row: tuple(row.values()))
    with Path(__file__).with_name("stalls.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def of_run(record: Path) -> dict[str, object] | None:
    """One row; None for a run that failed. Delays are those of level 0, stops those of the memtable."""
    found = json.loads(record.read_text("utf-8"))
    if found["status"] != "ok":
        return None
    events = load_events(record.with_name("events.csv"))
    events = events[events["phase"] == "load"].assign(end=events["begin"] + events["duration"])
    compactions = events[events["kind"] == "compaction"]
    upper = compactions[compactions["detail"].str.startswith("from=0 ")]
    lower = compactions.drop(upper.index)
    stalls = events[events["kind"] == "stall"]
    delays = stalls[(stalls["state"] == "delay") & (stalls["cause"] == "level0")]
    stops = stalls[(stalls["state"] == "stop") & (stalls["cause"] == "memtable")]
    alone = [begin for begin in delays["begin"] if not runs(upper, begin)]
    axes = found["point"]["axes"]
    return {
        "batch": axes["engine"],
        "device": axes["device"],
        "jobs": axes["max_background_jobs"],
        "repetition": found["repetition"],
        "delays": len(delays),
        "delay_seconds": round(delays["duration"].sum(), 3),
        "delays_ended_by_compaction": sum(near(upper["end"], end) for end in delays["end"]),
        "delays_begun_without": len(alone),
        "delays_begun_beside_deeper": sum(runs(lower, begin) for begin in alone),
        "stops": len(stops),
        "stops_in_compactions": sum(runs(compactions, begin) for begin in stops["begin"]),
        "stop_seconds": round(stops["duration"].sum(), 3),
        "stop_median_seconds": round(stops["duration"].median(), 3) if len(stops) else "",
        "pending_seconds": round(stalls[stalls["cause"] == "pending"]["duration"].sum(), 3),
        "longest_upper_seconds": round(upper["duration"].max(), 3) if len(upper) else "",
    }


def runs(events: pd.DataFrame, moment: float) -> bool:
    """Whether one of the events goes on at a moment."""
    return bool(((events["begin"] <= moment) & (moment < events["end"])).any())


def near(ends: pd.Series[float], moment: float) -> bool:
    """Whether one of the ends is within 50 ms of a moment."""
    return bool(((ends - moment).abs() <= _SOON).any())


if __name__ == "__main__":
    main()
