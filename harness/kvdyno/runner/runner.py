"""The local runner: executes the runs of a sweep on this machine, one at a time, each under its cap."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from kvdyno.errors import HostError, Interrupted
from kvdyno.host.owner import is_leftover, locked, owned_name
from kvdyno.model.engine import RunnerName
from kvdyno.model.point import Dataset, Point, Run
from kvdyno.model.project import Project, blocking_file
from kvdyno.model.record import Failure, Record

from .attempt import attempt
from .cache_policy import drop_caches
from .cage import Warden
from .disk import demand_real_disk, needed_bytes, remove_tree
from .draft import Draft, Setting, refusal_for_lack_of_space
from .environment import Surveyor
from .gauges import Gauges
from .imitation import Imitation, demand_accounted_write_back, release
from .loads import Loads, LoadSink
from .snapshots import Snapshot, Snapshots
from .throttle import cannot_limit
from .warden import choose_warden, remove_leftover_containers
from .watch import Progress

# An imitated disk is larger than what a run should need: the file behind it takes only what is written.
_OWN_DISK_ROOM = 4

#: Where snapshots are kept, by whether the loads were uncapped.
_SHELVES = {False: "snapshots", True: "snapshots-uncapped"}


class Runner:
    """Executes runs under caps, as a context: entering looks the machine over, leaving puts it back.

    Only one sweep may run on a machine (who enters holds the sweep lock). `cpus` confines drivers to these
    CPUs; `runners` are those of the engines that will be run. Raises HostError if the data folder cannot be
    made or is in memory, or if a CPU cannot be used; on entering, if caps cannot be enforced and `uncapped`
    was not given.
    """

    def __init__(
        self,
        project: Project,
        *,
        sweep_id: str,
        loads: LoadSink,
        uncapped: bool = False,
        cpus: tuple[int, ...] | None = None,
        runners: Collection[RunnerName] = frozenset({"local"}),
        choose: Callable[..., Warden] = choose_warden,
    ) -> None:
        self._project = project
        self._sweep_id = sweep_id
        self._uncapped = uncapped
        self._cpus = _usable_cpus(cpus)
        _make_data_folder(project.data)
        self._runners = runners
        self._choose = choose
        self._exit = contextlib.ExitStack()
        # A load under the cap and one without it may leave different files: they are not shared.
        self._snapshots = Snapshots(project.data / _SHELVES[uncapped])
        self._work = project.data / "work" / owned_name(sweep_id)
        self._gauges = Gauges(self._work / "gauges")
        self._store = self._work / "store"
        self._imitation = Imitation(self._work / "imitated")
        self._surveyor = Surveyor(project)
        self._loads = Loads(self._snapshots, sink=loads, draft=self._draft)
        self._prepared: set[str] = set()

    def __enter__(self) -> Runner:
        """See the class."""
        with contextlib.ExitStack() as undo:
            wardens = {
                runner: undo.enter_context(
                    contextlib.closing(self._choose(self._sweep_id, uncapped=self._uncapped, runner=runner))
                )
                for runner in self._runners
            }
            undo.enter_context(self._owned_work())
            self._setting = Setting(
                sweep_id=self._sweep_id, wardens=wardens, cpus=self._cpus, gauges=self._gauges
            )
            self.removed_leftovers = remove_leftovers(self._project, wardens=wardens.values())
            self._exit = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what this sweep left, and put the machine back."""
        self._exit.close()

    @property
    def confinement(self) -> str:
        """How runs are confined, once entered, and why so."""
        return "; ".join(f"{each.kind}: {each.why}" for each in self._setting.wardens.values())

    def remove_snapshots(self, identities: Iterable[str]) -> None:
        """Remove these snapshots, as far as they exist."""
        for identity in identities:
            self._snapshots.remove(identity)

    def prepare(
        self,
        runs: Sequence[tuple[int, Run]],
        *,
        progress: Callable[[Progress], None],
        force_snapshots: bool = False,
    ) -> None:
        """Make every snapshot that the runs (with their orders) start from, before the first of them.

        Otherwise the first repetition alone would follow right upon a load. A load that fails is a failure of
        its runs when they are executed. Devices that cannot be held are refused before anything is loaded.
        Raises as `execute` does.
        """
        for _, run in runs:
            with _explained(run):
                self._needs_own_disk(run.point)
        for order, run in runs:
            if run.dataset and run.dataset.identity not in self._prepared:
                self._prepared.add(run.dataset.identity)
                with _explained(run):
                    self._prepare(run, run.dataset, order, progress, force=force_snapshots)

    def execute(
        self,
        run: Run,
        *,
        run_dir: Path,
        order: int,
        progress: Callable[[Progress], None],
        force_snapshot: bool = False,
    ) -> Record:
        """Execute one run; its files go to `run_dir`, whose name is the run's id.

        Whatever the driver does ends in a record. The dataset's snapshot is made first if need be (again,
        once, with `force_snapshot`), and the load's record handed to the sink. Raises Interrupted on Ctrl-C,
        after ending the driver; HostError if this machine cannot go on.
        """
        try:
            with _explained(run):
                return self._execute(run, run_dir, order, progress, force_snapshot=force_snapshot)
        finally:
            remove_tree(self._store)

    def _prepare(
        self,
        run: Run,
        dataset: Dataset,
        order: int,
        progress: Callable[[Progress], None],
        *,
        force: bool,
    ) -> None:
        try:
            self._loads.snapshot_of(dataset, run=run, order=order, progress=progress, force=force)
        except HostError as failure:
            if not _is_full_disk(failure):
                raise  # each run's own record reports a full disk

    def _execute(
        self,
        run: Run,
        run_dir: Path,
        order: int,
        progress: Callable[[Progress], None],
        *,
        force_snapshot: bool,
    ) -> Record:
        dataset = run.dataset
        if dataset is None:
            return self._attempt_on_empty_store(self._draft(run, run_dir, order), progress)
        try:
            loaded = self._loads.snapshot_of(
                dataset, run=run, order=order, progress=progress, force=force_snapshot
            )
            draft = self._draft(run, run_dir, order)
            draft.warnings += self._loads.take_flaws(dataset)
            if isinstance(loaded, Record):
                return _inherit_failure(draft, loaded)
            refusal = refusal_for_lack_of_space(draft)
            return refusal or self._attempt_on_copy(draft, loaded, progress)
        except HostError as failure:
            if not _is_full_disk(failure):
                raise
            return self._draft(run, run_dir, order).finish("disk_full", failure=Failure(reason=str(failure)))

    def _attempt_on_empty_store(self, draft: Draft, progress: Callable[[Progress], None]) -> Record:
        refusal = refusal_for_lack_of_space(draft)
        if refusal:
            return refusal
        with self._store_for(draft.run.point) as (store, own_disk):
            store.mkdir(parents=True)
            return attempt(draft, store=store, progress=progress, own_disk=own_disk)

    def _attempt_on_copy(
        self, draft: Draft, snapshot: Snapshot, progress: Callable[[Progress], None]
    ) -> Record:
        point = draft.run.point
        with self._store_for(point) as (store, own_disk):
            # No file is linked into another file system.
            write_once = () if own_disk else point.engine.description.engine.write_once_files
            snapshot.lay_out(
                store, write_once=write_once, read_first=point.cache != "cold", progress=progress
            )
            draft.details["snapshot"] = {
                "bytes": snapshot.bytes,
                "copied_bytes": snapshot.copied_bytes(write_once),
            }
            draft.details["cache_policy"] = point.cache
            if point.cache == "cold":
                draft.details["caches_dropped"] = drop_caches()
            record = attempt(draft, store=store, progress=progress, own_disk=own_disk)
        difference = snapshot.first_difference(checksums=False, progress=progress)
        if difference is None:
            return record
        self._snapshots.remove(snapshot.manifest.identity)
        warning = f"the run changed a file of its snapshot, which was removed: {difference}"
        return record.model_copy(update={"warnings": (*record.warnings, warning)})

    @contextlib.contextmanager
    def _owned_work(self) -> Iterator[None]:
        """The work folder, locked for the whole sweep."""
        self._work.mkdir(parents=True)
        try:
            with locked(self._work):
                yield
        finally:
            remove_tree(self._work)

    @contextlib.contextmanager
    def _store_for(self, point: Point) -> Iterator[tuple[Path, bool]]:
        """Where the run's store goes, not made yet, and whether that is on a disk of its own."""
        if not self._needs_own_disk(point):
            yield self._store, False
            return
        with self._imitation.disk(size=_OWN_DISK_ROOM * needed_bytes(point.expected_disk_bytes)) as disk:
            yield disk / "store", True

    def _needs_own_disk(self, point: Point) -> bool:
        """Whether rates can be held on an imitated disk alone. Raises HostError if they cannot at all."""
        if point.device is None:
            return False
        warden = self._setting.wardens[point.engine.runner]
        if warden.kind == "none":
            raise cannot_limit("nothing is confined", where="--uncapped")
        if not point.device.holds_writes:
            return False
        if warden.binds_write_back:
            demand_accounted_write_back(self._project.data)
            return False
        self._imitation.demand()
        return True

    def _draft(self, run: Run, run_dir: Path, order: int) -> Draft:
        return Draft(
            run=run,
            run_dir=run_dir,
            data=self._project.data,
            order=order,
            setting=self._setting,
            environment=self._surveyor.survey(),
        )


def remove_leftovers(
    project: Project, *, wardens: Iterable[Warden], snapshots: bool = False
) -> tuple[str, ...]:
    """Remove what killed sweeps left and, if asked, every snapshot; returns names. Raises HostError.

    Processes go first, then the files that they may still have written. Only the holder of the sweep lock
    may do this.
    """
    removed = [name for warden in wardens for name in warden.remove_leftovers()]
    removed += remove_leftover_containers()
    for folder in sorted((project.data / "work").glob("*")):
        if is_leftover(folder.name, folder=folder):
            release(folder)
            remove_tree(folder)
            removed.append(folder.name)
    for shelf in (Snapshots(project.data / name) for name in _SHELVES.values()):
        removed += shelf.remove_partial()
        removed += shelf.remove_all() if snapshots else ()
    return tuple(removed)


@contextlib.contextmanager
def _explained(run: Run) -> Iterator[None]:
    """Ctrl-C and what the system refuses, in this project's words."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"stopped during {run.name}; what was finished is stored") from None
    except OSError as failure:
        raise HostError(
            f"{failure.strerror} during {run.name}", where=str(failure.filename or "")
        ) from failure


def _inherit_failure(draft: Draft, load: Record) -> Record:
    reason = load.failure.reason if load.failure else "it left no reason"
    return draft.finish(
        load.status,
        failure=Failure(
            reason=f"its dataset could not be loaded (run {load.run_id}): {reason}",
            log_tail=load.failure.log_tail if load.failure else "",
            inherited=True,
        ),
    )


def _is_full_disk(failure: HostError) -> bool:
    cause = failure.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)


def _make_data_folder(folder: Path) -> None:
    """Raises HostError, also if it is in memory."""
    remedy = "set --data or KVDYNO_DATA to a folder that you may write"
    if blocking := blocking_file(folder):
        raise HostError(
            f"cannot make the data folder: expected a folder at {blocking}, found a file",
            where=str(folder),
            remedy=remedy,
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise HostError(
            f"cannot make the data folder: {failure.strerror}",
            where=str(folder),
            remedy=remedy,
        ) from failure
    demand_real_disk(folder)


def _usable_cpus(asked: tuple[int, ...] | None) -> tuple[int, ...]:
    """The CPUs asked for, or all that this process may use. Raises HostError."""
    usable = os.sched_getaffinity(0)
    beyond = sorted(set(asked or ()) - usable)
    if beyond:
        raise HostError(
            f"CPU {beyond[0]} cannot be used",
            where="--cpus",
            remedy=f"choose among {','.join(map(str, sorted(usable)))}",
        )
    return tuple(sorted(asked or usable))
