"""Every error that kvdyno raises on purpose.

    KvdynoError                 exit status
    ├── UsageError                   2     an argument is wrong or missing
    ├── GateError                    3     `kvdyno regress` could not compare, whatever the cause
    ├── SpecError                    3     an experiment, workload or preset file is wrong
    ├── EngineError                  4     an engine is unknown, not built, or cannot describe itself
    ├── HostError                    5     this machine lacks something: cgroup, rights, disk, memory
    ├── BusyError                    6     another sweep holds this machine
    ├── StoreError                   7     results cannot be read or written
    ├── RunFailures                  8     the sweep ended, but runs failed; they are stored as results
    └── Interrupted                130     the user stopped the sweep; what was finished is stored

A message names the place, what was expected and what was found; `remedy` is what to do about it.
"""

from __future__ import annotations


class KvdynoError(Exception):
    """Root of the tree. `where` is a file, "file:line" or a command; `remedy` is an instruction."""

    exit_status = 1

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        """One line with place and message, then the remedy."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  remedy: {self.remedy}" if self.remedy else text


class UsageError(KvdynoError):
    """An argument on the command line is wrong or missing."""

    exit_status = 2


class GateError(KvdynoError):
    """A gate could not compare its arms. Its other statuses are verdicts: every cause has this one."""

    exit_status = 3


class SpecError(KvdynoError):
    """A file that a person wrote (experiment, workload, preset, profile) is wrong."""

    exit_status = 3


class EngineError(KvdynoError):
    """An engine is unknown, not built, or cannot describe itself."""

    exit_status = 4


class HostError(KvdynoError):
    """This machine lacks something that the sweep needs."""

    exit_status = 5


class BusyError(KvdynoError):
    """Another sweep holds this machine."""

    exit_status = 6


class StoreError(KvdynoError):
    """Results cannot be read or written."""

    exit_status = 7


class RunFailures(KvdynoError):  # noqa: N818 - the runs failed; the sweep itself did its work
    """The sweep ended, but some runs failed; they are stored as results."""

    exit_status = 8


class Interrupted(KvdynoError):  # noqa: N818 - a request, not an error
    """The user stopped the sweep; what was finished is stored."""

    exit_status = 130
