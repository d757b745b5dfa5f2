"""The live display of a gate: many short sweeps, one after the other, until its budget ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.console import Console

from .display import SweepDisplay
from .forecast import Forecast


class _Budget(Forecast):
    """A gate takes at most its budget; what it will need is not known beforehand."""

    def __init__(self, seconds: float, *, clock: Callable[[], float]) -> None:
        super().__init__(())
        self._clock = clock
        self._end = clock() + seconds

    def seconds_left(self, *, current: float) -> float:  # noqa: ARG002 - a budget includes what runs now
        """Seconds until the budget ends."""
        return max(0.0, self._end - self._clock())


class GateDisplay(SweepDisplay):
    """Watches every sweep of a gate; each of them measures one pair."""

    def __init__(
        self, console: Console, *, budget_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, _Budget(budget_seconds, clock=clock), clock=clock)
        self._announced = False

    def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
        """See pipeline.Observer. What is the same for all pairs is printed once."""
        for name in removed:
            self._console.print(f"removed what a killed sweep left: {name}", soft_wrap=True)
        if total and not self._announced:
            self._announced = True
            self._console.print(f"measuring pairs, confined by {confined}")
        self._total = total
