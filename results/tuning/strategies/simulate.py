"""Simulates searches on a measured surface: what does each strategy find with so many measurements?

The surface is the sweep in ../surface: LevelDB's throughput at combinations of four options, and between them
by multilinear interpolation of its logarithm. A measurement of a candidate is its gain over the default, with
noise that is drawn from how far the sweep's repetitions lie from their means. As in a search, after every
third try one of which noise decides whether it is the best is measured again. What counts is the surface's
own gain at the try that promises most; the default's, which is 1, where none promises more.

Writes beside itself `found.csv`, a strategy's gain over the default (a ratio, the geometric mean over seeds)
after so many measurements, and `compared.csv`, the gain of `gp` over another strategy's, paired by seed.
`low` and `high` are 95 % intervals (Student). Seeded; a minute:

    .venv/bin/python results/tuning/strategies/simulate.py && make results
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.interpolate import RegularGridInterpolator

from kvdyno.model.search import Dimension, Options, Space, Try
from kvdyno.tuning.gaussian import with_beliefs
from kvdyno.tuning.question import Question
from kvdyno.tuning.racing import due
from kvdyno.tuning.search import chosen
from kvdyno.tuning.strategies import STRATEGIES

Values = NDArray[np.float64]

HERE = Path(__file__).parent
SURFACE = HERE.parent / "surface" / "metrics.parquet"
#: Options that scale are this much larger at paper scale, where the space has its ranges, than in the sweep.
SCALE = 128
SCALED = ("write_buffer_size", "cache_size")

MIB, GIB = 1 << 20, 1 << 30
DIMENSIONS = (
    Dimension("write_buffer_size", low=64 * MIB, high=GIB, log=True, memory=2),
    Dimension("cache_size", low=128 * MIB, high=8 * GIB, log=True, memory=1),
    Dimension("filter_bits", low=0, high=20),
    Dimension("block_size", low=1024, high=65536, log=True),
)
NAMES = [each.name for each in DIMENSIONS]
#: A strategy looks at dimensions and memory, and never at the engine.
SPACE = Space(cast(Any, None), DIMENSIONS, 0.6 * 16 * GIB)
#: LevelDB's own defaults in that space.
START: Options = dict(zip(NAMES, (str(512 * MIB), str(GIB), "0", "4096"), strict=True))

SEEDS = range(1, 31)
MEASUREMENTS = (12, 24, 48)


@dataclass(frozen=True)
class Surface:
    """The logarithm of throughput over options, and how far repetitions lie from their means."""

    log: RegularGridInterpolator
    residuals: Values

    def gain(self, options: Options) -> float:
        """How much better than the default's the candidate's throughput is: a logarithm."""
        places = [[each.place(float(its[each.name])) for each in DIMENSIONS] for its in (options, START)]
        candidate, default = self.log(places)
        return float(candidate - default)

    def measured(self, options: Options, rng: np.random.Generator) -> float:
        """The gain that one repetition beside the default shows: both have noise."""
        candidate, default = rng.choice(self.residuals, size=2)
        return self.gain(options) + float(candidate - default)


def read_surface() -> Surface:
    """The sweep's surface."""
    frame = pd.read_parquet(SURFACE)
    rows = frame[(frame["metric"] == "throughput") & (frame["phase"] == "run")].copy()
    for name in SCALED:
        rows[name] *= SCALE
    rows["log"] = np.log(rows["value"])
    points = rows.groupby(NAMES)["log"]
    means, n = points.mean(), points.transform("count")
    shape = [len(values) for values in means.index.levels]
    places = [
        [each.place(float(value)) for value in values]
        for each, values in zip(DIMENSIONS, means.index.levels, strict=True)
    ]
    residuals = (rows["log"] - points.transform("mean")) * np.sqrt(n / (n - 1))
    return Surface(RegularGridInterpolator(places, means.to_numpy().reshape(shape)), residuals.to_numpy())


def search(surface: Surface, strategy: str, *, seed: int) -> dict[int, float]:
    """The surface's gain at the try that promises most, after so many measurements.

    The default, and a try that repeats an earlier one, costs none. A strategy that only repeats itself has
    ended: what it found stays.
    """
    rng = np.random.default_rng(seed)
    trail: list[Try] = []
    after: list[tuple[Try, ...]] = []
    while len(after) < MEASUREMENTS[-1] and not _idle(trail):
        options = STRATEGIES[strategy](Question(SPACE, tuple(trail), START, seed))
        number = len(trail) + 1
        known = next((one for one in (Try(0, START, (0.0,)), *trail) if one.options == options), None)
        if known:
            trail.append(replace(known, number=number, each=(), seconds=0))
            continue
        trail.append(_try(surface, Try(number, options, None), rng=rng))
        after.append(tuple(trail))
        unclear = due(trail)
        if unclear:
            again = _try(surface, unclear, rng=rng)
            trail = [_follows(again, one) for one in trail]
            after.append(tuple(trail))
    found = {count: _found(after[min(count, len(after)) - 1], seed=seed) for count in MEASUREMENTS}
    return {count: surface.gain(options) for count, options in found.items()}


def _try(surface: Surface, one: Try, *, rng: np.random.Generator) -> Try:
    """The try after one more measurement."""
    each = (*one.each, (surface.measured(one.options, rng),))
    mean = math.fsum(gain for (gain,) in each) / len(each)
    return replace(one, gains=(mean,), each=each, seconds=len(each))


def _follows(again: Try, one: Try) -> Try:
    """A try of the trail after `again` was measured once more."""
    if one.number == again.number:
        return again
    return replace(one, gains=again.gains) if one.options == again.options else one


def _found(trail: Sequence[Try], *, seed: int) -> Options:
    """The candidate that promises most; the default if none promises anything."""
    believed = with_beliefs(Question(SPACE, trail, START, seed))
    best = next(iter(chosen(believed).values()), None)
    return best.options if best and best.believed and best.believed[0] > 0 else START


def _idle(trail: Sequence[Try]) -> bool:
    last = trail[-10 * len(DIMENSIONS) :]
    return len(last) == 10 * len(DIMENSIONS) and not any(one.seconds for one in last)


def found_rows(gains: dict[str, list[dict[int, float]]]) -> Iterator[list[object]]:
    """A row for each strategy and number of measurements."""
    for strategy, searches in gains.items():
        for count in MEASUREMENTS:
            yield [strategy, count, *_ratio([its[count] for its in searches])]


def compared_rows(gains: dict[str, list[dict[int, float]]]) -> Iterator[list[object]]:
    """A row for each other strategy and number of measurements."""
    for strategy in [each for each in gains if each != "gp"]:
        for count in MEASUREMENTS:
            pairs = zip(gains["gp"], gains[strategy], strict=True)
            yield [strategy, count, *_ratio([mine[count] - theirs[count] for mine, theirs in pairs])]


def _ratio(logs: Sequence[float]) -> list[object]:
    """Geometric mean, its interval, and how many seeds there were."""
    mean = float(np.mean(logs))
    reach = float(stats.sem(logs) * stats.t.ppf(0.975, len(logs) - 1))
    return [*(f"{math.exp(each):.4f}" for each in (mean, mean - reach, mean + reach)), len(logs)]


def write(name: str, heads: Sequence[str], rows: Iterator[list[object]]) -> None:
    """A table beside this script."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*heads, "measurements", "ratio", "low", "high", "seeds"])
        writer.writerows(rows)


def main() -> None:
    """Writes the tables."""
    surface = read_surface()
    gains = {name: [search(surface, name, seed=seed) for seed in SEEDS] for name in STRATEGIES}
    write("found.csv", ["strategy"], found_rows(gains))
    write("compared.csv", ["over"], compared_rows(gains))


if __name__ == "__main__":
    main()
