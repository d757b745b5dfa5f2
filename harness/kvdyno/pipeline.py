"""Wires the stages: from an experiment's name to a plan, to records, to a report. Prints nothing.

Statistics and figures bring libraries that take seconds to import: only who needs them imports them.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pandas as pd

from kvdyno import catalog, doctor, plan, spec
from kvdyno.errors import EngineError, HostError, Interrupted, KvdynoError, SpecError, UsageError
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.experiment import Experiment
from kvdyno.model.image import REMEDY
from kvdyno.model.point import Plan, Point, Run
from kvdyno.model.project import Project
from kvdyno.model.record import CONCLUSIVE, LASTING_FACTS, Record
from kvdyno.model.results import Analysis, Comparison, ReportPaths, Summary
from kvdyno.runner import LocalRunner, Progress, Surveyor, Warden, choose_warden, host_id, tidy
from kvdyno.store import CorruptRecord, RunIndex, RunStore, SweepLock

_TRIAL_CAP_BYTES = 64 << 20


@dataclass(frozen=True)
class Request:
    """What a person asked for. `engines` are labels to keep; `only` and `exclude` are plan patterns."""

    experiment: str
    profile: str = "quick"
    runner: RunnerName = "local"
    engines: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    repeat: int | None = None

    @property
    def partial(self) -> bool:
        """Whether it may leave out a part of the experiment. Fewer repetitions leave nothing out."""
        return bool(self.engines or self.only or self.exclude)


@dataclass(frozen=True)
class Confinement:
    """How a sweep runs: without a cap if told so, on certain CPUs, measuring again what is stored."""

    uncapped: bool = False
    cpus: tuple[int, ...] | None = None
    force: bool = False


@dataclass(frozen=True)
class SweepResult:
    """What a sweep left: records of this plan in its order, and how many of them were measured now."""

    plan: Plan
    records: tuple[Record, ...]
    measured: int
    reused: int


class Observer(Protocol):
    """Who watches a sweep. Called from the sweep's own thread."""

    def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
        """The sweep begins: `total` runs to measure, how they are confined, which leftovers were removed."""

    def load_started(self, run: Run) -> None:
        """A load begins, before the first run or (where a snapshot got lost) inside one."""

    def run_started(self, run: Run, *, number: int) -> None:
        """A run begins; runs count from 1."""

    def progress(self, progress: Progress) -> None:
        """The driver tells how far it is."""

    def run_ended(self, record: Record) -> None:
        """A run's record (or a load's) is stored."""


def make_plan(project: Project, request: Request) -> tuple[Mapping[str, Engine], Plan]:
    """Discover the engines, check the experiment, resolve its points. Nothing runs but `--describe`."""
    engines = catalog.discover(project, runner=request.runner)
    with _worded_for(request.runner):
        experiment = spec.load_experiment(
            request.experiment,
            project=project,
            catalog=engines,
            profile=request.profile,
            engines=request.engines or None,
        )
    whole = plan.make_plan(experiment, catalog=engines, project=project)
    if request.runner == "docker":
        _demand_images(whole)
    return engines, plan.select(whole, only=request.only, exclude=request.exclude, repeat=request.repeat)


@contextlib.contextmanager
def _worded_for(runner: RunnerName) -> Iterator[None]:
    """What is missing for Docker is an image."""
    try:
        yield
    except EngineError as error:
        if runner != "docker":
            raise
        raise EngineError(error.message, where=error.where, remedy=REMEDY) from error


def _demand_images(whole: Plan) -> None:
    for point in whole.points:
        if point.engine.external:
            raise UsageError(
                f"{point.axes['engine']} cannot be run by docker: an upstream ycsb has no image",
                where="--runner",
                remedy="choose other engines with --engines",
            )


def stored(project: Project, whole: Plan, *, uncapped: bool = False) -> Mapping[str, Record]:
    """The records of this plan's runs on this host, by run name: the latest, but a conclusive one if any.

    They bear the plan's names, whatever they were called when they were measured.
    """
    return _by_run(whole, (r for r in _records(project, whole) if r.runner.capped != uncapped))


def reusable(project: Project, whole: Plan, *, how: Confinement) -> Mapping[str, Record]:
    """Those that need not be measured again: conclusive, and of the conditions that hold now."""
    if how.force:
        return {}
    facts = Surveyor(project).survey().facts
    cpus = ",".join(map(str, sorted(how.cpus or os.sched_getaffinity(0))))
    points = {point.identity: point for point in whole.points}
    fitting = (
        record
        for record in _records(project, whole)
        if record.runner.capped != how.uncapped
        and record.runner.cpus == cpus
        and all(record.environment.facts.get(name) == facts.get(name) for name in LASTING_FACTS)
        and _conclusive(record, points[record.point.identity])
    )
    return _by_run(whole, fitting)


def _records(project: Project, whole: Plan) -> Iterator[Record]:
    identities = {point.identity for point in whole.points}
    return RunStore(project.runs).records(identities=identities, host_id=host_id())


def _by_run(whole: Plan, records: Iterable[Record]) -> Mapping[str, Record]:
    """The record of each run, by the run's name: the latest, but a conclusive one if any."""
    points = {point.identity: point for point in whole.points}
    best: dict[tuple[str, int], Record] = {}
    for record in records:
        point = points[record.point.identity]
        key = point.identity, record.repetition
        if _conclusive(record, point) or key not in best or not _conclusive(best[key], point):
            best[key] = _named(record, point)
    found = {run.name: best.get((run.point.identity, run.repetition)) for run in whole.runs}
    return {name: record for name, record in found.items() if record}


def _conclusive(record: Record, point: Point) -> bool:
    """Whether the run itself is to blame for its end, and would end so again."""
    if record.failure and record.failure.inherited:
        return False
    if record.status == "timeout" and record.point.timeout_seconds < point.timeout_seconds:
        return False
    return record.status in CONCLUSIVE


def _named(record: Record, point: Point) -> Record:
    """The record under the plan's names, which are no part of the identity."""
    names = {
        "slug": point.slug,
        "preset": point.preset,
        "label": str(point.axes["engine"]),
        "axes": point.axes,
    }
    return record.model_copy(update={"point": record.point.model_copy(update=names)})


def remaining(whole: Plan, records: Mapping[str, Record]) -> Plan:
    """The plan without the runs that `records` hold."""
    runs = tuple(run for run in whole.runs if run.name not in records)
    left = {run.point.identity for run in runs}
    points = tuple(point for point in whole.points if point.identity in left)
    return replace(whole, runs=runs, points=points)


def corrupt(project: Project, whole: Plan) -> tuple[CorruptRecord, ...]:
    """Records of this plan that cannot be read."""
    return RunStore(project.runs).corrupt_records(identities={point.identity for point in whole.points})


def sweep(project: Project, whole: Plan, *, how: Confinement, observer: Observer) -> SweepResult:
    """Measure what is not stored yet, in the plan's order; every run ends in a record.

    Raises BusyError if another sweep holds this machine, HostError if the machine lacks what is needed,
    EngineError if an engine was built anew since it was planned, Interrupted on Ctrl-C; what was finished is
    stored in any case.
    """
    with SweepLock(project.root), _resumable(force=how.force):
        store = RunStore(project.runs)
        store.clean()
        records = dict(reusable(project, whole, how=how))
        reused = len(records)
        todo = [(order, run) for order, run in enumerate(whole.runs, 1) if run.name not in records]
        with LocalRunner(
            project,
            sweep_id=new_sweep_id(),
            loads=_WatchedLoads(store, observer),
            uncapped=how.uncapped,
            cpus=how.cpus,
            runners={point.engine.runner for point in whole.points},
        ) as runner:
            observer.started(len(todo), confined=runner.confinement, removed=runner.removed_leftovers)
            runner.prepare(todo, progress=observer.progress, force_snapshots=how.force)
            for number, (order, run) in enumerate(todo, 1):
                _demand_same_build(run.point.engine)
                observer.run_started(run, number=number)
                run_dir = store.begin(run)
                record = runner.execute(
                    run, run_dir=run_dir, order=order, progress=observer.progress, force_snapshot=how.force
                )
                store.commit(record, run_dir=run_dir)
                records[run.name] = record
                observer.run_ended(record)
    ordered = tuple(records[run.name] for run in whole.runs)
    return SweepResult(plan=whole, records=ordered, measured=len(todo), reused=reused)


def _demand_same_build(engine: Engine) -> None:
    """The plan's identities speak of the build that was hashed for them."""
    if catalog.is_current(engine):
        return
    raise EngineError(
        "rebuilt during the sweep; what was finished is stored",
        where=str(engine.binary),
        remedy="run the same command again: it measures the new build",
    )


@contextlib.contextmanager
def _resumable(*, force: bool) -> Iterator[None]:
    """Whenever a sweep is stopped, it says how to go on."""
    remedy = (
        "run the same command without --force: it measures only what is not stored; with it, all again"
        if force
        else "run the same command again: it goes on where it stopped"
    )
    try:
        yield
    except (KeyboardInterrupt, Interrupted) as stop:
        said = stop.message if isinstance(stop, Interrupted) else "stopped; what was finished is stored"
        raise Interrupted(said, remedy=remedy) from None


def analyse(project: Project, whole: Plan, *, records: Iterable[Record]) -> Analysis:
    """All that these records say of this plan."""
    from kvdyno import analysis

    store = RunStore(project.runs)
    found = list(records)
    run_dirs = {record.run_id: store.run_dir(record) for record in found}
    return analysis.analyse(whole.experiment, whole, found, run_dirs=run_dirs)


def write_report(
    project: Project,
    found: Analysis,
    experiment: Experiment,
    *,
    commands: Sequence[str],
    partial: bool = False,
    uncapped: bool = False,
) -> ReportPaths:
    """Figures, tables and the HTML page, under results/reports/<experiment>-<profile>[-partial][-uncapped]/.

    A partial or uncapped look never takes the place of the whole one; what an earlier report has left in the
    same folder goes.
    """
    from kvdyno import report

    words = (experiment.name, experiment.profile.name, "partial" * partial, "uncapped" * uncapped)
    out = project.reports / "-".join(filter(None, words))
    paths = report.write_report(found, experiment, out=out, commands=commands)
    _remove_stale({*paths.figures, *paths.tables}, folders=(out / "figures", out / "tables"))
    return paths


def _remove_stale(written: Container[Path], *, folders: Iterable[Path]) -> None:
    """Only then is all that lies beside a page also in it."""
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file()):
        if path not in written:
            path.unlink()


def summarise(found: Analysis) -> Summary:
    """The few lines that matter most."""
    from kvdyno import report

    return report.summarise(found)


def compare(project: Project, before: str, after: str) -> Comparison:
    """Two sets of records, point by point. A set is a sweep's id, an engine's label, or a results folder."""
    from kvdyno import analysis

    return analysis.compare(_record_set(project, before), _record_set(project, after))


def _record_set(project: Project, name: str) -> list[Record]:
    every = list(RunStore(project.runs).records())
    chosen = [r for r in every if name in (r.sweep_id, r.point.label)]
    if not chosen and Path(name).is_dir():
        chosen = list(RunStore(Path(name) / project.runs.name).records())
    if not chosen:
        known = sorted({r.sweep_id for r in every} | {r.point.label for r in every})
        raise UsageError(
            f"no records of {name!r}: expected a sweep, an engine's label or a results folder",
            where="kvdyno compare",
            remedy=f"known: {', '.join(known) or 'none yet; run an experiment first'}",
        )
    return chosen


def clean(project: Project, *, snapshots: bool) -> tuple[str, ...]:
    """Remove what killed sweeps left and, if asked, the snapshots; returns names. Records stay."""
    with SweepLock(project.root):
        store = RunStore(project.runs)
        removed = [str(path) for path in store.clean()]
        with contextlib.closing(_any_warden()) as warden:
            removed += tidy(project, wardens=(warden,), snapshots=snapshots)
        return tuple(removed)


def _any_warden() -> Warden:
    """No cap is needed to tidy up; where cgroups can be made, leftover ones are removed too."""
    try:
        return choose_warden(new_sweep_id())
    except HostError:
        return choose_warden(new_sweep_id(), uncapped=True)


def examine(project: Project, *, runner: RunnerName = "local") -> tuple[doctor.Finding, ...]:
    """What this machine lacks for fair measurements; a small cap is tried out and taken away again."""
    confinement: str | HostError
    engines: Collection[str] | KvdynoError
    try:
        warden = choose_warden(new_sweep_id(), runner=runner)
        with contextlib.closing(warden), warden.cage(cap_bytes=_TRIAL_CAP_BYTES):
            confinement = f"{warden.kind}: {warden.why}"
    except HostError as refusal:
        confinement = refusal
    try:
        engines = dict(catalog.discover(project, runner=runner))  # so that each is looked at
    except (EngineError, SpecError, HostError) as refusal:
        engines = refusal
    return doctor.examine(
        project,
        environment=Surveyor(project).survey(),
        confinement=confinement,
        engines=engines,
        docker=_docker_facts(),
        runner=runner,
    )


def _docker_facts() -> Mapping[str, object] | HostError:
    from kvdyno.runner.docker import docker_facts

    try:
        return docker_facts()
    except HostError as refusal:
        return refusal


def query(project: Project, sql: str, *, records: Iterable[Record]) -> pd.DataFrame:
    """The answer to a question about the table `metrics` of these records, which become the index."""
    index = RunIndex(project.runs / "index.parquet")
    index.rebuild(records)
    return index.query(sql)


class _WatchedLoads:
    """The store as the runner sees it for loads, with the observer told."""

    def __init__(self, store: RunStore, observer: Observer) -> None:
        self._store = store
        self._observer = observer

    def begin(self, run: Run) -> Path:
        self._observer.load_started(run)
        return self._store.begin(run)

    def commit(self, record: Record, *, run_dir: Path) -> None:
        self._store.commit(record, run_dir=run_dir)
        self._observer.run_ended(record)


def new_sweep_id(now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)) -> str:
    """Sorts by time, and is unique."""
    return f"{now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
