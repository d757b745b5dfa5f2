"""Who owns what a sweep leaves on the machine while it runs.

A process id means one process only with its start time, and only within its PID namespace: a harness in a
container and one outside see other ids. Cgroups, containers and work folders carry all three in their names.
An owner also locks its folders. Every namespace sees the lock, and the kernel frees it when the owner exits.
So a later sweep removes what a killed harness left, and nothing of a living one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PREFIX = "kvdyno-"

LABEL_SWEEP = "kvdyno.sweep"
LABEL_OWNER = "kvdyno.owner"

_NAME = re.compile(r"^kvdyno-.+-ns(\d+)-(\d+)-(\d+)(\.\d+(\.scope)?)?$")
_PROC = Path("/proc")


def owned_name(sweep_id: str) -> str:
    """`kvdyno-<sweep>-ns<PID namespace>-<pid>-<start>`: a name for something that this process owns."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", sweep_id):
        raise ValueError(f"sweep id {sweep_id!r}: expected letters, digits, '_', '.' and '-'")
    return f"{PREFIX}{sweep_id}-ns{_namespace()}-{os.getpid()}-{_start_ticks('self')}"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Show to every PID namespace that the folder's owner lives, until the context or this process ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Where the file system has no locks, `_is_unlocked` proves nothing either.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_leftover(name: str, *, folder: Path | None = None) -> bool:
    """Whether a process that has provably exited made `name` by `owned_name`.

    `folder`, where there is one, must be unlocked. Without one, an owner whose process id cannot be looked
    up here is taken to live.
    """
    match = _NAME.match(name)
    if match is None:
        return False
    known = match[1] == _namespace() and _shows_own_namespace()
    if known and _start_ticks(match[2]) == int(match[3]):
        return False
    return _is_unlocked(folder) if folder else known


def owner_labels(sweep_id: str) -> Mapping[str, str]:
    """Labels of a container that this process owns."""
    return {LABEL_SWEEP: sweep_id, LABEL_OWNER: owned_name(sweep_id)}


def is_left_by(labels: Mapping[str, str]) -> bool:
    """Whether labels are `owner_labels` of a process that has provably exited."""
    return is_leftover(labels.get(LABEL_OWNER, ""))


def _is_unlocked(folder: Path) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _namespace() -> str:
    """The kernel's number of this process's PID namespace."""
    return str((_PROC / "self/ns/pid").stat().st_ino)


def _shows_own_namespace() -> bool:
    """Whether /proc has the ids of this process's namespace; `unshare --pid` alone leaves the old one."""
    return (_PROC / "self").readlink() == Path(str(os.getpid()))


def _start_ticks(process: str) -> int | None:
    """Clock ticks from boot to the process's start; None if there is no such process."""
    try:
        stat = (_PROC / process / "stat").read_text()
    except OSError:
        return None
    # The command's name, in brackets, may itself hold brackets and blanks.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])
