"""Simulates searches on measured surfaces: what does each strategy find with so many measurements?

A measurement of a candidate is its gain on the surface (surfaces.py), with noise as measured. As in a search,
after every third try one of which noise decides whether it is the best is measured again. What counts is the
surface's own gain at the try that promises most; the default's, which is 1, where none promises more.

Writes beside itself `found.csv`, a strategy's gain over the default (a ratio, the geometric mean over seeds)
after so many measurements, `compared.csv`, the gain of `gp` over another strategy's, paired by seed, and
`fit.csv`, how well a surface predicts. `low` and `high` are 95 % intervals (Student). Seeded; a few minutes:

    .venv/bin/python results/tuning/strategies/simulate.py && make results
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats
from surfaces import Surface, surfaces

from kvdyno.model.search import Options, Try
from kvdyno.tuning.gaussian import with_beliefs
from kvdyno.tuning.question import Question
from kvdyno.tuning.racing import due
from kvdyno.tuning.search import chosen
from kvdyno.tuning.strategies import STRATEGIES

HERE = Path(__file__).parent

SEEDS = range(1, 31)
MEASUREMENTS = (12, 24, 48)


def search(surface: Surface, strategy: str, *, seed: int) -> dict[int, float]:
    """The surface's gain at the try that promises most, after so many measurements.

    The default, and a try that repeats an earlier one, costs none. A strategy that only repeats itself has
    ended: what it found stays.
    """
    rng = np.random.default_rng(seed)
    trail: list[Try] = []
    after: list[tuple[Try, ...]] = []
    while len(after) < MEASUREMENTS[-1] and not _idle(trail, surface):
        number = len(trail) + 1
        options = _candidate(surface, strategy, trail, seed=seed)
        known = next((one for one in (Try(0, surface.start, (0.0,)), *trail) if one.options == options), None)
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
    found = {count: _found(surface, after[min(count, len(after)) - 1], seed=seed) for count in MEASUREMENTS}
    return {count: surface.gain(options) for count, options in found.items()}


def _candidate(surface: Surface, strategy: str, trail: Sequence[Try], *, seed: int) -> Options:
    """What comes next: what a search begins with, then what the strategy proposes."""
    if len(trail) < len(surface.given):
        return surface.given[len(trail)]
    return STRATEGIES[strategy](_question(surface, trail, seed=seed))


def _question(surface: Surface, trail: Sequence[Try], *, seed: int) -> Question:
    return Question(surface.space, tuple(trail), surface.start, seed, given=len(surface.given))


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


def _found(surface: Surface, trail: Sequence[Try], *, seed: int) -> Options:
    """The candidate that promises most; the default if none promises anything."""
    best = next(iter(chosen(with_beliefs(_question(surface, trail, seed=seed))).values()), None)
    return best.options if best and best.believed and best.believed[0] > 0 else surface.start


def _idle(trail: Sequence[Try], surface: Surface) -> bool:
    most = 10 * len(surface.space.dimensions)
    last = trail[-most:]
    return len(last) == most and not any(one.seconds for one in last)


#: For each surface and strategy, what each seed's search had found after so many measurements.
Gains = Mapping[str, Mapping[str, Sequence[Mapping[int, float]]]]


def found_rows(gains: Gains) -> Iterator[list[object]]:
    """A row for each surface, strategy and number of measurements."""
    for surface, by_strategy in gains.items():
        for strategy, searches in by_strategy.items():
            for count in MEASUREMENTS:
                yield [surface, strategy, count, *_ratio([its[count] for its in searches])]


def compared_rows(gains: Gains) -> Iterator[list[object]]:
    """A row for each surface, other strategy and number of measurements."""
    for surface, by_strategy in gains.items():
        for strategy in [each for each in by_strategy if each != "gp"]:
            for count in MEASUREMENTS:
                pairs = zip(by_strategy["gp"], by_strategy[strategy], strict=True)
                yield [surface, strategy, count, *_ratio([mine[count] - its[count] for mine, its in pairs])]


def _ratio(logs: Sequence[float]) -> list[object]:
    """Geometric mean, its interval, and how many seeds there were."""
    mean = float(np.mean(logs))
    reach = float(stats.sem(logs) * stats.t.ppf(0.975, len(logs) - 1))
    return [*(f"{math.exp(each):.4f}" for each in (mean, mean - reach, mean + reach)), len(logs)]


def write(name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table beside this script."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)


def main() -> None:
    """Writes the tables."""
    known = surfaces()
    gains = {
        name: {each: [search(surface, each, seed=seed) for seed in SEEDS] for each in STRATEGIES}
        for name, surface in known.items()
    }
    numbers = ("measurements", "ratio", "low", "high", "seeds")
    write("found.csv", ("surface", "strategy", *numbers), found_rows(gains))
    write("compared.csv", ("surface", "over", *numbers), compared_rows(gains))
    fits = [(name, f"{its.explained:.2f}") for name, its in known.items() if its.explained is not None]
    write("fit.csv", ("surface", "explained"), fits)


if __name__ == "__main__":
    main()
