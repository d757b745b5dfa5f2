"""Which candidates deserve more runs, by how far their paired ratios to the default are known.

Two questions, both answered with the noise that the search itself has seen: whether a short run suffices to
drop a candidate, and which tries of the front are worth another repetition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import scipy

from kvdyno.model.search import Try

from .strategies import front_of

#: So many tries have a short run and a full one before a short run alone may drop a candidate.
PAIRS_LEAST = 4
#: A try is measured at most so often before the confirmation.
REPETITIONS_MOST = 3
#: So many tries come between two repetitions. It does not depend on the budget, which may be raised.
_TRIES_A_REPETITION = 3
#: How sure a decision is: of not dropping a candidate that is as good as another, and of a front's order.
_SURE = 0.95

Gains = tuple[float, ...]


def hopeless(short: Gains, trail: Sequence[Try]) -> bool:
    """Whether a candidate with these gains in a short run is worse in every objective than the default or a
    try in full length, by more than a short run and a full one of one candidate differ.

    The difference of the two has a root mean square over the tries that had both; its distribution is taken
    as normal around zero, so that the margin is Student's quantile times it. The other's own noise counts as
    much. False while too few tries had both.
    """
    both = [(one.short, one.each[0]) for one in trail if one.short is not None and one.each]
    if len(both) < PAIRS_LEAST:
        return False
    reach = float(scipy.stats.t.ppf(_SURE, len(both))) * math.sqrt(2)
    hoped = [
        gain + reach * math.sqrt(math.fsum((full[i] - part[i]) ** 2 for part, full in both) / len(both))
        for i, gain in enumerate(short)
    ]
    rivals = [(0.0,) * len(short), *(one.gains for one in trail if one.each and one.gains)]
    return any(_above(rival, hoped) for rival in rivals)


def due(trail: Sequence[Try]) -> Try | None:
    """The try to measure once more now: the contested one, after every third try."""
    return contested(trail) if len(trail) % _TRIES_A_REPETITION == 0 else None


def contested(trail: Sequence[Try]) -> Try | None:
    """The try that another repetition would help most: noise decides whether it is in the front, and it was
    measured least often. Tries of the front come first, then the best. None: there is none.
    """
    front = {one.number for one in front_of([one for one in trail if one.each])}
    return min(
        undecided(trail),
        key=lambda one: (len(one.each), one.number not in front, [-gain for gain in one.gains or ()]),
        default=None,
    )


def undecided(trail: Sequence[Try]) -> Sequence[Try]:
    """The tries that may be measured once more: noise decides whether they are in the front."""
    full = [one for one in trail if one.each]
    margins = _Margins(full)
    return [
        one for one in full if len(one.each) < REPETITIONS_MOST and _noise_decides(one, full, margins=margins)
    ]


class _Margins:
    """How far two tries' gains may differ by noise alone: Student's quantile times the standard error, from
    the spread between the repetitions of each try. Infinite while none has two repetitions.
    """

    def __init__(self, full: Sequence[Try]) -> None:
        self._freedom = sum(len(one.each) - 1 for one in full)
        columns = [list(zip(*one.each, strict=True)) for one in full]
        count = len(columns[0]) if columns else 0
        squares = [math.fsum(_squares(each[i]) for each in columns) for i in range(count)]
        self._deviations = [
            math.sqrt(each / self._freedom) if self._freedom else math.inf for each in squares
        ]

    def between(self, one: Try, other: Try) -> Gains:
        """The margin in each objective."""
        if not self._freedom:
            return tuple(self._deviations)
        reach = float(scipy.stats.t.ppf((1 + _SURE) / 2, self._freedom))
        error = math.sqrt(1 / len(one.each) + 1 / len(other.each))
        return tuple(reach * error * each for each in self._deviations)


def _noise_decides(one: Try, full: Sequence[Try], *, margins: _Margins) -> bool:
    """Whether no rival is surely better in every objective, but one might be."""
    others = [(other.gains or (), margins.between(one, other)) for other in full if other is not one]
    mine = one.gains or ()
    surely_worse = any(
        _above(gains, [g + m for g, m in zip(mine, margin, strict=True)]) for gains, margin in others
    )
    maybe_worse = any(
        _above(gains, [g - m for g, m in zip(mine, margin, strict=True)]) for gains, margin in others
    )
    return maybe_worse and not surely_worse


def _above(gains: Sequence[float], others: Sequence[float]) -> bool:
    return all(a > b for a, b in zip(gains, others, strict=True))


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)
