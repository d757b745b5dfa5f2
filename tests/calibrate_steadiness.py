"""Simulates the limits of `kvdyno.analysis.steady` and prints LIMITS.

For each length, steady series exceed any of the three limits in FALSE_ALARMS of all cases, at the correlation
of the noise that does most; the patterns' shares of it stand as in WEIGHTS (a sawtooth is easily seen, a
step is not). Run it after a change of the patterns (minutes): .venv/bin/python tests/calibrate_steadiness.py
"""

from __future__ import annotations

import sys

import numpy as np

from kvdyno.analysis.steady import LENGTHS, TOLERANCE, Pattern, best_fits

CORRELATIONS = (0.0, 0.25, 0.5)
FALSE_ALARMS = 0.045
WEIGHTS: dict[Pattern, float] = {"line": 1.0, "step": 1.5, "cycle": 0.25}
SD = 0.1
SERIES = 2000


def noise(rng: np.random.Generator, *, length: int, correlation: float, sd: float) -> np.ndarray:
    """AR(1) noise with that standard deviation, from its stationary distribution on."""
    values = np.empty(length)
    values[0] = rng.normal()
    innovations = rng.normal(0, np.sqrt(1 - correlation**2), length)
    for place in range(1, length):
        values[place] = correlation * values[place - 1] + innovations[place]
    return sd * values


def statistics(length: int, *, correlation: float, series: int) -> np.ndarray:
    """A row of the patterns' statistics for each steady series; 0 where the tolerance excuses the pattern."""
    rng = np.random.default_rng([length, round(100 * correlation)])
    rows = []
    for _ in range(series):
        data = 1 + noise(rng, length=length, correlation=correlation, sd=SD)
        fits = best_fits(data / data.mean())
        rows.append([fits[p].statistic * (abs(fits[p].size) > TOLERANCE) for p in WEIGHTS])
    return np.array(rows)


def limits(length: int, *, series: int) -> np.ndarray:
    """The limits of all patterns for a length."""
    samples = [statistics(length, correlation=c, series=series) for c in CORRELATIONS]
    low, high = 0.0, FALSE_ALARMS  # the share that a pattern of weight 1 may exceed
    for _ in range(20):
        share = (low + high) / 2
        alarms = max((sample > _exceeded(samples, share)).any(axis=1).mean() for sample in samples)
        low, high = (share, high) if alarms <= FALSE_ALARMS else (low, share)
    return _exceeded(samples, low)


def _exceeded(samples: list[np.ndarray], share: float) -> np.ndarray:
    """What each pattern's statistic exceeds in its part of the share, at the worst of the samples."""
    levels = [1 - share * weight for weight in WEIGHTS.values()]
    found = [
        [np.quantile(column, level) for column, level in zip(sample.T, levels, strict=True)]
        for sample in samples
    ]
    return np.asarray(np.max(found, axis=0))


def main() -> None:
    """Write the constants to the terminal."""
    series = int(sys.argv[1]) if len(sys.argv) > 1 else SERIES
    table = np.array([limits(length, series=series) for length in LENGTHS])
    for pattern, column in zip(WEIGHTS, table.T, strict=True):
        sys.stdout.write(f'    "{pattern}": ({", ".join(f"{value:.2f}" for value in column)}),\n')


if __name__ == "__main__":
    main()
