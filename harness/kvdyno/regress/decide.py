"""Verdicts on paired measurements: slower, faster, the same within a margin, or undecided.

The interval of the mean log-ratio decides alone, and it holds at any stopping time (sequence.py), so that one
may look after every pair:

- it lies beyond the margin on one side: slower, faster, higher or lower, by more than the margin;
- it lies inside the margin: the same;
- otherwise: undecided.

A metric that is exact, such as a count of keys that were not found, has no spread: the first pair that
differs by more than the margin decides, and without a margin every pair must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kvdyno.model.metrics import direction, more_is_better

from .sequence import Interval, interval

Call = Literal["slower", "faster", "higher", "lower", "same", "undecided"]


@dataclass(frozen=True)
class Pair:
    """A metric's values in one repetition, which both arms ran one after the other."""

    base: float
    head: float


@dataclass(frozen=True)
class Judgement:
    """What the pairs of one metric show at one point.

    `log` is the interval of the mean logarithm of head over base; None where a value has no logarithm, and
    without ends for exact metrics. `margin` is a share. `visible` is the smallest mean change, as a share,
    that so many pairs of this spread would have called; inf without an interval. `worse` is whether head is
    worse than base by more than the margin. `why` explains what is undecided for another reason than its
    interval.
    """

    call: Call
    n: int
    margin: float
    log: Interval | None
    visible: float
    worse: bool
    exact: bool = False
    why: str = ""

    @property
    def decided(self) -> bool:
        """Whether more pairs can change nothing that matters."""
        return self.call != "undecided"


def judge(pairs: Sequence[Pair], *, unit: str, margin: float, level: float, exact: bool = False) -> Judgement:
    """The verdict on one metric. `level` is its share of the suite's false alarms, `margin` a share."""
    if exact:
        return _exactly(pairs, unit=unit, margin=margin)
    if any(pair.base <= 0 or pair.head <= 0 for pair in pairs):
        return _without_ratio(pairs, margin=margin)
    if not pairs:
        return Judgement("undecided", 0, margin, None, math.inf, worse=False, why="no pair has it")
    log = interval([math.log(pair.head / pair.base) for pair in pairs], level=level)
    reach = math.log1p(margin)
    call: Call = "undecided"
    if log.low > reach or log.high < -reach:
        call = direction(log.mean > 0, unit=unit)
    elif -reach <= log.low and log.high <= reach:
        call = "same"
    changed = call not in ("undecided", "same")
    worse = changed and (log.mean > 0) != more_is_better(unit)
    visible = math.expm1(reach + log.half) if math.isfinite(log.half) else math.inf
    return Judgement(call, log.n, margin, log, visible, worse=worse)


def _exactly(pairs: Sequence[Pair], *, unit: str, margin: float) -> Judgement:
    """The same in every pair, or changed; undecided if head is above base here and below it there."""
    signs = {math.copysign(1, pair.head - pair.base) for pair in pairs if _differs(pair, margin=margin)}
    n = len(pairs)
    if not pairs or len(signs) == 2:
        why = "differs in both directions: it is not exact here" if pairs else "no pair has it"
        return Judgement("undecided", n, margin, None, math.inf, worse=False, exact=True, why=why)
    positive = all(pair.base > 0 and pair.head > 0 for pair in pairs)
    mean = math.fsum(math.log(pair.head / pair.base) for pair in pairs) / n if positive else 0.0
    log = Interval(n, mean, math.inf) if positive else None
    if not signs:
        return Judgement("same", n, margin, log, margin, worse=False, exact=True)
    higher = signs == {1.0}
    call = direction(higher, unit=unit)
    return Judgement(call, n, margin, log, margin, worse=higher != more_is_better(unit), exact=True)


def _differs(pair: Pair, *, margin: float) -> bool:
    """Whether the larger value exceeds the smaller one by more than the margin. 0 differs from all else."""
    low, high = sorted((pair.base, pair.head))
    return high > low * (1 + margin)


def _without_ratio(pairs: Sequence[Pair], *, margin: float) -> Judgement:
    """Values of 0 have no ratio. All of them 0 are the same."""
    if all(pair.base == pair.head == 0 for pair in pairs):
        return Judgement("same", len(pairs), margin, None, 0.0, worse=False)
    why = "a value of 0 has no ratio: gate another metric, or this one as exact"
    return Judgement("undecided", len(pairs), margin, None, math.inf, worse=False, why=why)
