"""Which point to measure next: the one whose verdicts are in the greatest doubt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .decide import Judgement

#: A mean on the margin's edge is in doubt for ever; its room counts as this share of the margin at least.
_ROOM_LEAST = 0.25


def doubt(found: Judgement) -> float:
    """How many times too wide the interval is for a verdict; 0 if there is one, or more pairs cannot help."""
    if found.decided or found.why or found.log is None:
        return 0.0
    reach = math.log1p(found.margin)
    return found.log.half / max(abs(abs(found.log.mean) - reach), _ROOM_LEAST * reach)


def next_point(points: Mapping[str, Sequence[Judgement]]) -> str | None:
    """The point, by name, that gets the next pair: of the greatest doubt, then of the fewest pairs.

    None: nothing is in doubt.
    """
    ranked = []
    for name, judgements in points.items():
        n = max((each.n for each in judgements), default=0)
        worst = max((doubt(each) for each in judgements), default=0.0)
        if worst:
            ranked.append((worst, -n, name))
    return max(ranked, key=lambda each: each[:2])[2] if ranked else None
