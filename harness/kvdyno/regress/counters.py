"""Which counters changed most between the arms: where to look for a cause, and no verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .decide import Pair
from .sequence import Interval, interval

#: How often each interval may miss. Nothing is adjusted for the number of counters.
_LEVEL = 0.05


@dataclass(frozen=True)
class CounterChange:
    """A counter per operation in both arms: means over `n` pairs, and the interval of the mean log-ratio.

    `log` is None where one arm's values are all 0 and the other's are not: there it appeared, or vanished.
    """

    name: str
    unit: str
    n: int
    base: float
    head: float
    log: Interval | None

    @property
    def least(self) -> float:
        """The smallest change, as a log-ratio, that the interval leaves; inf where one arm has none."""
        return math.inf if self.log is None else max(0.0, abs(self.log.mean) - self.log.half)


def changed_counters(values: Mapping[tuple[str, str], Sequence[Pair]]) -> tuple[CounterChange, ...]:
    """The counters, by name and unit, whose change exceeds their scatter between pairs; the largest first.

    The order is that of the smallest change that each interval leaves, so that a large ratio with a large
    scatter stands behind a smaller one that every pair shows.
    """
    found = [each for (name, unit), pairs in values.items() if (each := _change(name, unit, pairs))]
    changed = [each for each in found if each.least > 0]
    return tuple(sorted(changed, key=lambda each: (-each.least, each.name)))


def _change(name: str, unit: str, pairs: Sequence[Pair]) -> CounterChange | None:
    """None where nothing follows: 0 in some pairs alone, or in all."""
    if not pairs:
        return None
    base, head = (
        math.fsum(values) / len(pairs) for values in zip(*((p.base, p.head) for p in pairs), strict=True)
    )
    if all(pair.base > 0 and pair.head > 0 for pair in pairs):
        log = interval([math.log(pair.head / pair.base) for pair in pairs], level=_LEVEL)
        return CounterChange(name, unit, len(pairs), base, head, log)
    bases, heads = [pair.base > 0 for pair in pairs], [pair.head > 0 for pair in pairs]
    if len(pairs) > 1 and ((all(heads) and not any(bases)) or (all(bases) and not any(heads))):
        return CounterChange(name, unit, len(pairs), base, head, None)
    return None
