"""Means with standard errors that know which measurements belong together.

Measurements of a point stand on three levels: loads (a dataset loaded once has a layout of its own),
repetitions (a stretch of time, whose weather all points share), runs. An error that is shared by several
values does not average out between them, so the value that counts is the mean of what shares it:

- the points of a repetition are averaged inside the repetition, and the repetitions are the sample;
- where repetitions start from fewer loads than there are repetitions, those of a load are averaged first and
  the loads are the sample, from `LEAST_LOADS` loads on. Fewer loads hold too little to estimate their spread
  (two leave one degree of freedom): then repetitions are the sample, the truth that intervals cover is that
  of these loads, and a caution states it (design.layout).

This is the analysis of cluster means of nested designs (Scheffé, "The Analysis of Variance", 1959, ch. 7;
Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, for benchmarks). Simulated coverage:
tests/python/analysis/test_coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]

#: From this many loads on, shared by more repetitions, the loads are the sample.
LEAST_LOADS = 3


@dataclass(frozen=True)
class Mean:
    """A mean of `n` repetitions, its standard error and the error's degrees of freedom (NaN: not known).

    `by_load`: loads were the sample, not repetitions.
    """

    n: int
    value: float
    error: float
    freedom: float
    by_load: bool = False


def mean_of(values: ArrayLike, *, loads: Sequence[object] = ()) -> Mean:
    """The mean of one value for each repetition. `loads` names the load of each; () for one of its own
    each.
    """
    data = np.asarray(values, dtype=float)
    groups: dict[object, list[float]] = {}
    for value, load in zip(data.tolist(), loads or range(len(data)), strict=True):
        groups.setdefault(load, []).append(value)
    by_load = LEAST_LOADS <= len(groups) < len(data)
    sample = np.array([sum(g) / len(g) for g in groups.values()]) if by_load else data
    size = len(sample)
    error = float(sample.std(ddof=1)) / math.sqrt(size) if size > 1 else math.nan
    return Mean(len(data), float(sample.mean()), error, size - 1 if size > 1 else math.nan, by_load)


def mean_over_points(cells: ArrayLike, *, loads: Sequence[object] = ()) -> Mean:
    """The mean over points (rows) and repetitions (columns) of `cells`, every point weighted alike.

    A cell may be missing (NaN), each row and column has at least one. What a repetition lacks is filled by
    the additive model point + repetition, fitted by least squares (Yates, "The analysis of multiple
    classifications with unequal numbers in the different classes", J. American Statistical Association 29,
    1934): leaving a cell out would count the difference between points as one between repetitions. Points
    that share no repetition with others, directly or through other points, are independent of them.
    """
    data = np.asarray(cells, dtype=float)
    names = list(loads) if len(loads) else list(range(data.shape[1]))
    if not np.isnan(data).any():
        return mean_of(data.mean(axis=0), loads=names)
    parts = []
    for rows, columns in _connected(np.isfinite(data)):
        repetitions = _adjusted(data[np.ix_(rows, columns)])
        parts.append((mean_of(repetitions, loads=[names[c] for c in columns]), len(rows) / len(data)))
    return weighted(parts)


def weighted(parts: Sequence[tuple[Mean, float]]) -> Mean:
    """The sum of independent means times their weights; weights may be negative.

    Variances add up. The degrees of freedom are Satterthwaite's ("An approximate distribution of estimates of
    variance components", Biometrics 2, 1946). `n` is the smallest.
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    value = sum(mean.value * weight for mean, weight in parts)
    variances = [(mean.error * weight) ** 2 for mean, weight in parts]
    variance = sum(variances)
    shares = sum(v**2 / mean.freedom for v, (mean, _) in zip(variances, parts, strict=True))
    least = min(mean.freedom for mean, _ in parts)
    freedom = variance**2 / shares if shares else least
    by_load = any(mean.by_load for mean, _ in parts)
    return Mean(min(mean.n for mean, _ in parts), value, math.sqrt(variance), freedom, by_load)


def difference(after: Mean, before: Mean) -> Mean:
    """after - before of independent samples (Welch, "The generalization of 'Student's' problem when several
    different population variances are involved", Biometrika 34, 1947).
    """
    return weighted([(after, 1.0), (before, -1.0)])


def _adjusted(cells: Values) -> Values:
    """The mean of each repetition over all points, what is missing filled by the additive model."""
    if not np.isnan(cells).any():
        means: Values = cells.mean(axis=0)
        return means
    rows, columns = np.nonzero(np.isfinite(cells))
    points, repetitions = cells.shape
    design = np.zeros((len(rows), points + repetitions))
    design[np.arange(len(rows)), rows] = 1
    design[np.arange(len(rows)), points + columns] = 1
    fitted = np.linalg.lstsq(design, cells[rows, columns], rcond=None)[0]
    adjusted: Values = fitted[points:] + fitted[:points].mean()
    return adjusted


def _connected(present: NDArray[np.bool_]) -> list[tuple[list[int], list[int]]]:
    """Rows and columns that present cells connect."""
    left, found = set(range(present.shape[0])), []
    while left:
        rows, columns = {min(left)}, set[int]()
        while True:
            columns = {int(c) for r in rows for c in np.flatnonzero(present[r])}
            reached = {int(r) for c in columns for r in np.flatnonzero(present[:, c])}
            if reached == rows:
                break
            rows = reached
        found.append((sorted(rows), sorted(columns)))
        left -= rows
    return found
