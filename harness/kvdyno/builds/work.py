"""What every step of a build is given, and the conditions under which one works."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kvdyno.errors import HostError
from kvdyno.host.libraries import engines_folder
from kvdyno.model.project import Project

from .compiling import Progress

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class Step:
    """What is heard of a build: `say` gets a line at each step, `progress` counts of compilations."""

    say: Callable[[str], None]
    progress: Progress


@dataclass(frozen=True)
class Work:
    """A build in a checkout: who hears of it, and how many compilations run at a time."""

    project: Project
    step: Step
    jobs: int


@contextlib.contextmanager
def working(project: Project, *, step: Step, jobs: int | None) -> Iterator[Work]:
    """One build at a time in a data folder; without `jobs`, as many compilations as there are CPUs.

    Raises HostError, with the remedy, when the disk fills up inside.
    """
    folder = engines_folder(project)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            step.say("another build is under way in this data folder; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield Work(project, step, jobs or len(os.sched_getaffinity(0)))
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise HostError(
                error.strerror or str(error),
                where=str(error.filename or folder),
                remedy="free some disk, or set KVDYNO_DATA to a folder on another disk; "
                "the same command goes on",
            ) from error
