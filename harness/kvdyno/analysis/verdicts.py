"""From means to intervals, p-values and verdicts.

- **Interval**: Student's t at 95 %, of each comparison by itself.
- **Difference** (faster, slower, higher, lower): the p-value, adjusted for all comparisons that a reader sees
  together (a *family*), is at most 5 %. Holm's step-down procedure ("A simple sequentially rejective multiple
  test procedure", Scandinavian J. of Statistics 6, 1979): at most one family in twenty holds any false
  difference, whatever depends on what.
- **Same within a margin**: two one-sided tests at 5 % (Schuirmann, "A comparison of the two one-sided tests
  procedure and the power approach for assessing the equivalence of average bioavailability", J.
  Pharmacokinetics and Biopharmaceutics 15, 1987): the 90 % interval of the ratio lies within [1 / (1 +
  margin), 1 + margin]. Not adjusted: each is wrong at most once in twenty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from kvdyno.model.metrics import direction

from .levels import Values

LEVEL = 0.05
#: Above this many repetitions a difference is not worth settling; `needed` is then 0, "more than".
MOST_REPETITIONS = 1000
#: Chance that the planned repetitions decide, if the true ratio is the one observed.
POWER = 0.8

#: What `conclude` adds, in this order.
OUTCOME = ("ratio", "difference", "low", "high", "p", "p_adjusted", "verdict", "within", "needed")


def conclude(table: pd.DataFrame, *, families: Sequence[str], margin: float) -> pd.DataFrame:
    """The comparisons with OUTCOME.

    Needs columns `kind` ("ratio": `mean` is that of logarithms; "difference": that of the values), `n`,
    `mean`, `error`, `freedom`, `unit`, `zero` (whether every value of both sides is 0), and those that name a
    row's family.
    """
    log = (table["kind"] == "ratio").to_numpy()
    mean, error, freedom = (table[name].to_numpy(dtype=float) for name in ("mean", "error", "freedom"))
    half = quantile(1 - LEVEL / 2, freedom) * error
    ends = [np.where(log, np.exp(np.where(log, end, 0)), end) for end in (mean, mean - half, mean + half)]
    p = two_sided(mean, error, freedom)
    adjusted = pd.Series(p, index=table.index)
    undecided = pd.Series(1, index=table.index)
    for _, rows in table.groupby(list(families), dropna=False, sort=False):
        adjusted[rows.index] = holm(adjusted[rows.index])
        undecided[rows.index] = max(1, int((~(adjusted[rows.index] <= LEVEL)).sum()))
    reach = quantile(1 - LEVEL, freedom) * error
    within = log & (np.abs(mean) + reach <= math.log1p(margin))
    found = table.assign(
        ratio=np.where(log, ends[0], np.nan),
        difference=np.where(log, np.nan, ends[0]),
        low=ends[1],
        high=ends[2],
        p=p,
        p_adjusted=adjusted,
        within=within,
    )
    found["verdict"] = [_verdict(row) for row in found.to_dict("records")]
    judged = zip(found.to_dict("records"), undecided.tolist(), strict=True)
    needed = [_needed(row, among=among, margin=margin) for row, among in judged]
    return found.assign(needed=pd.Series(needed, index=table.index, dtype="Int64"))


def two_sided(mean: Values, error: Values, freedom: Values) -> Values:
    """p-values of means that are 0 in truth; NaN where the error is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, np.abs(mean) / error)
    return np.asarray(np.where(np.isnan(error), np.nan, 2 * scipy.stats.t.sf(t, freedom)))


def one_sided(mean: float, error: float, freedom: float, *, at_zero: float) -> float:
    """The p-value of a mean that is not above 0 in truth; `at_zero` where it is 0 without any error."""
    if error == 0 or math.isinf(mean):
        return at_zero if mean == 0 else float(mean < 0)
    return float(scipy.stats.t.sf(mean / error, freedom))


def quantile(probability: float, freedom: Values) -> Values:
    """Student's t quantile for each number of degrees of freedom."""
    return np.asarray(scipy.stats.t.ppf(probability, freedom))


def holm(p: ArrayLike) -> Values:
    """p-values adjusted for being looked at together. A NaN is no comparison and stays."""
    values = np.asarray(p, dtype=float)
    adjusted = values.copy()
    order = np.argsort(values, kind="stable")[: int(np.isfinite(values).sum())]
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return adjusted


def _verdict(row: Mapping[Any, Any]) -> str:
    """`equal`, `faster`, `slower`, `higher`, `lower`, `same` or `undecided` (Analysis.ratios)."""
    if row["zero"]:
        return "equal"
    if row["p_adjusted"] <= LEVEL:
        return direction(row["mean"] > 0, unit=row["unit"])
    return "same" if row["within"] else "undecided"


def _needed(row: Mapping[Any, Any], *, among: int, margin: float) -> int | None:
    """Repetitions that would probably decide an undecided comparison one way or the other."""
    n, mean, error = int(row["n"]), row["mean"], row["error"]
    if row["verdict"] != "undecided" or not error > 0:
        return None
    sd = error * math.sqrt(n)
    numbers = [repetitions_needed(mean, sd=sd, level=LEVEL / among)]
    if row["kind"] == "ratio":
        numbers.append(repetitions_for_sameness(mean, sd=sd, margin=margin))
    return min((number for number in numbers if number), default=0)


def repetitions_needed(mean: float, *, sd: float, level: float = LEVEL) -> int:
    """The smallest n for which a paired t test would probably settle a log-ratio of `mean` with spread `sd`.

    n such that (t(1 - level/2, n-1) + t(POWER, n-1)) · sd / √n ≤ |mean|: the sample size of a paired t test
    (Julious, "Sample sizes for clinical trials with normal data", Statistics in Medicine 23, 2004). 0 means
    more than MOST_REPETITIONS. Both inputs are themselves estimates from few runs: a guide, no promise.
    """
    return _smallest(abs(mean), sd=sd, probabilities=(1 - level / 2, POWER))


def repetitions_for_sameness(mean: float, *, sd: float, margin: float) -> int:
    """The smallest n for which two one-sided tests would probably find a log-ratio of `mean` within the
    margin (Julious 2004, section 5, with half of 1 - POWER to each side). 0 means more than MOST_REPETITIONS.
    """
    room = math.log1p(margin) - abs(mean)
    return _smallest(room, sd=sd, probabilities=(1 - LEVEL, (1 + POWER) / 2))


def _smallest(room: float, *, sd: float, probabilities: tuple[float, float]) -> int:
    """The smallest n from 2 on whose t quantiles of both probabilities, times sd / √n, fit into `room`."""
    fits = _reach(probabilities) * sd <= room
    return int(np.argmax(fits)) + 2 if room > 0 and fits.any() else 0


@lru_cache(maxsize=64)
def _reach(probabilities: tuple[float, float]) -> Values:
    """The sum of both t quantiles over √n, for n from 2 to MOST_REPETITIONS."""
    sizes = np.arange(2, MOST_REPETITIONS + 1)
    return np.asarray(sum(scipy.stats.t.ppf(p, sizes - 1) for p in probabilities) / np.sqrt(sizes))
