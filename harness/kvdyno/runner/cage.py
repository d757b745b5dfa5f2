"""The words for confining a process tree: a warden makes cages, a cage holds one run's processes.

Every warden (cgroup v1, cgroup v2, systemd, Docker, none) keeps these promises: the cap holds from the
process's first page on, page cache that the processes touch is charged inside, an out-of-memory kill
is counted by the kernel rather than guessed from memory use, and leaving the context ends every process
and takes the cage away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kvdyno.errors import HostError
from kvdyno.model.engine import Engine, RunnerName

from .throttle import Throttle

#: Exit status of the launcher when the process could not be put into its cage.
LAUNCH_FAILED = 125

#: Joining before exec: not a page of the program is charged elsewhere. $0 lists the groups.
JOIN_SCRIPT = f'for group in $0; do echo $$ > "$group/cgroup.procs" || exit {LAUNCH_FAILED}; done; exec "$@"'

#: Which I/O the limits of a device hold.
BINDS_V1 = "reads, direct writes and synced writes; not what is written back later"
BINDS_V2 = "reads and writes, write-back included"
BINDS_ALONE = "reads and writes, write-back included: the store is on an imitated disk of its own"


#: From SIGTERM to SIGKILL: time for a driver to write its outcome.
GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Places:
    """Where a run's things are, as its driver sees them: store, output folder, descriptor for progress."""

    store: Path
    output: Path
    progress_fd: int


@dataclass(frozen=True)
class Task:
    """What to start: `argv` words the command line for the places that the cage gives it.

    `store` and `output` are this machine's folders (the latter is also the working folder); all that is
    printed goes to `log`, a file in `output`.
    """

    engine: Engine
    argv: Callable[[Places], list[str]]
    store: Path
    output: Path
    log: Path
    timeout_seconds: float
    cpus: tuple[int, ...] = ()
    grace_seconds: float = GRACE_SECONDS


class Process(Protocol):
    """A started task. `close` frees what the harness holds of it, once it has ended."""

    @property
    def pid(self) -> int:
        """Its id, or its launcher's."""

    @property
    def progress(self) -> int:
        """The descriptor where its progress is read."""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within `seconds`."""

    def ask_to_end(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """End it by SIGKILL, and what it started as far as it is known; returns when it is gone.

        Raises HostError if it stays.
        """

    @property
    def returncode(self) -> int:
        """Once it has ended: the exit status, or a signal's number, negative."""

    @property
    def fault(self) -> str:
        """Once it has ended: why its end shows nothing about it; empty if it does."""

    @property
    def cpu_seconds_apart(self) -> float:
        """Once it has ended: CPU time that is not counted as that of the harness's children."""

    def close(self) -> None:
        """See the class."""


class Cage(Protocol):
    """One run's processes under one cap."""

    @property
    def place(self) -> str:
        """Where a person would look: the cgroup's path or the unit's name; empty without a cage."""

    def start(self, task: Task) -> Process:
        """Start it inside. Raises HostError."""

    def pids(self) -> list[int]:
        """The processes inside, now."""

    def kill(self) -> None:
        """End every process inside by SIGKILL; returns when they are gone. Raises HostError if they stay."""

    def oom_kills(self) -> int:
        """Processes that the kernel killed for lack of memory inside, so far."""

    def ran_into_cap(self) -> bool:
        """Whether memory use ever met the cap: a kill without that is for the whole host's lack of memory."""

    def limits_swap(self) -> bool:
        """Whether swap is limited too: if not, a run may swap its way past the cap."""

    def peak_bytes(self) -> int | None:
        """The highest memory use so far, page cache included; None where the kernel does not say."""

    def usage(self) -> dict[str, float]:
        """Memory now and I/O so far (see throttle.read_usage); what cannot be read is left out."""


class Warden(Protocol):
    """A way of confining processes on this machine."""

    @property
    def runner(self) -> RunnerName:
        """The runner that it belongs to: stored in every record."""

    @property
    def kind(self) -> str:
        """`cgroup v1`, `cgroup v2`, `systemd`, `docker` or `none`: stored in every record."""

    @property
    def why(self) -> str:
        """Why this one was picked, in a sentence."""

    @property
    def capped(self) -> bool:
        """Whether caps are enforced."""

    @property
    def details(self) -> Mapping[str, object]:
        """What else a record should say of it."""

    @property
    def device_binds(self) -> str:
        """Which I/O the limits of a device hold here, in words."""

    @property
    def binds_write_back(self) -> bool:
        """Whether these limits also hold what the kernel writes back later."""

    def cage(self, *, cap_bytes: int, throttle: Throttle | None = None) -> AbstractContextManager[Cage]:
        """A new cage; `cap_bytes` 0 confines without a cap. Raises HostError.

        `throttle` holds the disk to its limits, and lets its I/O be counted where that takes a rule.
        """

    def remove_leftovers(self) -> tuple[str, ...]:
        """Take away what killed harnesses left; returns the names."""

    def close(self) -> None:
        """Put back what was changed on the machine."""


def wait_until(condition: Callable[[], bool], *, seconds: float, failure: str) -> None:
    """Poll until the condition holds. Raises HostError with `failure` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise HostError(failure, remedy="look at the processes with ps; a reboot ends the unkillable")
        time.sleep(0.01)


def read_pids(path: Path) -> list[int]:
    """The ids in a cgroup.procs file; none if the cgroup is gone.

    cgroup v2 lists processes outside of this PID namespace as 0, which system calls take for the caller. They
    are left out.
    """
    try:
        return [pid for pid in map(int, path.read_text().split()) if pid]
    except OSError:
        return []


def has_strangers(path: Path) -> bool:
    """Whether a cgroup.procs file lists processes that this PID namespace does not see."""
    try:
        return "0" in path.read_text().split()
    except OSError:
        return False


def read_counter(path: Path, key: str) -> int:
    """The number beside `key` in a flat-keyed cgroup file; 0 if either is missing."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[:1] == [key]), 0)


def read_number(path: Path) -> int | None:
    """The number in a cgroup file; None if it is missing or holds `max`."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
