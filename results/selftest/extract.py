"""Writes the tables here from what `kvdyno selftest --json` printed: extract.py < selftest.json."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def main() -> None:
    """Reads standard input, writes three tables."""
    found = json.load(sys.stdin)
    write("scores.csv", [{**score, "value": score["coverage"]} for score in found["scores"]])
    twins = [each for each in found["noise"]["twins"] if each["metric"] == "throughput"]
    write("twins.csv", [{**each, **each["axes"], "value": each["sd_log"]} for each in twins])
    if found["tools"]:
        write("tools.csv", found["tools"])


def write(name: str, rows: Sequence[Mapping[str, object]]) -> None:
    """A CSV file beside this script, of what is no mapping itself."""
    kept = [{key: value for key, value in row.items() if not isinstance(value, dict)} for row in rows]
    with Path(__file__).with_name(name).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(kept[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


if __name__ == "__main__":
    main()
