"""Had a run settled, and did it stay so? A finding from the rates of a phase; nothing is ever trimmed.

A phase is steady if its rate is a constant plus noise, where noise may remember the interval before (AR(1)).
Two families of patterns are fitted to the series by generalised least squares, each with the noise's own
correlation, estimated from what the pattern leaves over (Cochrane & Orcutt, "Application of least squares
regression to relationships containing auto-correlated error terms", J. American Statistical Association 44,
1949; the estimate's bias: Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41, 1954):

- **levels**: a step at any interval and a straight line. The statistic is the largest |t| (a step at an unknown
  place: Andrews, "Tests for parameter instability and structural change with unknown change point",
  Econometrica 61, 1993);
- **cycles** beside a straight line: each period from 4 intervals on. The statistic is the largest F (Fisher,
  "Tests of significance in harmonic analysis", Proc. Royal Society A 125, 1929).

A maximum over patterns has no textbook distribution, least of all in short series: the limits are simulated
(tests/calibrate_steadiness.py), so that of steady series, whose noise is white or remembers up to half of the
interval before, at most 5 % are flagged. A pattern that moves the rate by less than TOLERANCE never is.

Series longer than MOST intervals are averaged in batches first: a cycle much shorter than the phase is steady.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .levels import Values

#: Below this many intervals nothing is said.
FEWEST = 10
#: Longer series are averaged in batches, into no more intervals than this.
MOST = 120
#: A change of the rate by less than this share of its mean does not matter.
TOLERANCE = 0.05
#: Limits of the largest |t| and of the largest F, by number of intervals, written by calibrate_steadiness.py.
LENGTHS = (10, 14, 20, 30, 45, 60, 90, 120)
LEVEL_LIMITS = (6.5, 5.5, 4.8, 4.3, 4.0, 3.9, 3.8, 3.8)
CYCLE_LIMITS = (30.0, 20.0, 14.0, 11.0, 10.0, 9.5, 9.0, 9.0)

_SHORTEST_PERIOD = 4
_LONGEST_PERIOD = 24
_MOST_CORRELATED = 0.7

State = Literal["steady", "warming up", "collapsed", "stepped", "drifting", "sawtooth", "too short"]


@dataclass(frozen=True)
class Steadiness:
    """What a phase's series looks like. `size`: the change as a share of the mean (of a sawtooth half its range);
    `at`: the interval at which a step begins, or the period of a sawtooth, in intervals; 0 where it means nothing.
    """

    state: State
    size: float = 0.0
    at: float = 0.0


def finding(found: Steadiness, *, interval: float) -> str:
    """The finding in words, with the series' interval in seconds; "" for a series that is steady or too short."""
    change, at = f"{'−' if found.size < 0 else '+'}{abs(found.size):.0%}", f"{found.at * interval:.3g} s"
    match found.state:
        case "sawtooth":
            return f"sawtooth with a period of {at} (± {found.size:.0%})"
        case "drifting":
            return f"drifts by {change}"
        case "collapsed":
            return f"collapsed at the end (by {change} after {at})"
        case "warming up":
            return f"warming up ({change} after {at})"
        case "stepped":
            return f"steps by {change} after {at}"
        case _:
            return ""


@dataclass(frozen=True)
class _Fit:
    """The best pattern of a family: its statistic, what it leaves over, its size and its place."""

    statistic: float
    left: float
    size: float
    at: int


def steadiness(rates: ArrayLike) -> Steadiness:
    """Judge a phase by its rate per interval; "too short" below FEWEST intervals.

    Of the two families the one that explains more names the finding: "sawtooth"; of levels "drifting" (a straight
    line), "collapsed" (a fall to less than half in the last third), "warming up" (a rise in the first half) or
    "stepped".
    """
    data = np.asarray(rates, dtype=float)
    if len(data) < FEWEST:
        return Steadiness("too short")
    size = -(-len(data) // MOST)
    batches = data[: len(data) // size * size].reshape(-1, size).mean(axis=1)
    mean = float(batches.mean())
    if mean <= 0 or np.ptp(batches) <= TOLERANCE * mean:
        return Steadiness("steady")
    relative = batches / mean
    found = _flagged(best_level(relative), best_cycle(relative), length=len(batches))
    return found if size == 1 else Steadiness(found.state, found.size, found.at * size)


def _flagged(level: _Fit, cycle: _Fit, *, length: int) -> Steadiness:
    moved = level.statistic > limit(LEVEL_LIMITS, length) and abs(level.size) > TOLERANCE
    swung = cycle.statistic > limit(CYCLE_LIMITS, length) and cycle.size > TOLERANCE
    if swung and (not moved or cycle.left < level.left):
        return Steadiness("sawtooth", cycle.size, cycle.at)
    if not moved:
        return Steadiness("steady")
    if level.at == 0:
        return Steadiness("drifting", level.size)
    if level.size < -0.5 and 3 * level.at >= 2 * length:
        return Steadiness("collapsed", level.size, level.at)
    early_rise = level.size > 0 and 2 * level.at <= length
    return Steadiness("warming up" if early_rise else "stepped", level.size, level.at)


def limit(limits: tuple[float, ...], length: int) -> float:
    """The limit for a number of intervals, between those that were simulated."""
    return float(np.interp(np.log(length), np.log(LENGTHS), limits))


def best_level(data: Values) -> _Fit:
    """The step or straight line with the largest |t|."""
    shapes, places = _level_shapes(len(data))
    designs = np.stack([np.ones_like(shapes), shapes], axis=2)
    coefficients, variances, left, inverse = _fitted(designs, data)
    t = np.abs(coefficients[:, 1]) / np.sqrt(np.maximum(variances * inverse[:, 1, 1], 1e-12))
    best = int(np.argmax(t))
    return _Fit(float(t[best]), float(left[best]), float(coefficients[best, 1]), int(places[best]))


def best_cycle(data: Values) -> _Fit:
    """The period with the largest F, beside a straight line."""
    designs, periods = _cycle_designs(len(data))
    coefficients, variances, left, inverse = _fitted(designs, data)
    waves = coefficients[:, 2:]
    explained = np.einsum("pi,pij,pj->p", waves, np.linalg.inv(inverse[:, 2:, 2:]), waves)
    f = explained / 2 / np.maximum(variances, 1e-12)
    best = int(np.argmax(f))
    size = float(np.hypot(*waves[best]))
    return _Fit(float(f[best]), float(left[best]), size, int(periods[best]))


def _fitted(designs: Values, data: Values) -> tuple[Values, Values, Values, Values]:
    """Of each design (pattern, interval, regressor): coefficients, the noise's variance, the squares left over,
    and the inverse of the normal matrix, after the noise's correlation was taken out.
    """
    repeated = np.broadcast_to(data, designs.shape[:2])
    rest = repeated - np.einsum("pnk,pk->pn", designs, _solve(designs, repeated)[0])
    correlation = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / np.maximum((rest**2).sum(axis=1), 1e-12)
    regressors = designs.shape[2]
    biased = correlation + (regressors + (regressors + 2) * correlation) / len(data)
    phi = np.clip(biased, 0, _MOST_CORRELATED)[:, None]
    whitened = designs[:, 1:] - phi[:, :, None] * designs[:, :-1]
    target = repeated[:, 1:] - phi * repeated[:, :-1]
    coefficients, inverse = _solve(whitened, target)
    left = ((target - np.einsum("pnk,pk->pn", whitened, coefficients)) ** 2).sum(axis=1)
    return coefficients, left / (len(data) - 1 - regressors), left, inverse


def _solve(designs: Values, targets: Values) -> tuple[Values, Values]:
    inverse = np.linalg.inv(np.einsum("pni,pnj->pij", designs, designs))
    return np.einsum("pij,pnj,pn->pi", inverse, designs, targets, optimize=True), inverse


@lru_cache(maxsize=64)
def _level_shapes(length: int) -> tuple[Values, Values]:
    """A row for each shape, of height 1: a line first (place 0), then steps at every place with enough on both
    sides.
    """
    edge = max(2, length // 10)
    places = np.arange(edge, length - edge + 1)
    steps = (np.arange(length) >= places[:, None]).astype(float)
    line = np.linspace(-0.5, 0.5, length)[None, :]
    return np.vstack([line, steps]), np.concatenate([[0], places])


@lru_cache(maxsize=64)
def _cycle_designs(length: int) -> tuple[Values, Values]:
    """For each period: constant, line, cosine, sine."""
    periods = np.arange(_SHORTEST_PERIOD, min(_LONGEST_PERIOD, 2 * length // 3) + 1)
    angles = 2 * np.pi * np.arange(length) / periods[:, None]
    constant = np.ones_like(angles)
    line = constant * np.linspace(-0.5, 0.5, length)
    return np.stack([constant, line, np.cos(angles), np.sin(angles)], axis=2), periods
