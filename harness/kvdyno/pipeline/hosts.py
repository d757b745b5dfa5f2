"""A sweep over many hosts: submitted as jobs, measured by `kvdyno run-point`, delivered to one folder.

Every host measures below its own data folder, as a sweep of its own would, and delivers each run when it has
ended. A run that is delivered twice, or measured twice because a job was, is chosen once (`complete`).
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from kvdyno.cluster import Cluster, Hosts, Job, Makespan, Unit, choose_cluster, deal, makespan, units_of
from kvdyno.errors import HostError, Interrupted, StoreError, UsageError
from kvdyno.model.experiment import Experiment
from kvdyno.model.point import Plan, Run
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.submission import ClusterName, Submission, run_key
from kvdyno.model.sweep import Sweep, sweep_of
from kvdyno.runner import Frequency, Progress, host_id
from kvdyno.store import RunStore, SweepStore, deliver, finished, make_folder

from .excluded import counted_records, demand_counted, excluded_nodes, keep_node
from .planning import Request, make_plan
from .reuse import SweepSettings, blocks, chosen, complete
from .submitted import POLL_SECONDS, find_submission, job_name, keep_jobs_off, look
from .sweep import Observer, SweepResult, new_sweep_id, sweep

#: Jobs for each host, so that one that is slow or fails holds up a part of its share.
_JOBS_PER_HOST = 4
#: A Slurm takes arrays of 1000 jobs unless its MaxArraySize is another.
_JOBS_MAX = 1000
#: A job may take this many times what is expected of it, and so many minutes more.
_SLACK, _SLACK_MINUTES = 3, 60
#: With less than this left, a disk is full: a run's files may not fit.
_ROOM_BYTES = 4 << 20


@dataclass(frozen=True)
class Where:
    """What starts the jobs: `hosts` at most at a time; `options` are passed on to Slurm's sbatch."""

    cluster: ClusterName
    hosts: int
    options: Mapping[str, str]


class Watcher(Protocol):
    """Who watches a sweep over hosts."""

    def submitted(self, sweep_id: str, *, runs: int, jobs: int, before: bool) -> None:
        """The sweep's jobs are handed over; `before`: by an earlier command, which this one goes on for."""

    def looked(self, jobs: Sequence[Job], *, stored: int, silent: str) -> None:
        """The scheduler was asked for the jobs, or does not answer; so many runs are stored."""


def run_over_hosts(
    project: Project, request: Request, whole: Plan, *, how: SweepSettings, where: Where, watcher: Watcher
) -> SweepResult:
    """Submit what no host has measured yet, wait for it, and return the records as `sweep` does.

    What an earlier command submitted and is still being measured is waited for, not submitted again. Raises
    HostError if the scheduler takes no jobs, or if runs are left without a record; Interrupted on Ctrl-C,
    while the jobs go on.
    """
    make_folder(project.runs)
    cluster = choose_cluster(where.cluster)
    store = SweepStore(project.sweeps)
    units = _units(whole)
    reused = {} if how.force else complete(whole, _runs(units), _submitted_records(project, whole, how=how))
    todo = [unit for unit in units if any(run.name not in reused for run in unit.runs)]
    only: str | None = None
    if todo:
        active = _active(store, cluster, where.cluster, {run_key(run) for unit in todo for run in unit.runs})
        found = active or _submit(project, request, whole, todo, how=how, where=where, cluster=cluster)
        submission = found.submission
        assert submission  # both have one
        only = found.sweep_id if how.force else None
        watcher.submitted(
            found.sweep_id, runs=len(submission.keys), jobs=submission.jobs, before=active is not None
        )
        _wait(project, found, cluster, watcher)
    records = chosen(whole, _submitted_records(project, whole, how=how, only=only))
    if missing := [run.name for run in whole.runs if run.name not in records]:
        raise _lacking(project, f"{len(missing)} of {len(whole.runs)} runs have no record", missing[0])
    ordered = tuple(records[run.name] for run in whole.runs)
    measured = sum(run.name not in reused for run in whole.runs)
    return SweepResult(plan=whole, records=ordered, measured=measured, reused=len(whole.runs) - measured)


def makespan_on(whole: Plan, stored: Collection[str], *, hosts: Hosts) -> Makespan | None:
    """How long the plan would take on those hosts, by simulation; None if nothing is left to measure.

    `stored` names the runs that need not be measured again.
    """
    todo = [unit for unit in _units(whole) if any(run.name not in stored for run in unit.runs)]
    return makespan(_dealt(todo, hosts=hosts.count), hosts=hosts) if todo else None


def run_points(project: Project, sweep_id: str, keys: Sequence[str], *, observer: Observer) -> SweepResult:
    """Measure these runs of a submitted sweep on this host, and deliver them: what a job does.

    What a host has delivered already is left out, so a job may be started again, or twice. Raises UsageError
    for a key that the plan lacks; HostError if this host is excluded; StoreError if runs cannot be delivered,
    which are then kept and delivered by the next call on this host; and what `sweep` raises.
    """
    submission = find_submission(project, sweep_id)
    keep_node(project)
    try:
        demand_counted(project)
    except HostError:
        keep_jobs_off(project)
        raise
    request, how = _request(submission), _settings(submission)
    whole = _part(make_plan(project, request)[1], keys, sweep_id=sweep_id)
    courier = _Courier(project, observer)

    def known() -> Mapping[str, Record]:
        courier.carry_all()
        only = sweep_id if submission.force else None
        delivered = _submitted_records(project, whole, how=how, only=only)
        return complete(whole, _runs(_units(whole)), delivered)

    result = sweep(
        courier.outbox,
        whole,
        how=replace(how, force=False),  # what this sweep has measured is not measured again
        observer=courier,
        wait=True,
        sweep_id=sweep_id,
        known=known,
    )
    if courier.failure:
        raise courier.failure
    return result


class _Courier:
    """Delivers each run when it has ended; passes on to the observer what it hears itself.

    What cannot be delivered stays in the host's outbox: measuring goes on.
    """

    def __init__(self, project: Project, observer: Observer) -> None:
        self.outbox = replace(project, results=project.data / "outbox")
        self.failure: StoreError | None = None
        self._target = project.results
        self._observer = observer
        self.waiting = observer.waiting
        self.started = observer.started
        self.load_started = observer.load_started

    def carry_all(self) -> None:
        """Deliver what the outbox holds, as far as possible, and remove it there; under the sweep lock."""
        self.failure = None
        for run_dir in finished(self.outbox.results):
            try:
                deliver(run_dir, source=self.outbox.results, target=self._target, sender=host_id())
            except StoreError as failure:
                self.failure = failure
                return
            shutil.rmtree(run_dir)

    def run_started(self, run: Run, *, number: int) -> None:
        """See Observer."""
        self._observer.run_started(run, number=number)

    def progress(self, progress: Progress) -> None:
        """See Observer."""
        self._observer.progress(progress)

    def run_ended(self, record: Record) -> None:
        """See Observer."""
        self.carry_all()
        self._observer.run_ended(record)


def _submit(
    project: Project,
    request: Request,
    whole: Plan,
    todo: Sequence[Unit],
    *,
    how: SweepSettings,
    where: Where,
    cluster: Cluster,
) -> Sweep:
    """Hand the units to the scheduler, and keep what was asked for where hosts find it."""
    if where.cluster == "local":  # its jobs run here
        demand_counted(project)
    hands = _dealt(todo, hosts=where.hosts) if where.cluster == "slurm" else deal(todo, jobs=1)
    sweep_id = new_sweep_id()
    submission = Submission(
        cluster=where.cluster,
        experiment=request.experiment,
        profile=request.profile,
        runner=request.runner,
        engines=request.engines,
        only=request.only,
        exclude=request.exclude,
        repeat=request.repeat,
        cache=request.cache,
        uncapped=how.uncapped,
        cpus=how.cpus,
        force=how.force,
        governor=how.frequency.governor,
        no_turbo=how.frequency.no_turbo,
        data=str(project.data),
        jobs=len(hands),
        keys=tuple(run_key(run) for hand in hands for run in _runs_of(hand)),
    )
    kept = sweep_of(whole, sweep_id=sweep_id, submission=submission)
    SweepStore(project.sweeps).keep(kept)
    cluster.submit(
        [_command(project, sweep_id, hand) for hand in hands],
        name=job_name(sweep_id),
        folder=_folder(project),
        hosts=where.hosts,
        minutes=max(_minutes(hand) for hand in hands),
        options=where.options,
        without=excluded_nodes(project),
    )
    return kept


def _dealt(todo: Sequence[Unit], *, hosts: int) -> tuple[tuple[Unit, ...], ...]:
    """The jobs of a Slurm's array."""
    return deal(todo, jobs=min(_JOBS_PER_HOST * hosts, _JOBS_MAX, len(todo)))


def _command(project: Project, sweep_id: str, hand: Sequence[Unit]) -> tuple[str, ...]:
    program = Path(sys.executable).with_name("kvdyno")
    keys = (run_key(run) for run in _runs_of(hand))
    places = ("--results", str(project.results), "--data", str(project.data))
    return (str(program), "run-point", "--sweep", sweep_id, *places, *keys)


def _minutes(hand: Sequence[Unit]) -> int:
    loads = {name: seconds for unit in hand for name, seconds in unit.loads.items()}
    expected = sum(unit.seconds for unit in hand) + sum(loads.values())
    return round(_SLACK * expected / 60) + _SLACK_MINUTES


def _wait(project: Project, submitted: Sweep, cluster: Cluster, watcher: Watcher) -> None:
    """Until no job waits or runs. A scheduler that does not answer, as in a restart, is asked again."""
    assert submitted.submission
    store = RunStore(project.runs)
    before = store.count(identities=submitted.submission.prefixes)
    try:
        while True:
            jobs, silent = look(submitted, cluster)
            stored = store.count(identities=submitted.submission.prefixes) - before
            watcher.looked(jobs, stored=stored, silent=silent)
            if not jobs and not silent:
                return
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped waiting for sweep {submitted.sweep_id}; its jobs go on",
            remedy="`kvdyno status` shows them, `kvdyno cancel` ends them, the same command waits again",
        ) from None


def _lacking(project: Project, what: str, first: str) -> HostError:
    """Jobs on a full disk cannot even write why they failed."""
    if shutil.disk_usage(project.results).free < _ROOM_BYTES:
        return HostError(
            f"{what}, among them {first}: the disk that the hosts share is full",
            where=str(project.results),
            remedy="free some space; the same command again submits what is missing, and jobs first "
            "deliver the runs that wait on their hosts",
        )
    return HostError(
        f"{what}, among them {first}: their jobs ended or were lost",
        where=str(_folder(project)),
        remedy="see the jobs' output there; the same command again submits what is missing",
    )


def _active(store: SweepStore, cluster: Cluster, name: ClusterName, keys: Collection[str]) -> Sweep | None:
    """The sweep whose jobs measure all these runs already, if there is one."""
    for each in store.every():
        submission = each.submission
        covers = submission and submission.cluster == name and set(keys) <= set(submission.keys)
        if covers and cluster.active(job_name(each.sweep_id)):
            return each
    return None


def _submitted_records(
    project: Project, whole: Plan, *, how: SweepSettings, only: str | None = None
) -> Iterator[Record]:
    """What hosts delivered of the plan's points under these settings; `only` of one sweep, if given."""
    sweeps = {each.sweep_id for each in SweepStore(project.sweeps).every() if each.submission}
    cpus = ",".join(map(str, sorted(how.cpus or ())))
    for record in counted_records(project, identities={point.identity for point in whole.points}):
        counts = record.sweep_id in sweeps and only in (None, record.sweep_id)
        if counts and record.runner.capped != how.uncapped and cpus in ("", record.runner.cpus):
            yield record


def _units(whole: Plan) -> tuple[Unit, ...]:
    return units_of(blocks(whole), along=_compared_axes(whole.experiment))


def _compared_axes(experiment: Experiment) -> frozenset[str]:
    """The axes along which claims compare values."""
    return frozenset(axis for claim in experiment.claims for axis in claim.along) - {"engine"}


def _runs(units: Sequence[Unit]) -> list[tuple[Run, ...]]:
    return [unit.runs for unit in units]


def _runs_of(hand: Sequence[Unit]) -> Iterator[Run]:
    for unit in hand:
        yield from unit.runs


def _part(whole: Plan, keys: Sequence[str], *, sweep_id: str) -> Plan:
    wanted = set(keys)
    runs = tuple(run for run in whole.runs if run_key(run) in wanted)
    if unknown := wanted - {run_key(run) for run in runs}:
        raise UsageError(
            f"no run {min(unknown)} in the plan of sweep {sweep_id}: its experiment, its workloads or "
            "its engines' builds are others here, or have changed since it was submitted",
            where="run-point",
            remedy="submit the sweep again: kvdyno run … --runner slurm",
        )
    needed = {run.point.identity for run in runs}
    return replace(whole, runs=runs, points=tuple(p for p in whole.points if p.identity in needed))


def _request(submission: Submission) -> Request:
    return Request(
        experiment=submission.experiment,
        profile=submission.profile,
        runner=submission.runner,
        engines=submission.engines,
        only=submission.only,
        exclude=submission.exclude,
        repeat=submission.repeat,
        cache=submission.cache,
    )


def _settings(submission: Submission) -> SweepSettings:
    return SweepSettings(
        uncapped=submission.uncapped,
        cpus=submission.cpus,
        force=submission.force,
        frequency=Frequency(submission.governor, no_turbo=submission.no_turbo),
    )


def _folder(project: Project) -> Path:
    """Where jobs' commands and output are."""
    return project.results / "jobs"
