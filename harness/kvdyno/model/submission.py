"""A sweep that was handed to a scheduler: what was asked for, so that any host can plan it again."""

from __future__ import annotations

from typing import Literal

from .engine import Frozen, RunnerName
from .experiment import CachePolicy
from .point import Run

#: What starts jobs: a Slurm cluster, or submitit on this machine alone.
ClusterName = Literal["slurm", "local"]

_DIGITS = 12


def run_key(run: Run) -> str:
    """A run's name for `kvdyno run-point`: its point's identity, shortened, and its repetition."""
    return key_of(run.point.identity, run.repetition)


def key_of(identity: str, repetition: int) -> str:
    """The name of that repetition of a point (`run_key`)."""
    return f"{identity[:_DIGITS]}.r{repetition}"


class Submission(Frozen):
    """How a sweep was submitted, in its file (see Sweep).

    `experiment` is as it was asked for, `keys` are the runs that were to be measured (`run_key`), `jobs` how
    many jobs they were dealt to. `data` is the folder of stores on each host.
    """

    cluster: ClusterName
    experiment: str
    profile: str
    runner: RunnerName
    engines: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    repeat: int | None = None
    cache: CachePolicy | None = None
    uncapped: bool = False
    cpus: tuple[int, ...] | None = None
    force: bool = False
    governor: str | None = None
    no_turbo: bool = False
    data: str
    jobs: int
    keys: tuple[str, ...]

    @property
    def prefixes(self) -> frozenset[str]:
        """How the identities of its points begin."""
        return frozenset(key.partition(".")[0] for key in self.keys)
