"""Regress: whether one version of an engine is slower than another, decided pair by pair.

Pure functions of paired measurements: intervals that hold at any stopping time, verdicts, the point to
measure next, and the margins below which this host can show nothing.
"""

from .choose import doubt, next_point
from .counters import CounterChange, changed_counters
from .decide import Judgement, Pair, judge
from .margins import noise_share
from .outcome import Verdict, changed_first, exit_status
from .sequence import Interval, interval, values_least
from .walk import Finding, Left, left, next_candidate

__all__ = [
    "CounterChange",
    "Finding",
    "Interval",
    "Judgement",
    "Left",
    "Pair",
    "Verdict",
    "changed_counters",
    "changed_first",
    "doubt",
    "exit_status",
    "interval",
    "judge",
    "left",
    "next_candidate",
    "next_point",
    "noise_share",
    "values_least",
]
