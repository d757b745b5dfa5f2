"""Whether a disk that was held to a rate kept to it: by the kernel's own counters, over short windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from kvdyno.model.experiment import DeviceLimits

#: Rules are kept over slices of a tenth of a second, and let a slice through at once.
WINDOW_SECONDS = 2.0
#: Above the limit by more than this share, a rate did not hold.
TOLERANCE = 0.1

# Limits, and the counters that show them: the imitated disk's own, else the cgroup's.
_COUNTERS: Mapping[str, tuple[str, str]] = {
    "read_bytes_per_second": ("disk_read_bytes", "io_read_bytes"),
    "write_bytes_per_second": ("disk_write_bytes", "io_write_bytes"),
    "read_iops": ("disk_reads", ""),
    "write_iops": ("disk_writes", ""),
}


class RateMeter:
    """Follows counters, and keeps the highest rate of each limited kind over windows of two seconds."""

    def __init__(
        self,
        limits: DeviceLimits,
        read: Callable[[], Mapping[str, float]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = {
            name: float(rate) for name in _COUNTERS if (rate := getattr(limits, name)) is not None
        }
        self._read = read
        self._clock = clock
        self._highest: dict[str, float] = {}
        self._window = (clock(), read())

    def tick(self) -> None:
        """Look, when a window is full."""
        if self._clock() - self._window[0] >= WINDOW_SECONDS:
            self._close_window()

    def finish(self) -> dict[str, dict[str, float | bool]]:
        """For each limited kind: `limit`, `highest` and `held`; none of what nothing counted.

        A run shorter than a window is too short to judge: the slices at its begin weigh too much.
        """
        return {
            name: {"limit": limit, "highest": round(found), "held": found <= limit * (1 + TOLERANCE)}
            for name, limit in self._limits.items()
            if (found := self._highest.get(name)) is not None
        }

    def _close_window(self) -> None:
        then, before = self._window
        moment, now = self._clock(), self._read()
        self._window = (moment, now)
        seconds = max(moment - then, 1e-3)
        for name in self._limits:
            counter = next((each for each in _COUNTERS[name] if each in now), None)
            if counter is not None:
                rate = (now[counter] - before.get(counter, 0)) / seconds
                self._highest[name] = max(rate, self._highest.get(name, 0))
