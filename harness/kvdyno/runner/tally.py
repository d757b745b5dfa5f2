"""Progress of what the harness itself reads and copies, in the form of a driver's progress."""

from __future__ import annotations

import time
from collections.abc import Callable

from .watch import Progress

_INTERVAL_SECONDS = 0.5
_MIB = 1 << 20


class Tally:
    """Adds up bytes, and reports them at most twice a second; what is done sooner is not reported."""

    def __init__(
        self,
        phase: str,
        *,
        total: int,
        progress: Callable[[Progress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._phase = phase
        self._total = total
        self._progress = progress
        self._clock = clock
        self._done = 0
        self._begun = self._reported = clock()

    def add(self, count: int) -> None:
        """So many bytes more are done."""
        self._done += count
        now = self._clock()
        if now - self._reported < _INTERVAL_SECONDS:
            return
        self._reported = now
        elapsed = now - self._begun
        self._progress(
            Progress(
                phase=self._phase,
                elapsed=elapsed,
                fraction=min(1.0, self._done / self._total) if self._total else None,
                operations=self._done // _MIB,
                rate=self._done / _MIB / elapsed,
                unit="MiB/s",
            )
        )
