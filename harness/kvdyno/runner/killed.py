"""A run whose driver is killed on purpose: what both processes are asked, and what is between them."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from kvdyno.model.axes import (
    DRAIN,
    KILL_OPERATIONS,
    KILL_SECONDS,
    MEASURE_SECONDS,
    OPERATIONS,
    WARMUP_SECONDS,
)
from kvdyno.model.experiment import CachePolicy, Recovery
from kvdyno.model.options import value_text
from kvdyno.model.record import Failure, RunStatus

from .cache_policy import drop_caches
from .disk import evict
from .watch import Ending

#: Where the killed process leaves its files, below the run's folder.
KILLED = "killed"
#: What it acknowledged: large, and of no use once the store was checked.
ACKNOWLEDGED = "acknowledged.bin"

_KILLS = (KILL_OPERATIONS, KILL_SECONDS)


def reopening_properties(properties: Mapping[str, str], recovery: Recovery) -> dict[str, str]:
    """What the second process is asked: the same mix at once, for as long as it is watched."""
    kept = {name: text for name, text in properties.items() if name not in _KILLS}
    watched = {MEASURE_SECONDS: value_text(recovery.watch_seconds), OPERATIONS: "0", WARMUP_SECONDS: "0"}
    return {**kept, **watched, DRAIN: "false"}


def was_killed(ending: Ending) -> bool:
    """Whether it ended by its own SIGKILL, not by the kernel's, the harness's or another's doing."""
    return ending.signal == signal.SIGKILL and not (ending.oom_kills or ending.timed_out or ending.fault)


def not_killed(status: RunStatus, failure: Failure | None) -> tuple[RunStatus, Failure]:
    """How a run is judged whose first process ended in another way."""
    if failure is None:
        return "failed", Failure(
            reason="the measured phase ended before the moment of the kill; "
            "remedy: a longer phases.measure, or an earlier phases.recovery.after"
        )
    return status, failure.model_copy(update={"reason": f"before the kill: {failure.reason}"})


def renewed_caches(store: Path, cache: CachePolicy) -> dict[str, bool]:
    """Drop the store's pages, as before any run; with `cold` those of the machine, if that is allowed.

    Dirty pages outlive a process: they are written back, not lost. Returns what a record keeps of it.
    """
    evict(store)
    return {"caches_dropped": drop_caches()} if cache == "cold" else {}
