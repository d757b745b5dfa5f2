"""Had a run settled? A flag from the throughput series of its measured phase; nothing is ever trimmed.

MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation
69(6), 1997; White, Cobb & Spratt, Winter Simulation Conference 2000): average the series in batches of 5,
then choose the truncation point d that minimises the squared standard error of what is left,
Σ_{i>d} (y_i - mean)² / (m - d)². A point in the second half means that the run never settled. Series of
less than 50 intervals are not batched, for want of data (MSER-1). Under noise alone the point wanders; so
it counts only where what follows it differs from the whole phase by more than a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Below this many intervals nothing is said.
FEWEST = 10
_BATCH = 5
_BATCH_FROM = 50
#: A truncation that moves the mean of the phase by less than this does not matter.
TOLERANCE = 0.05

State = Literal["steady", "warming up", "unsteady", "too short"]


@dataclass(frozen=True)
class Steadiness:
    """`warmup_intervals` lie before the truncation point; `drift`: the mean after it over all, less 1."""

    state: State
    warmup_intervals: int
    drift: float


def steadiness(rates: ArrayLike) -> Steadiness:
    """Judge a phase by its rate per interval.

    - "too short": fewer than FEWEST intervals;
    - "steady": the mean after the truncation point is within TOLERANCE of the phase's mean;
    - "unsteady": it is not, and the truncation point lies in the second half;
    - "warming up": it is not, and the point lies in the first half.
    """
    data = np.asarray(rates, dtype=float)
    if len(data) < FEWEST:
        return Steadiness("too short", 0, 0.0)
    size = _BATCH if len(data) >= _BATCH_FROM else 1
    batches = data[: len(data) // size * size].reshape(-1, size).mean(axis=1)
    cut = _truncation_point(batches)
    mean = float(batches.mean())
    drift = float(batches[cut:].mean()) / mean - 1 if mean else 0.0
    if abs(drift) <= TOLERANCE:
        state: State = "steady"
    else:
        state = "unsteady" if 2 * cut >= len(batches) else "warming up"
    return Steadiness(state, cut * size, drift)


def _truncation_point(batches: NDArray[np.float64]) -> int:
    """The minimiser of MSER. The last quarter is not searched: few batches may agree by chance."""
    last = max(1, len(batches) * 3 // 4)
    errors = [float(np.var(batches[d:])) / (len(batches) - d) for d in range(last + 1)]
    return int(np.argmin(errors))
