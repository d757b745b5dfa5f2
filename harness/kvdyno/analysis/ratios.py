"""Ratios between contenders, paired inside a repetition.

Runs of one repetition follow each other closely, so that a disturbance of the machine hits both sides;
their ratio cancels it, which the ratio of two medians does not. Only runs of one sweep are paired: the same
number of a repetition in two sweeps means nothing. The logarithms of the paired ratios are
averaged: the ratio quoted is the geometric mean of the paired ratios (Fleming & Wallace, "How not to lie with
statistics", CACM 29(3), 1986), its 95 % interval Student's t on the logarithms, and the BCa bootstrap of the
same mean from n = 20 (Efron 1987; see estimate.py for why not earlier).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .estimate import BOOTSTRAP_FROM, CONFIDENCE, Values, bca_bounds, t_bounds, t_quantile

#: Above this many repetitions a difference is not worth settling; `needed` is then 0, "more than".
MOST_REPETITIONS = 1000
#: Chance that the planned repetitions decide, if the true ratio is the one observed.
POWER = 0.8


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval (None if n = 1) and the interval's method: "log t", "BCa" or "percentile" of
    paired runs, "Welch" of independent ones. `needed`: None if decided or not knowable, 0 if too many.
    """

    n: int
    value: float
    low: float | None
    high: float | None
    needed: int | None
    method: str

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


def ratio_of(logs: ArrayLike) -> Ratio:
    """The ratio whose paired log-ratios are `logs` (at least one)."""
    data = np.asarray(logs, dtype=float)
    n, mean = len(data), float(data.mean())
    if n == 1:
        return Ratio(1, math.exp(mean), None, None, None, "")
    bootstrap = n >= BOOTSTRAP_FROM
    low, high, method = bca_bounds(data, statistic=np.mean) if bootstrap else (*t_bounds(data), "log t")
    undecided = low <= 0 <= high
    needed = repetitions_needed(mean, sd=float(data.std(ddof=1))) if undecided else None
    return Ratio(n, math.exp(mean), math.exp(low), math.exp(high), needed, method)


def repetitions_needed(mean: float, *, sd: float) -> int:
    """The smallest n for which a paired t test would probably settle a log-ratio of `mean` with spread `sd`.

    n such that (t(0.975, n-1) + t(POWER, n-1)) · sd / √n ≤ |mean|: the sample size of a paired t test
    (Julious, "Sample sizes for clinical trials with normal data", Statistics in Medicine 23, 2004). 0 means
    more than MOST_REPETITIONS. Both inputs are themselves estimates from few runs: a guide, no promise.
    """
    if mean == 0:
        return 0

    def settles(n: int) -> bool:
        quantiles = t_quantile(1 - (1 - CONFIDENCE) / 2, n - 1) + t_quantile(POWER, n - 1)
        return quantiles * sd / math.sqrt(n) <= abs(mean)

    if not settles(MOST_REPETITIONS):
        return 0
    low, high = 1, MOST_REPETITIONS  # the left side falls with n: bisect
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return high


def welch_ratio(before: ArrayLike, after: ArrayLike) -> Ratio:
    """The ratio after / before of positive values from runs that were not interleaved."""
    return _with_interval(_difference(np.log(np.asarray(after)), np.log(np.asarray(before))))


@dataclass(frozen=True)
class _Mean:
    """A mean logarithm: its own variance and degrees of freedom (both None from a single run)."""

    n: int
    value: float
    variance: float | None
    freedom: float | None


def _mean(logs: Values) -> _Mean:
    n = len(logs)
    known = n > 1
    variance = float(logs.var(ddof=1)) / n if known else None
    return _Mean(n, float(logs.mean()), variance, n - 1 if known else None)


def _difference(logs: Values, reference: Values) -> _Mean:
    """The difference of two independent means (Welch, "The generalization of Student's problem when several
    different population variances are involved", Biometrika 34, 1947).
    """
    one, other = _mean(logs), _mean(reference)
    return _sum(one.value - other.value, [one, other], share=1.0)


def _average(means: Sequence[_Mean]) -> _Mean:
    """The mean of the means of several points, each measured by itself."""
    return _sum(float(np.mean([m.value for m in means])), means, share=1 / len(means))


def _sum(value: float, means: Sequence[_Mean], *, share: float) -> _Mean:
    """A sum of independent means, each weighted by ± `share`: variances add up, the degrees of freedom are
    Satterthwaite's ("An approximate distribution of estimates of variance components", Biometrics 2, 1946).
    """
    n = min(m.n for m in means)
    parts = [(m.variance * share**2, m.freedom) for m in means if m.variance is not None and m.freedom]
    if len(parts) < len(means):
        return _Mean(n, value, None, None)
    variance = sum(part for part, _ in parts)
    weights = sum(part**2 / freedom for part, freedom in parts)
    return _Mean(n, value, variance, variance**2 / weights if weights else float(n - 1))


def _with_interval(mean: _Mean) -> Ratio:
    """The ratio of a mean logarithm, with Student's t interval."""
    if mean.variance is None or mean.freedom is None:
        return Ratio(mean.n, math.exp(mean.value), None, None, None, "")
    quantile = t_quantile(1 - (1 - CONFIDENCE) / 2, max(1, int(mean.freedom)))
    half = quantile * math.sqrt(mean.variance)
    needed = None
    if abs(mean.value) <= half and half > 0:
        needed = repetitions_needed(mean.value, sd=math.sqrt(mean.variance * mean.n))
    low, high = math.exp(mean.value - half), math.exp(mean.value + half)
    return Ratio(mean.n, math.exp(mean.value), low, high, needed, "Welch")


def verdict(ratio: Ratio, *, unit: str) -> str:
    """What the interval allows to say: faster, slower, higher, lower or undecided.

    A higher rate (x/s) and a shorter time (s, ns, and either per operation) are faster; of other units only
    higher and lower can be said.
    """
    if not ratio.decided:
        return "undecided"
    higher = ratio.value > 1
    if unit.endswith("/s"):
        return "faster" if higher else "slower"
    if unit.split("/")[0] in ("s", "ns"):
        return "slower" if higher else "faster"
    return "higher" if higher else "lower"


@dataclass(frozen=True)
class Ratios:
    """`Analysis.ratios` and `Analysis.overall`, and what to know about them.

    `apart` holds the points (label, engine, preset, axes) measured in other sweeps than their baseline;
    `ambiguous` the baselines with several points where another contender has one.
    """

    points: pd.DataFrame
    overall: pd.DataFrame
    apart: pd.DataFrame
    ambiguous: tuple[str, ...]


def ratios_to(frame: pd.DataFrame, *, axes: Sequence[str], baselines: Iterable[str]) -> Ratios:
    """Ratios of a tidy frame, its headlines marked, to each of the baselines.

    Only positive values have ratios. Runs pair up by axes, sweep and repetition; a run whose partner is
    missing is left out. A point of which no run has a partner is compared as an independent sample. An axis
    that only one side has (an option of one engine) does not tell pairs apart; where the baseline has several
    runs for one, their geometric mean is the partner.
    """
    measured = frame[frame["metric"].notna() & np.isfinite(frame["value"])]
    positive: pd.DataFrame = measured[measured["value"] > 0]
    positive = positive.assign(log=np.log(positive["value"]))
    identity = ["label", "engine", "preset", *axes]
    kind = ["phase", "metric", "unit"]
    rows, means, apart, ambiguous = [], [], [], []
    together: set[tuple[object, ...]] = set()
    for baseline in dict.fromkeys(baselines):
        reference = positive[positive["label"] == baseline]
        for label, others in positive[positive["label"] != baseline].groupby("label", sort=False):
            shared = [a for a in axes if reference[a].notna().any() and others[a].notna().any()]
            partners, several = _partners(reference, [*shared, *kind])
            ambiguous += [baseline] if several else []
            matched = others.merge(
                partners, on=[*shared, *kind, "sweep_id", "repetition"], suffixes=("", "_b"), how="left"
            )
            known = partners.drop_duplicates([*shared, *kind])[[*shared, *kind]]
            for key, group in matched.merge(known, on=[*shared, *kind]).groupby(
                [*identity, *kind], dropna=False, sort=False
            ):
                logs = group["log"].to_numpy() - group["log_b"].to_numpy()
                logs = logs[np.isfinite(logs)]
                if len(logs):
                    mean, ratio = _mean(logs), ratio_of(logs)
                    together.add((baseline, *key[: len(identity)]))
                else:
                    same = partners.merge(group.iloc[[0]][[*shared, *kind]], on=[*shared, *kind])
                    mean = _difference(group["log"].to_numpy(), same["log_b"].to_numpy())
                    ratio = _with_interval(mean)
                    if set(same["sweep_id"]).isdisjoint(group["sweep_id"]):
                        apart.append((baseline, *key[: len(identity)]))
                headline = bool(group["headline"].iloc[0])
                cells = _cells(ratio, unit=str(key[-1]))
                rows.append((*key, baseline, *cells, bool(len(logs)), ratio.method, headline))
                means += [(label, baseline, *key[-2:], mean)] if headline else []
    outcome = ["n", "ratio", "low", "high", "verdict", "needed"]
    points = typed(
        pd.DataFrame(rows, columns=[*identity, *kind, "baseline", *outcome, "paired", "method", "headline"])
    )
    points = points.astype({"paired": bool, "headline": bool})  # objects if there are no rows
    # One metric may have no pair where others have: a counter that is mostly 0, say.
    elsewhere = pd.DataFrame(
        list(dict.fromkeys(point[1:] for point in apart if point not in together)), columns=identity
    )
    return Ratios(points, _overall(means, outcome), elsewhere, tuple(dict.fromkeys(ambiguous)))


def _partners(reference: pd.DataFrame, keys: Sequence[str]) -> tuple[pd.DataFrame, bool]:
    """The baseline's logarithm for each key, sweep and repetition; whether several runs had to share one."""
    groups = reference.groupby([*keys, "sweep_id", "repetition"], dropna=False, sort=False)["log"]
    return groups.mean().rename("log_b").reset_index(), bool(len(groups) and (groups.size() > 1).any())


def _overall(means: Sequence[tuple[Any, ...]], outcome: Sequence[str]) -> pd.DataFrame:
    """The mean over the points of each contender, baseline and metric."""
    groups: dict[tuple[Any, ...], list[_Mean]] = {}
    for *key, mean in means:
        groups.setdefault(tuple(key), []).append(mean)
    rows = [
        (*key, len(some), *_cells(_with_interval(_average(some)), unit=str(key[-1])))
        for key, some in groups.items()
    ]
    names = ["label", "baseline", "metric", "unit", "points", *outcome]
    return typed(pd.DataFrame(rows, columns=names))


def _cells(ratio: Ratio, *, unit: str) -> tuple[object, ...]:
    return ratio.n, ratio.value, ratio.low, ratio.high, verdict(ratio, unit=unit), ratio.needed


def typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with interval and `needed` columns that can be empty."""
    return table.astype({"low": "float64", "high": "float64", "needed": "Int64"})
