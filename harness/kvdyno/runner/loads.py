"""Loads: the snapshots that runs start from, each made once in a sweep, under the same cap as its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kvdyno.model.experiment import DEFAULT_CACHE
from kvdyno.model.point import Dataset, Point, Run
from kvdyno.model.record import CONCLUSIVE, Failure, Record

from .attempt import attempt
from .disk import first_special_file
from .draft import Draft, refusal_for_lack_of_space
from .snapshots import Snapshot, Snapshots
from .watch import Progress


class LoadSink(Protocol):
    """Where the records of loads go: the store, seen from here."""

    def begin(self, run: Run) -> Path:
        """A new, empty folder for the run."""

    def commit(self, record: Record, *, run_dir: Path) -> None:
        """Keep the record."""


def load_run(point: Point, dataset: Dataset) -> Run:
    """The load of a dataset as a run of its own, under the same cap as the point that needs it.

    The disk is not held to anything: how fast it is does not change what is loaded.
    """
    axes = {name: point.axes[name] for name in ("engine", "preset", "dataset", "age") if name in point.axes}
    phases = ("load", "settle", *(("age", "age-settle") if dataset.age else ()))
    load = replace(
        point,
        slug=f"{dataset.slug}.load",
        identity=dataset.identity,
        axes=axes,
        properties=dataset.properties,
        phases=tuple(phase for phase in phases if phase in point.engine.description.phases),
        dataset=None,
        device=None,
        other_loads=(),
        cache=DEFAULT_CACHE,
        recovery=None,
    )
    return Run(point=load, repetition=1, load=dataset.load, seed=dataset.seed)


class Loads:
    """What a sweep has loaded, and what it could not load. `draft` begins a run's record."""

    def __init__(
        self, snapshots: Snapshots, *, sink: LoadSink, draft: Callable[[Run, Path, int], Draft]
    ) -> None:
        self._snapshots = snapshots
        self._sink = sink
        self._draft = draft
        self._failed: dict[str, Record] = {}
        self._failed_once: set[str] = set()
        self._forced: set[str] = set()
        self._flaws: dict[str, list[str]] = {}

    def snapshot_of(
        self,
        dataset: Dataset,
        *,
        run: Run,
        order: int,
        progress: Callable[[Progress], None],
        force: bool,
    ) -> Snapshot | Record:
        """The dataset's snapshot, made now if need be; or the record of the load that failed.

        `run` is the one that needs it. With `force` it is made again, once. Raises HostError, OSError.
        """
        identity = dataset.identity
        if identity in self._failed:
            return self._failed[identity]
        if force and identity not in self._forced:
            self._forced.add(identity)
            self._snapshots.remove(identity)
        flaws = self._flaws.setdefault(identity, [])
        existing = self._snapshots.find(identity, report=flaws.append, progress=progress)
        return existing or self._load(dataset, run=run, order=order, progress=progress)

    def take_flaws(self, dataset: Dataset) -> list[str]:
        """Flaws found in its snapshot and not reported yet: for the next run that starts from it."""
        return self._flaws.pop(dataset.identity, [])

    def _load(
        self, dataset: Dataset, *, run: Run, order: int, progress: Callable[[Progress], None]
    ) -> Snapshot | Record:
        load = load_run(run.point, dataset)
        load_dir = self._sink.begin(load)
        draft = self._draft(load, load_dir, order)
        record = refusal_for_lack_of_space(draft) or self._attempt(draft, dataset, progress)
        self._sink.commit(record, run_dir=load_dir)
        if record.status == "ok":
            return self._snapshots.commit(
                dataset.identity, slug=dataset.slug, load_run=record.run_id, progress=progress
            )
        self._snapshots.abandon(dataset.identity)
        # The host's doing, as when a Docker Engine is restarted, is given a second chance.
        if record.status in CONCLUSIVE or dataset.identity in self._failed_once:
            self._failed[dataset.identity] = record
        self._failed_once.add(dataset.identity)
        return record

    def _attempt(self, draft: Draft, dataset: Dataset, progress: Callable[[Progress], None]) -> Record:
        store = self._snapshots.begin(dataset.identity)
        record = attempt(draft, store=store, progress=progress)
        special = first_special_file(store)
        if record.status != "ok" or special is None:
            return record
        reason = (
            f"{special.relative_to(store)}: expected files and folders only in a store that runs start from "
            "copies of, found a link or another special file"
        )
        return record.model_copy(update={"status": "failed", "failure": Failure(reason=reason)})
