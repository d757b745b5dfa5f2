"""When a point's engine is killed, and which points can be."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from kvdyno.errors import SpecError
from kvdyno.model.axes import KILL_OPERATIONS, KILL_SECONDS, MEASURE_SECONDS, OPERATIONS, REOPEN_FROM
from kvdyno.model.experiment import Recovery

from .mix import delete_share, write_share
from .resolve import Resolved


def check_recovery(resolved: Resolved, *, label: str, where: str) -> None:
    """Raises SpecError for a point that asks for a recovery which its driver or its mix cannot have."""
    if resolved.recovery is None:
        return
    workload = resolved.axes.get("workload", "the mix")
    if resolved.engine.description.property(REOPEN_FROM) is None:
        found = f"{label}, whose driver cannot be killed and opened again"
        remedy = "leave the engine out, or phases.recovery"
    elif resolved.measures_load:
        found, remedy = f"{workload}, which measures a load", "choose a workload that runs operations"
    elif write_share(resolved) == 0:
        found, remedy = f"{workload}, which writes nothing", "choose a workload that writes"
    elif delete_share(resolved) > 0:
        found = f"{workload}, which deletes: a deleted row leaves no value to check"
        remedy = "choose a workload that overwrites or inserts"
    else:
        return
    raise SpecError(
        f"recovery: expected a point that writes values, found {found}", where=where, remedy=remedy
    )


def kill_moment(properties: Mapping[str, str], recovery: Recovery, *, repetition: int) -> Mapping[str, str]:
    """The driver properties that kill it: the same share of the measured phase for all engines.

    The share is uniform in [`after`, 1), drawn by a hash of the repetition. It applies to each limit that
    ends the phase, so that the kill comes before the end whichever is reached first.
    """
    drawn = int.from_bytes(hashlib.sha256(f"kill {repetition}".encode()).digest()[:6], "big") / 2**48
    share = recovery.after + (1 - recovery.after) * drawn
    operations = int(properties.get(OPERATIONS, "0"))
    seconds = float(properties.get(MEASURE_SECONDS, "0"))
    moments = {}
    if operations:
        moments[KILL_OPERATIONS] = str(max(1, min(int(operations * share), operations - 1)))
    if seconds:
        moments[KILL_SECONDS] = f"{seconds * share:.3f}"
    return moments
