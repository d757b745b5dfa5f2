"""What a search asks of a strategy, and what its trail teaches a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kvdyno.model.search import Options, Space, Try

#: A failed try counts as this much worse (a logarithm) than the worst that was measured.
_FAILED = math.log(2)


@dataclass(frozen=True)
class Question:
    """What to try next in `space` after `trail`? `start` are the default's options in the space. The first
    `given` tries were not the strategy's.
    """

    space: Space
    trail: Sequence[Try]
    start: Options
    seed: int
    given: int = 0

    @property
    def best(self) -> Options:
        """The options of the best try in the first objective, the default's if none is better. An option that
        does not act there has the default's value.
        """
        best = max(measured(self.trail), key=lambda each: each.gains or (), default=None)
        return {**self.start, **best.options} if best and best.gains and best.gains[0] > 0 else self.start


def measured(trail: Sequence[Try]) -> list[Try]:
    """The tries that were measured in full length."""
    return [each for each in trail if each.gains is not None and not each.pruned]


def penalised(trail: Sequence[Try]) -> list[tuple[Options, tuple[float, ...]]]:
    """Options and gains; a failed try gets gains below all that were measured, so that a model avoids it.

    Before anything was measured, failed tries teach nothing and are left out.
    """
    known = [each.gains for each in trail if each.gains is not None]
    if not known:
        return []
    worst = tuple(min(column) - _FAILED for column in zip(*known, strict=True))
    return [(each.options, each.gains if each.gains is not None else worst) for each in trail]
