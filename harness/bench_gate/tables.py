"""What was measured, as rows of CSV files that only grow, and the tables that follow from them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from kvdyno.regress import Pair, judge

GATES, PAIRS, RESAMPLED, RATES = "gates.csv", "pairs.csv", "resampled.csv", "rates.csv"
GATE_COLUMNS = (
    *("part", "number", "kind", "slowdown", "instructions", "margin", "in_force", "budget_s", "status"),
    *("regressions", "undecided", "comparisons", "pairs", "seconds", "stopped", "ratio", "by_time"),
    *(
        "counted",
        "by_count",
        "found",
        "planted",
        "located",
        "steps",
        "commit",
        "date",
        "noise_known",
        "machine",
    ),
)
PAIR_COLUMNS = ("gate", "point", "metric", "unit", "repetition", "base", "head")

SUITES = 500
PAIRS_MOST = 40


def read(path: Path) -> list[dict[str, str]]:
    """The rows; none without the file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def append(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Rows after those that are there, on disk when this returns."""
    new = not path.is_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
        if new:
            table.writeheader()
        table.writerows(rows)


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """The file, in place of an earlier one."""
    path.unlink(missing_ok=True)
    append(path, columns, rows)


def rates(gates: Sequence[Mapping[str, str]]) -> list[dict[str, object]]:
    """How often gates of each kind ended with a regression, and how often they found the slower get."""
    found = []
    for kind in dict.fromkeys(row["kind"] for row in gates if row["kind"] not in ("cost", "bisect")):
        mine = [row for row in gates if row["kind"] == kind]
        found.append(
            {
                "kind": kind,
                "slowdown": mine[0]["slowdown"],
                "in_force": mine[0]["in_force"],
                "gates": len(mine),
                "alarms": sum(row["status"] == "1" for row in mine),
                "undecided": sum(row["status"] == "2" for row in mine),
                "found": sum(row["found"] == "1" for row in mine),
                "by_time": sum(row["by_time"] == "1" for row in mine),
                "by_count": sum(row["by_count"] == "1" for row in mine),
                "ratio": _median(mine, "ratio"),
                "counted": _median(mine, "counted"),
            }
        )
    return found


def _median(rows: Iterable[Mapping[str, str]], column: str) -> str:
    values = [float(row[column]) for row in rows if row[column]]
    return f"{np.median(values):.4f}" if values else ""


def resampled(pairs: Sequence[Mapping[str, str]], *, margin: float) -> list[dict[str, object]]:
    """Suites of twins, drawn with replacement from the pairs that twins measured, and judged pair by pair.

    Which twin is BASE is drawn for each pair, for they are one build. All metrics of a pair are drawn
    together. A suite raises an alarm if any look at any comparison calls a difference beyond the margin.
    The second row asks for less: any interval leaves out 1.
    """
    points: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    units: dict[str, str] = {}
    for row in pairs:
        one = points.setdefault(row["point"], {}).setdefault((row["gate"], row["repetition"]), {})
        one[row["metric"]] = math.log(float(row["head"]) / float(row["base"]))
        units[row["metric"]] = row["unit"]
    if not points:
        return []
    rng = np.random.default_rng(2026)
    level = 0.05 / (len(points) * len(units))
    alarms = strict = 0
    for _ in range(SUITES):
        called, misses = _suite(rng, points, units, margin=margin, level=level)
        alarms += called
        strict += misses
    return [
        {"case": "a verdict beyond the margin", "suites": SUITES, "alarms": alarms, "margin": margin},
        {"case": "an interval without 1", "suites": SUITES, "alarms": strict, "margin": 0.0},
    ]


def _suite(
    rng: np.random.Generator,
    points: Mapping[str, Mapping[tuple[str, str], Mapping[str, float]]],
    units: Mapping[str, str],
    *,
    margin: float,
    level: float,
) -> tuple[bool, bool]:
    """Whether any look at one suite calls a difference, and whether any interval misses 1."""
    called = misses = False
    for stored in points.values():
        measured = list(stored.values())
        drawn = [measured[n] for n in rng.integers(len(measured), size=PAIRS_MOST)]
        signs = rng.choice((-1.0, 1.0), size=PAIRS_MOST)
        for metric, unit in units.items():
            logs = [
                float(sign * each[metric]) for sign, each in zip(signs, drawn, strict=True) if metric in each
            ]
            for n in range(2, len(logs) + 1):
                seen = judge(
                    [Pair(1.0, math.exp(v)) for v in logs[:n]], unit=unit, margin=margin, level=level
                )
                misses |= seen.log is not None and abs(seen.log.mean) > seen.log.half
                called |= seen.call not in ("same", "undecided")
    return called, misses
