"""Which records of a plan are stored, and which runs need not be measured again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kvdyno.model.point import Plan, Point
from kvdyno.model.project import Project
from kvdyno.model.record import CONCLUSIVE, LASTING_FACTS, Record
from kvdyno.runner import Frequency, Surveyor, host_id
from kvdyno.store import CorruptRecord, RunStore


@dataclass(frozen=True)
class Confinement:
    """How a sweep runs: uncapped, on certain CPUs, at certain frequencies, measuring again what is stored."""

    uncapped: bool = False
    cpus: tuple[int, ...] | None = None
    force: bool = False
    frequency: Frequency = field(default_factory=Frequency)


def stored(project: Project, whole: Plan, *, uncapped: bool = False) -> Mapping[str, Record]:
    """The records of this plan's runs on this host, by run name: the latest, but a conclusive one if any.

    They bear the plan's names, whatever they were called when they were measured.
    """
    return _by_run(whole, (r for r in _records(project, whole) if r.runner.capped != uncapped))


def reusable(project: Project, whole: Plan, *, how: Confinement) -> Mapping[str, Record]:
    """Those that need not be measured again: conclusive, and of the conditions that hold now."""
    if how.force:
        return {}
    facts = {**Surveyor(project).survey().facts, **how.frequency.facts}
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
        "device": point.device,
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
