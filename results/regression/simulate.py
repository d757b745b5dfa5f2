"""Simulates gates: how often a suite without any change raises an alarm, and how many pairs a verdict takes.

Writes simulated.csv beside itself: `finding`, `case`, `spread` (standard deviation of a pair's log-ratio),
`value`, `n` (simulated suites or comparisons). Seeded; a minute:

    .venv/bin/python results/regression/simulate.py && make results
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kvdyno.regress import Pair, interval, judge

Values = NDArray[np.float64]
Row = tuple[str, str, float, float, int]

COMPARISONS = 6
PAIRS_MOST = 40
LEVEL = 0.05 / COMPARISONS
MARGIN = 0.05
SUITES = 2000
GATES = 1000


def false_alarms(rng: np.random.Generator) -> Iterator[Row]:
    """Suites whose arms differ in nothing, looked at after every pair: does any interval leave out 1?"""
    fixed = sequence = 0
    for _ in range(SUITES):
        logs = rng.normal(0, 0.05, size=(COMPARISONS, PAIRS_MOST))
        fixed += any(ever_misses_fixed(row) for row in logs)
        sequence += any(ever_misses(row) for row in logs)
    yield "false alarms", "intervals for a fixed number of pairs", 0.05, fixed / SUITES, SUITES
    yield "false alarms", "confidence sequence", 0.05, sequence / SUITES, SUITES


def ever_misses_fixed(logs: Values) -> bool:
    """Whether Student's interval leaves out 0 after any number of pairs from 3 on."""
    n = np.arange(1, len(logs) + 1)
    mean = np.cumsum(logs) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((np.cumsum(logs**2) / n - mean**2) / (n - 1))
    reach = stats.t.ppf(1 - LEVEL / 2, np.maximum(n - 1, 1)) * error
    return bool((np.abs(mean) > reach)[2:].any())


def ever_misses(logs: Values) -> bool:
    """Whether the sequence leaves out 0 after any number of pairs."""
    found = (interval(logs[:n], level=LEVEL) for n in range(2, len(logs) + 1))
    return any(abs(each.mean) > each.half for each in found)


def verdicts(rng: np.random.Generator) -> Iterator[Row]:
    """The first verdict on a comparison, and after how many pairs."""
    for spread in (0.02, 0.05, 0.1):
        for change in (0.0, -0.1, -0.2):
            right, pairs = 0, []
            for _ in range(GATES):
                call, n = first_verdict(math.log1p(change) + rng.normal(0, spread, PAIRS_MOST))
                right += call == ("slower" if change else "same")
                pairs.append(n)
            case = f"{change:.0%}"
            yield "decided", case, spread, right / GATES, GATES
            yield "pairs", case, spread, float(np.median(pairs)), GATES


def first_verdict(logs: Values) -> tuple[str, int]:
    """The verdict that ends the comparison, and its number of pairs."""
    pairs = [Pair(1.0, math.exp(log)) for log in logs]
    for n in range(2, len(pairs) + 1):
        call = judge(pairs[:n], unit="op/s", margin=MARGIN, level=LEVEL).call
        if call != "undecided":
            return call, n
    return "undecided", len(pairs)


def main() -> None:
    """Everything, in one file."""
    rng = np.random.default_rng(2026)
    with (Path(__file__).parent / "simulated.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("finding", "case", "spread", "value", "n"))
        for rows in (false_alarms(rng), verdicts(rng)):
            table.writerows((*row[:3], f"{row[3]:.4f}", row[4]) for row in rows)


if __name__ == "__main__":
    main()
