"""Simulates the limits of `kvdyno.analysis.steady`: prints LEVEL_LIMITS and CYCLE_LIMITS.

For each length, the share of steady series that either statistic may flag is half of what remains of 5 %, at the
correlation of the noise that flags most. Run it after a change of the patterns: .venv/bin/python
tests/calibrate_steadiness.py (minutes).
"""

from __future__ import annotations

import sys

import numpy as np

from kvdyno.analysis.steady import LENGTHS, best_cycle, best_level

CORRELATIONS = (0.0, 0.25, 0.5)
SHARE = 0.022
SERIES = 4000


def noise(rng: np.random.Generator, *, length: int, correlation: float, sd: float) -> np.ndarray:
    """AR(1) noise with that standard deviation, from its stationary distribution on."""
    values = np.empty(length)
    values[0] = rng.normal()
    innovations = rng.normal(0, np.sqrt(1 - correlation**2), length)
    for place in range(1, length):
        values[place] = correlation * values[place - 1] + innovations[place]
    return sd * values


def limits(length: int, *, series: int) -> tuple[float, float]:
    """The limits of both statistics for a length."""
    found = []
    for correlation in CORRELATIONS:
        rng = np.random.default_rng([length, round(100 * correlation)])
        fits = []
        for _ in range(series):
            data = 1 + noise(rng, length=length, correlation=correlation, sd=0.075)
            fits.append((best_level(data).statistic, best_cycle(data).statistic))
        found.append(np.quantile(fits, 1 - SHARE, axis=0))
    level, cycle = np.max(found, axis=0)
    return float(level), float(cycle)


def main() -> None:
    """Print the constants."""
    series = int(sys.argv[1]) if len(sys.argv) > 1 else SERIES
    both = [limits(length, series=series) for length in LENGTHS]
    for name, place in (("LEVEL_LIMITS", 0), ("CYCLE_LIMITS", 1)):
        print(f"{name} = ({', '.join(f'{pair[place]:.2f}' for pair in both)})")


if __name__ == "__main__":
    main()
