"""A sweep: measures what is not stored yet, and informs an observer."""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kvdyno import catalog
from kvdyno.errors import EngineError, Interrupted
from kvdyno.model.engine import Engine
from kvdyno.model.point import Plan, Run
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.sweep import sweep_of
from kvdyno.runner import Progress, Runner, frequency_set, restore_frequency
from kvdyno.store import RunStore, SweepStore, make_folder

from .excluded import demand_counted
from .locking import sweep_lock
from .planning import demand_memory
from .reuse import SweepSettings, reusable


@dataclass(frozen=True)
class SweepResult:
    """What a sweep left: records of this plan in its order, and how many of them were measured now."""

    plan: Plan
    records: tuple[Record, ...]
    measured: int
    reused: int


class Observer(Protocol):
    """Who watches a sweep. Called from the sweep's own thread."""

    def waiting(self, holder: str) -> None:
        """The sweep waits for another one, whose holder is described."""

    def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
        """The sweep begins: `total` runs to measure, how they are confined, which leftovers were removed."""

    def load_started(self, run: Run) -> None:
        """A load begins, before the first run or (where a snapshot got lost) inside one."""

    def run_started(self, run: Run, *, number: int) -> None:
        """A run begins; runs count from 1."""

    def progress(self, progress: Progress) -> None:
        """The driver reports how far it is."""

    def run_ended(self, record: Record) -> None:
        """A run's record (or a load's) is stored."""


def sweep(
    project: Project,
    whole: Plan,
    *,
    how: SweepSettings,
    observer: Observer,
    wait: bool = False,
    sweep_id: str | None = None,
    known: Callable[[], Mapping[str, Record]] | None = None,
    unneeded: Collection[str] = (),
) -> SweepResult:
    """Measure what is not stored yet, in the plan's order; every run ends in a record.

    `sweep_id` is that of a sweep which goes on with this plan; without it, this is one of its own. `known`
    returns the records that need not be measured again, by run name; without it, those that `reusable` finds.
    `unneeded` are identities of snapshots that are removed first.
    Folders and CPUs are checked first. With `wait`, it then begins when other sweeps have ended. Raises
    BusyError if another sweep holds this machine, StoreError if records or reports cannot be written,
    HostError if the machine is excluded or lacks what is needed, EngineError if an engine was rebuilt since
    it was planned, Interrupted on Ctrl-C; what was finished is stored in any case.
    """
    demand_counted(project)
    demand_memory(whole, uncapped=how.uncapped)
    for folder in (project.runs, project.reports):
        make_folder(folder)
    store = RunStore(project.runs)
    sweep_id = sweep_id or new_sweep_id()
    runner = Runner(
        project,
        sweep_id=sweep_id,
        loads=_WatchedLoads(store, observer),
        uncapped=how.uncapped,
        cpus=how.cpus,
        runners={point.engine.runner for point in whole.points},
    )
    lock = sweep_lock(project, waiting=observer.waiting if wait else None)
    with _resumable(force=how.force), lock:
        store.clean()
        restored = restore_frequency()
        records = dict(known() if known else reusable(project, whole, how=how))
        reused = len(records)
        todo = [(order, run) for order, run in enumerate(whole.runs, 1) if run.name not in records]
        if todo:
            SweepStore(project.sweeps).keep(sweep_of(whole, sweep_id=sweep_id))
        held = frequency_set(how.frequency, sweep_id=sweep_id) if todo else contextlib.nullcontext()
        with held, runner:
            removed = (*restored, *runner.removed_leftovers)
            observer.started(len(todo), confined=runner.confinement, removed=removed)
            runner.remove_snapshots(unneeded)
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
    """Whenever a sweep is stopped, its message explains how to go on."""
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


class _WatchedLoads:
    """The store as the runner sees it for loads, with the observer informed."""

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
