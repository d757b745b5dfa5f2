"""Profiling: what a driver executes in a small fixed run, counted by callgrind and not timed.

The counts repeat from run to run, on a busy machine as on a quiet one. They see the clients' own
instructions: neither waiting, nor the kernel, nor an engine's background threads.
"""

from .callgrind import available, count_calls
from .fixed import COUNTED_OPERATIONS, FixedRun, fixed_run

__all__ = ["COUNTED_OPERATIONS", "FixedRun", "available", "count_calls", "fixed_run"]
