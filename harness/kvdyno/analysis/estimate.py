"""One number for several repetitions: the median, an interval that shows how sure it is, and the spread.

Intervals are at 95 %:

- n ≥ 20: BCa bootstrap of the median (Efron, "Better bootstrap confidence intervals", J. American
  Statistical Association 82, 1987), seeded, so that equal data give equal intervals.
- 2 ≤ n < 20: Student's t. For positive data it is taken on logarithms and raised back: the interval is
  that of the geometric mean, which is the median of any distribution that is symmetric on a log scale (times
  and rates nearly are). With so few values no interval is exactly the median's own: the bootstrap covers
  72-82 % at n = 3-5 where t covers 88-96 %. Data with zeros or negative values: t of the mean, untransformed;
  none if it would reach below zero where no value does.
- n = 1: none.

Where repetitions share three loads or more, the loads are the sample (levels.py): t on their means.

The centre quoted is always the median. An interval that would leave it out (skewed data) is widened to it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from .frame import groups_of
from .levels import Mean, Values, mean_of

CONFIDENCE = 0.95
BOOTSTRAP_FROM = 20
#: A point is flagged if its interval reaches further than this share of the median to either side, on
#: average. More repetitions narrow the interval, so they cure it; the range of the values would only grow.
TOO_WIDE = 0.1
_COLUMNS = (
    "unit",
    "n",
    "median",
    "low",
    "high",
    "smallest",
    "largest",
    "spread",
    "width",
    "too_wide",
    "method",
    "mean",
    "error",
    "freedom",
    "headline",
)
_RESAMPLES = 4999
_SEED = 20


@dataclass(frozen=True)
class Interval:
    """Lower and upper end, and how they were found: "t", "log t" (of geometric means), either with " over
    loads", "BCa", "percentile"; None and "" if there is none.
    """

    low: float | None
    high: float | None
    method: str


@dataclass(frozen=True)
class Estimate:
    """A median over `n` repetitions. `spread` is largest / smallest (None unless all are positive).

    `mean` is that of logarithms if all values are positive, else that of the values.
    """

    n: int
    median: float
    interval: Interval
    smallest: float
    largest: float
    spread: float | None
    mean: Mean

    @property
    def too_wide(self) -> bool:
        """Whether the interval is wider than TOO_WIDE; unknown, so False, without one."""
        return self.width is not None and self.width > TOO_WIDE

    @property
    def width(self) -> float | None:
        """Half of the interval's length over the median; None without an interval or at a median of 0."""
        if self.interval.low is None or self.interval.high is None or not self.median:
            return None
        return (self.interval.high - self.interval.low) / 2 / abs(self.median)


def estimate(values: ArrayLike, *, loads: Sequence[object] = ()) -> Estimate:
    """The estimate of at least one finite value; `loads` as for `levels.mean_of`."""
    data = np.asarray(values, dtype=float)
    median = float(np.median(data))
    mean = mean_of(np.log(data) if data.min() > 0 else data, loads=loads)
    bootstrap = len(data) >= BOOTSTRAP_FROM and not mean.by_load
    found = bca_interval(data) if bootstrap else t_interval(mean, data)
    if found.low is not None and found.high is not None:
        found = Interval(min(found.low, median), max(found.high, median), found.method)
    smallest, largest = float(data.min()), float(data.max())
    return Estimate(
        n=len(data),
        median=median,
        interval=found,
        smallest=smallest,
        largest=largest,
        spread=largest / smallest if smallest > 0 else None,
        mean=mean,
    )


def t_interval(mean: Mean, data: Values) -> Interval:
    """Student's t: of the geometric mean for positive data, else of the mean. None from one value, and where
    the interval of values that are never negative would reach below zero.
    """
    if math.isnan(mean.error):
        return Interval(None, None, "")
    half = t_quantile(1 - (1 - CONFIDENCE) / 2, mean.freedom) * mean.error
    low, high = mean.value - half, mean.value + half
    over = " over loads" if mean.by_load else ""
    if data.min() > 0:
        return Interval(math.exp(low), math.exp(high), f"log t{over}")
    return Interval(None, None, "") if low < 0 <= data.min() else Interval(low, high, f"t{over}")


def bca_interval(data: Values) -> Interval:
    """BCa bootstrap of the median, seeded; for data too tied for BCa, the plain percentile bootstrap."""
    if np.all(data == data[0]):
        return Interval(float(data[0]), float(data[0]), "BCa")
    methods: tuple[Literal["BCa", "percentile"], ...] = ("BCa", "percentile")
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            found = scipy.stats.bootstrap(
                (data,),
                np.median,
                n_resamples=_RESAMPLES,
                confidence_level=CONFIDENCE,
                method=method,
                vectorized=True,
                rng=np.random.default_rng(_SEED),
            ).confidence_interval
        if math.isfinite(found.low) and math.isfinite(found.high):
            break
    return Interval(float(found.low), float(found.high), method)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """Student's t quantile."""
    return float(scipy.stats.t.ppf(probability, freedom))


def estimates(frame: pd.DataFrame, *, by: Sequence[str]) -> pd.DataFrame:
    """`Analysis.estimates`: an estimate per point, phase and metric of a tidy frame with marked headlines."""
    keys = [*by, "phase", "metric"]
    measured = frame[frame["metric"].notna() & np.isfinite(frame["value"])]
    names = list(measured[keys].itertuples(index=False, name=None))
    values, loads = measured["value"].to_numpy(), measured["load"].to_numpy()
    units, headline = measured["unit"].tolist(), measured["headline"].tolist()
    rows = []
    for places in groups_of(measured, keys):
        first = int(places[0])
        e = estimate(values[places], loads=loads[places].tolist())
        interval = (e.interval.low, e.interval.high)
        extremes = (e.smallest, e.largest, e.spread, e.width, e.too_wide)
        notes = (e.interval.method, e.mean.value, e.mean.error, e.mean.freedom, headline[first])
        rows.append((*names[first], units[first], e.n, e.median, *interval, *extremes, *notes))
    table = pd.DataFrame(rows, columns=[*keys, *_COLUMNS])
    return table.astype(
        {**dict.fromkeys(("low", "high", "spread", "width"), "float64"), "too_wide": bool, "headline": bool}
    )
