"""Had a run settled, and did it stay so? A finding from the rates of a phase; nothing is ever trimmed.

A phase is steady if its rate is a constant plus noise, where noise may remember the interval before (AR(1)).
Three patterns are fitted to the series, each of every shape that fits into it:

- a straight **line**;
- a **step** at an unknown place (Andrews, "Tests for parameter instability and structural change with unknown
  change point", Econometrica 61, 1993);
- a **cycle** beside a straight line: sawteeth of every period and phase (Fisher, "Tests of significance in
  harmonic analysis", Proc. Royal Society A 125, 1929, for waves).

Fits are generalised least squares with the noise's own correlation, estimated from what the shape leaves over
(Cochrane & Orcutt, "Application of least squares regression to relationships containing auto-correlated error
terms", J. American Statistical Association 44, 1949; the estimate's bias: Kendall, "Note on bias in the
estimation of autocorrelation", Biometrika 41, 1954). A pattern's statistic is the largest |t| of its shapes.

A maximum over shapes has no textbook distribution, least of all in short series: the limits are simulated
(tests/calibrate_steadiness.py), so that of steady series whose noise is white or remembers up to half of the
interval before, at most 5 % are flagged. A pattern that moves the rate by less than TOLERANCE never is.

Series longer than MOST intervals are averaged in batches: a cycle much shorter than the phase is steady.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .levels import Values

#: Below this many intervals nothing is judged.
FEWEST = 10
#: Longer series are averaged in batches, into no more intervals than this.
MOST = 120
#: A change of the rate by less than this share of its mean does not matter.
TOLERANCE = 0.05

State = Literal["steady", "warming up", "collapsed", "stepped", "drifting", "sawtooth", "too short"]
Pattern = Literal["line", "step", "cycle"]

#: Limits of each pattern's largest |t| by number of intervals, written by tests/calibrate_steadiness.py.
LENGTHS = (10, 14, 20, 30, 45, 60, 90, 120)
LIMITS: Mapping[Pattern, tuple[float, ...]] = {
    "line": (3.37, 3.03, 2.71, 2.92, 2.65, 2.54, 2.63, 2.34),
    "step": (4.45, 4.08, 4.06, 3.98, 3.80, 3.79, 3.75, 3.57),
    "cycle": (7.22, 6.19, 5.23, 5.03, 5.15, 4.98, 4.77, 4.67),
}
#: Short series say little about their noise's correlation: its estimate is drawn towards the largest that is
#: allowed for, as if so many intervals had shown it.
PRIOR_CORRELATION, PRIOR_WEIGHT = 0.5, 30

_SHORTEST_PERIOD = 4
_LONGEST_PERIOD = 24
_MOST_CORRELATED = 0.7


@dataclass(frozen=True)
class Steadiness:
    """What a phase's series looks like.

    `size` is the change as a share of the mean (of a sawtooth half its range). `at` is the interval at which
    a step begins, or the period of a sawtooth in intervals; 0 where it means nothing.
    """

    state: State
    size: float = 0.0
    at: float = 0.0


@dataclass(frozen=True)
class Fit:
    """The best shape of a pattern: its |t|, the squares that it leaves over, its height as a share of the
    mean, and its place (the interval at which a step begins, the period of a sawtooth).
    """

    statistic: float
    left: float
    size: float
    at: int


def steadiness(rates: ArrayLike) -> Steadiness:
    """Judge a phase by its rate per interval; "too short" below FEWEST intervals.

    The finding is the pattern beyond its limit that explains most: "sawtooth",
    "drifting" (a line), or of steps "collapsed" (a fall by more than half in the last third), "warming up" (a
    rise in the first half) and "stepped".
    """
    data = np.asarray(rates, dtype=float)
    if len(data) < FEWEST:
        return Steadiness("too short")
    size = -(-len(data) // MOST)
    batches = data[: len(data) // size * size].reshape(-1, size).mean(axis=1)
    mean = float(batches.mean())
    if mean <= 0 or np.ptp(batches) <= TOLERANCE * mean:
        return Steadiness("steady")
    found = _flagged(best_fits(batches / mean), length=len(batches))
    return found if size == 1 else Steadiness(found.state, found.size, found.at * size)


def finding(found: Steadiness, *, interval: float) -> str:
    """The finding in words, with the series' interval in seconds; "" for a series that is steady or too
    short.
    """
    change = f"{'−' if found.size < 0 else '+'}{100 * abs(found.size):.0f} %"
    at = f"{found.at * interval:.3g} s"
    match found.state:
        case "sawtooth":
            return f"sawtooth with a period of {at} (± {100 * found.size:.0f} %)"
        case "drifting":
            return f"drifts by {change}"
        case "collapsed":
            return f"collapsed at the end ({change} after {at})"
        case "warming up":
            return f"warming up ({change} after {at})"
        case "stepped":
            return f"steps by {change} after {at}"
        case _:
            return ""


def _flagged(fits: Mapping[Pattern, Fit], *, length: int) -> Steadiness:
    """The pattern that explains most, of those that are beyond their limits."""
    seen = {
        pattern: fit
        for pattern, fit in fits.items()
        if fit.statistic > limit(pattern, length) and abs(fit.size) > TOLERANCE
    }
    if not seen:
        return Steadiness("steady")
    pattern = min(seen, key=lambda pattern: seen[pattern].left)
    fit = seen[pattern]
    if pattern == "cycle":
        return Steadiness("sawtooth", abs(fit.size) / 2, fit.at)
    if pattern == "line":
        return Steadiness("drifting", fit.size)
    if fit.size < -0.5 and 3 * fit.at >= 2 * length:
        return Steadiness("collapsed", fit.size, fit.at)
    early_rise = fit.size > 0 and 2 * fit.at <= length
    return Steadiness("warming up" if early_rise else "stepped", fit.size, fit.at)


def limit(pattern: Pattern, length: int) -> float:
    """The limit of a pattern's statistic for a number of intervals, between those that were simulated."""
    return float(np.interp(np.log(length), np.log(LENGTHS), LIMITS[pattern]))


def best_fits(data: Values) -> dict[Pattern, Fit]:
    """The best straight line, step and sawtooth of a series whose mean is 1."""
    found: dict[Pattern, Fit] = {}
    for pattern, (designs, places) in _patterns(len(data)).items():
        sizes, errors, left = _fitted(designs, data)
        t = np.abs(sizes) / errors
        best = int(np.argmax(t))
        found[pattern] = Fit(float(t[best]), float(left[best]), float(sizes[best]), int(places[best]))
    return found


def _fitted(designs: Values, data: Values) -> tuple[Values, Values, Values]:
    """For each design (shape, interval, regressor): the last regressor's coefficient, its standard error and
    the squares left over, after the noise's correlation was taken out.
    """
    shapes, length, regressors = designs.shape
    repeated = np.broadcast_to(data, (shapes, length))
    rest = repeated - np.einsum("pnk,pk->pn", designs, _solved(designs, repeated)[0])
    raw = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / np.maximum((rest**2).sum(axis=1), 1e-12)
    unbiased = raw + (regressors + (regressors + 2) * raw) / length
    shrunk = (length * unbiased + PRIOR_WEIGHT * PRIOR_CORRELATION) / (length + PRIOR_WEIGHT)
    phi = np.clip(shrunk, 0, _MOST_CORRELATED)[:, None]
    whitened = designs[:, 1:] - phi[:, :, None] * designs[:, :-1]
    target = repeated[:, 1:] - phi * repeated[:, :-1]
    coefficients, inverse = _solved(whitened, target)
    left = ((target - np.einsum("pnk,pk->pn", whitened, coefficients)) ** 2).sum(axis=1)
    variances = np.maximum(left, 1e-12) / (length - 1 - regressors)
    return coefficients[:, -1], np.sqrt(variances * inverse[:, -1, -1]), left


def _solved(designs: Values, targets: Values) -> tuple[Values, Values]:
    """Least squares of each design: coefficients and the inverse of the normal matrix."""
    inverse = np.linalg.inv(np.matmul(designs.transpose(0, 2, 1), designs))
    moments = np.einsum("pnk,pn->pk", designs, targets)
    return np.einsum("pij,pj->pi", inverse, moments), inverse


@lru_cache(maxsize=16)
def _patterns(length: int) -> Mapping[Pattern, tuple[Values, NDArray[np.intp]]]:
    """For each pattern the designs and places of its shapes, all of height 1: the line; a step at every place
    with enough on both sides; beside a line, a sawtooth of every period and phase.
    """
    time = np.arange(length)
    constant, line = np.ones((1, length)), np.linspace(-0.5, 0.5, length)[None, :]
    edge = max(2, length // 10)
    places = np.arange(edge, length - edge + 1)
    steps = (time >= places[:, None]).astype(float)
    periods = range(_SHORTEST_PERIOD, min(_LONGEST_PERIOD, length // 2) + 1)
    teeth = [
        (period, (time + phase) % period / (period - 1)) for period in periods for phase in range(period)
    ]
    saws = np.array([tooth for _, tooth in teeth])
    return {
        "line": (_designs(line, constant), np.zeros(1, dtype=np.intp)),
        "step": (_designs(steps, constant), places),
        "cycle": (_designs(saws, constant, line), np.array([period for period, _ in teeth], dtype=np.intp)),
    }


def _designs(shapes: Values, *beside: Values) -> Values:
    """Each shape as the last regressor beside others."""
    others = [np.broadcast_to(other, shapes.shape) for other in beside]
    return np.stack([*others, shapes], axis=2)
