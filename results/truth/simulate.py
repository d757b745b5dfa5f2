"""Simulates the rules for intervals, decisions, steadiness and orders, as they were and as they are.

Writes simulated.csv beside itself: `finding`, `case`, `rule` ("before" or "now"), `value` (a share), `n`. The
earlier rules are written down here, the present ones are the project's own functions. Seeded; a minute:

    .venv/bin/python results/truth/simulate.py && make results
"""

from __future__ import annotations

import csv
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kvdyno.analysis.levels import mean_over_points
from kvdyno.analysis.steady import steadiness
from kvdyno.analysis.verdicts import holm
from kvdyno.plan.order import williams_rows

Values = NDArray[np.float64]
Row = tuple[str, str, str, float, int]

SWEEPS = 4000
SERIES = 1000
LEVEL = 0.05


def half_width(error: float, freedom: float) -> float:
    """Half of a 95 % interval."""
    return float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error


def coverage(rng: np.random.Generator) -> Iterator[Row]:
    """Overall intervals of 8 points: repetitions share their weather (sd 0.07), runs add noise (sd 0.05)."""
    points = 8
    for repetitions in (3, 5, 8):
        held = Counter[str]()
        for _ in range(SWEEPS):
            cells = rng.normal(0, 0.07, repetitions) + rng.normal(0, 0.05, (points, repetitions))
            variances = cells.var(axis=1, ddof=1) / repetitions / points**2
            freedom = variances.sum() ** 2 / (variances**2 / (repetitions - 1)).sum()
            reach = half_width(math.sqrt(variances.sum()), max(1, int(freedom)))
            held["before"] += abs(cells.mean()) <= reach
            mean = mean_over_points(cells)
            held["now"] += abs(mean.value) <= half_width(mean.error, mean.freedom)
        for rule in ("before", "now"):
            yield "coverage", f"{repetitions} repetitions", rule, held[rule] / SWEEPS, SWEEPS


def false_reports(rng: np.random.Generator) -> Iterator[Row]:
    """Reports of 16 comparisons between which nothing differs: does any decide that something does?"""
    for repetitions in (3, 5):
        decided = Counter[str]()
        for _ in range(SWEEPS):
            p = stats.ttest_1samp(rng.normal(0, 0.05, (16, repetitions)), 0, axis=1).pvalue
            decided["before"] += bool((p <= LEVEL).any())
            decided["now"] += bool((holm(p) <= LEVEL).any())
        for rule in ("before", "now"):
            case = f"16 nulls, {repetitions} repetitions"
            yield "false reports", case, rule, decided[rule] / SWEEPS, SWEEPS


def extended(rng: np.random.Generator) -> Iterator[Row]:
    """A comparison without a difference, repeated until decided or repetitions run out; now n is fixed."""
    for last in (6, 10):
        decided = Counter[str]()
        for _ in range(SWEEPS):
            data = rng.normal(0, 0.05, last)
            looks = [stats.ttest_1samp(data[:n], 0).pvalue for n in range(3, last + 1)]
            decided["before"] += min(looks) <= LEVEL
            decided["now"] += looks[-1] <= LEVEL
        for rule in ("before", "now"):
            yield "extended", f"3 to {last} repetitions", rule, decided[rule] / SWEEPS, SWEEPS


def unsteady_before(rates: Values) -> bool:
    """MSER-5 with a tolerance of 5 %, whose last quarter was not searched."""
    size = 5 if len(rates) >= 50 else 1
    batches = rates[: len(rates) // size * size].reshape(-1, size).mean(axis=1)
    last = max(1, len(batches) * 3 // 4)
    cut = int(np.argmin([batches[d:].var() / (len(batches) - d) for d in range(last + 1)]))
    return abs(batches[cut:].mean() / batches.mean() - 1) > 0.05


def unsteady_now(rates: Values) -> bool:
    """The present judgement."""
    return steadiness(rates).state != "steady"


def shapes(rng: np.random.Generator, length: int) -> dict[str, Values]:
    """Rates of a phase: what they should be, without noise."""
    time = np.arange(length) / length
    period = int(rng.integers(5, 21))
    return {
        "steady": np.ones(length),
        "collapse to a tenth in the last fifth": np.where(time < 0.8, 1.0, 0.1),
        "sawtooth of ± 30 %": 1 + 0.6 * (np.arange(length) % period / period - 0.5),
        "drift by -30 %": 1.15 - 0.3 * time,
        "step by -20 %": np.where(time < 0.5, 1.0, 0.8),
    }


def steadiness_rows(rng: np.random.Generator) -> Iterator[Row]:
    """Series of 30 to 120 intervals with noise of 5 to 10 %: how many are called unsteady."""
    rules: dict[str, Callable[[Values], bool]] = {"before": unsteady_before, "now": unsteady_now}
    found = Counter[tuple[str, str]]()
    for _ in range(SERIES):
        length = int(rng.integers(30, 121))
        noise = 1 + rng.normal(0, rng.uniform(0.05, 0.1), length)
        for shape, rates in shapes(rng, length).items():
            for rule, judged in rules.items():
                found[shape, rule] += judged(np.maximum(rates * noise, 0.001))
    for (shape, rule), count in found.items():
        yield "steadiness", shape, rule, count / SERIES, SERIES


def orders() -> Iterator[Row]:
    """How often a contender follows its most frequent predecessor, of all times that it follows one."""
    for count in (3, 4):
        rotating = [tuple((place + turn) % count for place in range(count)) for turn in range(count)]
        balanced = [row for square in williams_rows(count) for row in square]
        for rule, rows in (("before", rotating), ("now", balanced)):
            pairs = Counter((a, b) for row in rows for a, b in itertools.pairwise(row))
            share = max(
                max(n for (_, b), n in pairs.items() if b == mine)
                / sum(n for (_, b), n in pairs.items() if b == mine)
                for mine in range(count)
            )
            yield "orders", f"{count} contenders", rule, share, len(rows)


def main() -> None:
    """Everything, in one file."""
    rng = np.random.default_rng(2026)
    sources = (coverage(rng), false_reports(rng), extended(rng), steadiness_rows(rng), orders())
    with (Path(__file__).parent / "simulated.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("finding", "case", "rule", "value", "n"))
        for rows in sources:
            table.writerows((*row[:3], f"{row[3]:.4f}", row[4]) for row in rows)


if __name__ == "__main__":
    main()
