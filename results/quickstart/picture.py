"""Draws docs/images/at-a-glance.svg from the tables beside this script: throughput over tuned RocksDB's.

Full marks are decided verdicts, hollow ones undecided. The picture holds the tables' digest, so that a test
sees when it is old. `make results` runs this script.
"""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots.style import COLOURS, INK, MARKERS, QUIET, RULE

HERE = Path(__file__).parent
PICTURE = HERE.parent.parent / "docs" / "images" / "at-a-glance.svg"
TABLES = ("_overall.csv", "_points.csv")
ENGINES = {"rocksdb": "RocksDB, default", "leveldb": "LevelDB", "chunkstore": "chunk store"}
WORKLOADS = {"": "all four", "p": "puts", "a": "half puts, half gets", "c": "gets", "e100": "scans of 100"}
#: Each engine's colour and mark, as in the report: by its place in the experiment.
LOOKS = {label: place for place, label in enumerate(("rocksdb", "rocksdb-tuned", "leveldb", "chunkstore"))}
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def digest() -> str:
    """SHA-256 of the tables, in hexadecimal."""
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in TABLES)).hexdigest()


def rows() -> dict[tuple[str, str], dict[str, str]]:
    """Rows by label and workload; a mean over workloads has the workload ""."""
    found = {}
    for name in TABLES:
        with (HERE / name).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row["metric"] == "throughput":
                    found[row["label"], row.get("workload", "")] = row
    return found


def draw() -> Figure:
    """The picture, 7 inches wide."""
    figure = Figure(figsize=(7.0, 3.3), layout="constrained")
    axes = figure.add_subplot()
    found = rows()
    for place, workload in enumerate(WORKLOADS):
        if place % 2 == 0:
            axes.axhspan(place - 0.5, place + 0.5, color=RULE, alpha=0.35, linewidth=0)
        for number, label in enumerate(ENGINES):
            row, look = found[label, workload], LOOKS[label]
            low, ratio, high = (float(row[name]) for name in ("low", "ratio", "high"))
            spot = place + (number - 1) * 0.26
            axes.plot((low, high), (spot, spot), color=COLOURS[look], linewidth=1.8)
            fill = "white" if row["verdict"] == "undecided" else COLOURS[look]
            axes.plot(ratio, spot, MARKERS[look], color=COLOURS[look], markerfacecolor=fill, markersize=6.5)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("log")
    edges = axes.get_xlim()
    axes.set_xticks(TICKS, [f"{tick:g}×" for tick in TICKS])
    axes.set_xlim(edges)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("slower  ←  throughput over that of tuned RocksDB  →  faster", color=INK)
    axes.set_yticks(range(len(WORKLOADS)), WORKLOADS.values())
    axes.set_ylim(len(WORKLOADS) - 0.5, -0.5)
    axes.tick_params(length=0, colors=INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    marks = [
        Line2D([], [], color=COLOURS[LOOKS[label]], marker=MARKERS[LOOKS[label]], linewidth=1.8, label=name)
        for label, name in ENGINES.items()
    ]
    hollow = Line2D([], [], color=QUIET, marker="o", markerfacecolor="white", linewidth=0, label="undecided")
    figure.legend(handles=[*marks, hollow], loc="outside upper left", ncols=4, frameon=False)


def main() -> None:
    """Writes the picture."""
    looks = {"font.size": 9, "svg.hashsalt": "kvdyno", "svg.fonttype": "path", "axes.axisbelow": True}
    with matplotlib.rc_context(looks):
        draw().savefig(PICTURE, metadata={"Date": None, "Creator": None, "Description": digest()})


if __name__ == "__main__":
    main()
