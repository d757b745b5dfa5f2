"""How long a sweep takes on many hosts: its jobs, simulated on hosts that differ in speed and may fail."""

from __future__ import annotations

import heapq
import random
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from .deal import Unit

#: A job's start: the scheduler's, Python's, and making the plan again; `make bench-hosts` checks it.
JOB_SECONDS = 3.5
#: Slurm queues a failed host's job again after this long.
REQUEUE_SECONDS = 120.0
#: A host that failed takes jobs again after this long.
REPAIR_SECONDS = 1800.0
_DAY = 86400.0
_SWEEPS = 200


@dataclass(frozen=True)
class Hosts:
    """What a sweep runs on. `spread`: standard deviation of the logarithm of a host's time over what is
    expected. `failures`: how often a host fails in a day of work.
    """

    count: int
    spread: float = 0.1
    failures: float = 0.0


@dataclass(frozen=True)
class Makespan:
    """Simulated sweeps, in seconds: the median makespan, what 5 % are below and 5 % above; medians of the
    time that hosts are taken, and of its part that loads data. `longest` is the longest job at the expected
    speed: more hosts than jobs change nothing. `jobs` is their number, `sweeps` how many were simulated.
    """

    seconds: float
    low: float
    high: float
    host_seconds: float
    load_seconds: float
    longest: float
    jobs: int
    sweeps: int = _SWEEPS


@dataclass(frozen=True)
class _Job:
    """What is left of a job; `ends` are its units' ends in seconds, loads apart."""

    units: tuple[Unit, ...]
    loads: dict[str, float]
    ends: tuple[float, ...]

    def after(self, units: int) -> _Job:
        """The rest, without so many of its units."""
        return _job(self.units[units:])


@dataclass
class _Host:
    pace: float
    snapshots: set[str] = field(default_factory=set)


def makespan(hands: Sequence[Sequence[Unit]], *, hosts: Hosts, seed: int = 1) -> Makespan:
    """The jobs of `deal` on those hosts, in order, each taken by the first host that is free.

    A host makes each snapshot once, before the job's runs. The units that a host had finished when it failed
    are not measured again. Waiting in the scheduler's queue behind others is not in it.
    """
    jobs = [_job(tuple(hand)) for hand in hands]
    simulated = [_simulate(jobs, hosts, random.Random(seed * 1_000_003 + k)) for k in range(_SWEEPS)]
    spans = sorted(span for span, _, _ in simulated)
    cut = statistics.quantiles(spans, n=20, method="inclusive")
    return Makespan(
        seconds=statistics.median(spans),
        low=cut[0],
        high=cut[-1],
        host_seconds=statistics.median(taken for _, taken, _ in simulated),
        load_seconds=statistics.median(loading for _, _, loading in simulated),
        longest=max(JOB_SECONDS + job.ends[-1] + sum(job.loads.values()) for job in jobs),
        jobs=len(jobs),
    )


def _job(units: tuple[Unit, ...]) -> _Job:
    loads = {name: seconds for unit in units for name, seconds in unit.loads.items()}
    return _Job(units, loads, tuple(accumulate(unit.seconds for unit in units)))


def _simulate(jobs: Sequence[_Job], hosts: Hosts, chance: random.Random) -> tuple[float, float, float]:
    """One sweep: its makespan, the time that hosts are taken, and its part that loads data."""
    farm = [_Host(pace=chance.lognormvariate(0, hosts.spread)) for _ in range(hosts.count)]
    free = [(0.0, number) for number in range(hosts.count)]
    waiting = [(0.0, number, job) for number, job in enumerate(jobs)]
    span = taken = loading = 0.0
    number = len(jobs)
    while waiting:
        since, _, job = heapq.heappop(waiting)
        at, which = heapq.heappop(free)
        begin, host = max(since, at), farm[which]
        load = sum(t for name, t in job.loads.items() if name not in host.snapshots) * host.pace
        ready = JOB_SECONDS + load
        lasts = ready + job.ends[-1] * host.pace
        fails = chance.expovariate(hosts.failures / _DAY) if hosts.failures else lasts
        if fails < lasts:
            done = bisect_right(job.ends, (fails - ready) / host.pace)
            rest = job.after(done)
            number += 1
            heapq.heappush(waiting, (begin + fails + REQUEUE_SECONDS, number, rest))
            heapq.heappush(free, (begin + fails + REPAIR_SECONDS, which))
            if fails >= ready:
                host.snapshots |= set(job.loads)
            taken, loading = taken + fails, loading + min(load, max(fails - JOB_SECONDS, 0.0))
            continue
        host.snapshots |= set(job.loads)
        heapq.heappush(free, (begin + lasts, which))
        span, taken, loading = max(span, begin + lasts), taken + lasts, loading + load
    return span, taken, loading
