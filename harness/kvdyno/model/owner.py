"""Who owns what a sweep leaves on the machine while it runs.

A process id alone is reused; with the process's start time it names one process for as long as the machine
is up. Cgroups and work folders carry such a tag in their names, containers in a label, so that a later sweep
can tell the leftovers of a killed harness from the belongings of a living one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

PREFIX = "kvdyno-"

LABEL_SWEEP = "kvdyno.sweep"
LABEL_OWNER = "kvdyno.owner"
#: In which namespace the owner's process id means something.
LABEL_PIDS = "kvdyno.process-ids"

_NAME = re.compile(r"^kvdyno-.+-(\d+)-(\d+)(\.\d+\.scope)?$")


def owned_name(sweep_id: str) -> str:
    """`kvdyno-<sweep>-<pid>-<start>`: a name for something that this process owns."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", sweep_id):
        raise ValueError(f"sweep id {sweep_id!r}: expected letters, digits, '_', '.' and '-'")
    return f"{PREFIX}{sweep_id}-{os.getpid()}-{_start_ticks(os.getpid())}"


def is_leftover(name: str) -> bool:
    """Whether `name` was made by `owned_name` in a process that lives no more."""
    match = _NAME.match(name)
    return match is not None and _start_ticks(int(match[1])) != int(match[2])


def owner_labels(sweep_id: str) -> Mapping[str, str]:
    """Labels of a container that this process owns."""
    return {LABEL_SWEEP: sweep_id, LABEL_OWNER: owned_name(sweep_id), LABEL_PIDS: process_ids()}


def is_left_by(labels: Mapping[str, str]) -> bool:
    """Whether labels are `owner_labels` of a process that has exited, as far as this process can see it."""
    return labels.get(LABEL_PIDS) == process_ids() and is_leftover(labels.get(LABEL_OWNER, ""))


def process_ids() -> str:
    """The name of the namespace that this process's ids belong to."""
    return str(Path("/proc/self/ns/pid").readlink())


def _start_ticks(pid: int) -> int | None:
    """Clock ticks from boot to the process's start; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name, in brackets, may itself hold brackets and blanks.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])
