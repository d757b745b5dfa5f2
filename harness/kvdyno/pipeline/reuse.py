"""Which records of a plan are stored, and which runs need not be measured again."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kvdyno.model.exclusion import LeftOut
from kvdyno.model.point import Plan, Point, Run
from kvdyno.model.project import Project
from kvdyno.model.record import CONCLUSIVE, LASTING_FACTS, Record
from kvdyno.plan import blocks_of
from kvdyno.runner import Frequency, Surveyor, host_id
from kvdyno.store import CorruptRecord, RunStore

from .excluded import counted_records, split

#: In which stretch each record was measured, by sweep_id and run_id (analysis/drift.py).
Stretches = Mapping[tuple[str, str], int]
_ONE_STRETCH: Stretches = MappingProxyType({})


@dataclass(frozen=True)
class SweepSettings:
    """How a sweep runs: uncapped, on certain CPUs, at certain frequencies, measuring again what is stored.

    With `earliest`, a block that several sweeps measured is that of the first one, not of the latest, and one
    that a step of its host split is kept: what was decided from records is decided alike when a study or a
    search is started again, whatever was measured since.
    """

    uncapped: bool = False
    cpus: tuple[int, ...] | None = None
    force: bool = False
    earliest: bool = False
    frequency: Frequency = field(default_factory=Frequency)


@dataclass(frozen=True)
class Conditions:
    """What holds now, and must have held for a record that is not measured again."""

    host_id: str
    capped: bool
    cpus: str
    facts: Mapping[str, object]

    @classmethod
    def here(cls, project: Project, *, how: SweepSettings) -> Conditions:
        """This machine's, as it is now."""
        return cls(
            host_id=host_id(),
            capped=not how.uncapped,
            cpus=",".join(map(str, sorted(how.cpus or os.sched_getaffinity(0)))),
            facts={**Surveyor(project).survey().facts, **how.frequency.facts},
        )

    def difference(self, record: Record) -> str:
        """The first thing that was different for the record; "" if nothing was."""
        if record.environment.host_id != self.host_id:
            return "another host"
        if record.runner.capped != self.capped:
            return "capped" if record.runner.capped else "uncapped"
        if record.runner.cpus != self.cpus:
            return f"CPUs {record.runner.cpus}, now {self.cpus}"
        then = record.environment.facts
        names = (name for name in LASTING_FACTS if then.get(name) != self.facts.get(name))
        return next((f"{name} {then.get(name)}, now {self.facts.get(name)}" for name in names), "")


@dataclass(frozen=True)
class Reuse:
    """What need not be measured again: `records` by run name.

    `partnerless` names the runs that have a record, but are measured again with the rest of their block;
    `split` those of whole blocks that are measured again because a gauge of their host stepped within them.
    """

    records: Mapping[str, Record]
    partnerless: tuple[str, ...]
    split: tuple[str, ...] = ()


def stored(project: Project, whole: Plan, *, uncapped: bool = False) -> Mapping[str, Record]:
    """The records of this plan's runs by run name: on this host or, if it has none, on the latest that has;
    and on the hosts that shared a sweep with that one. Excluded hosts have none (excluded.py).

    A block's are those of one host in the latest sweep that measured all of it conclusively, between two
    steps of the host if any did. Without such a sweep they are each run's latest, but a conclusive one if
    any. They bear the plan's names, whatever they were called when they were measured.
    """
    identities = {identity for point in whole.points for identity in point.identities}
    fitting = [r for r in counted_records(project, identities=identities) if r.runner.capped != uncapped]
    hosts = [r.environment.host_id for r in fitting]
    latest = max(fitting, key=_age, default=None)
    host = host_id() if host_id() in hosts or latest is None else latest.environment.host_id
    sweeps = {record.sweep_id for record in fitting if record.environment.host_id == host}
    shared = {record.environment.host_id for record in fitting if record.sweep_id in sweeps}
    return chosen(whole, (record for record in fitting if record.environment.host_id in shared))


def left_out(project: Project, whole: Plan, *, beside: Collection[Record]) -> tuple[LeftOut, ...]:
    """The excluded hosts that measured runs of this plan, and how many: confined as those `beside` are, which
    count, or in any way if none do.
    """
    confined = {record.runner.capped for record in beside} or {True, False}
    identities = {identity for point in whole.points for identity in point.identities}
    of_run = _by_run(whole, RunStore(project.runs).records(identities=identities))
    records = (record for found in of_run.values() for record in found)
    return split(project, (record for record in records if record.runner.capped in confined))[1]


def chosen(whole: Plan, records: Iterable[Record]) -> Mapping[str, Record]:
    """One of these records for each run that has any, by the run's name (see `stored`)."""
    candidates = _by_run(whole, records)
    stretches = _stretches(candidates)
    found: dict[str, Record] = {}
    for block in blocks(whole):
        found |= (
            _of_one_sweep(block, candidates, stretches=stretches)
            or _of_one_sweep(block, candidates)
            or {run.name: _best(candidates[run.name], run.point) for run in block if run.name in candidates}
        )
    return _in_plan_order(whole, found)


def complete(whole: Plan, units: Iterable[Sequence[Run]], records: Iterable[Record]) -> Mapping[str, Record]:
    """The records of those units of runs that one host measured as a whole, conclusively, in one sweep, and
    without a step of its gauges within them.
    """
    candidates = _by_run(whole, records)
    stretches = _stretches(candidates)
    found: dict[str, Record] = {}
    for unit in units:
        found |= _of_one_sweep(unit, candidates, stretches=stretches)
    return _in_plan_order(whole, found)


def look_up(project: Project, whole: Plan, *, how: SweepSettings) -> Reuse:
    """The records that need not be measured again.

    They are conclusive, of the conditions that hold now, and of a block that one sweep measured as a whole,
    without a step of the host's gauges within it: contenders are compared within a sweep and a stretch.
    """
    if how.force:
        return Reuse({}, ())
    now = Conditions.here(project, how=how)
    identities = {point.identity for point in whole.points}
    fitting = (
        record
        for record in counted_records(project, identities=identities, host_id=now.host_id)
        if not now.difference(record)
    )
    candidates = _by_run(whole, fitting)
    stretches = _ONE_STRETCH if how.earliest else _stretches(candidates)
    found: dict[str, Record] = {}
    partnerless: list[str] = []
    cut: list[str] = []
    for block in blocks(whole):
        together = _of_one_sweep(block, candidates, stretches=stretches, earliest=how.earliest)
        found |= together
        if not together:
            again = cut if _of_one_sweep(block, candidates) else partnerless
            again += [run.name for run in block if _has_conclusive(run, candidates)]
    return Reuse(_in_plan_order(whole, found), tuple(partnerless), tuple(cut))


def reusable(project: Project, whole: Plan, *, how: SweepSettings) -> Mapping[str, Record]:
    """The records that need not be measured again (`look_up`)."""
    return look_up(project, whole, how=how).records


def _by_run(whole: Plan, records: Iterable[Record]) -> Mapping[str, list[Record]]:
    """The records of each run, by the run's name, under the plan's names.

    A record is a run's if point, repetition, load and seed are the same. Records of older versions have load
    1 and no seed: they are those of drivers that take none.
    """
    runs = {
        (identity, run.repetition, run.load, run.seed): run
        for run in whole.runs
        for identity in run.point.identities
    }
    found: dict[str, list[Record]] = {}
    for record in records:
        run = runs.get((record.point.identity, record.repetition, record.load, record.seed))
        if run is not None:
            found.setdefault(run.name, []).append(_named(record, run.point))
    return found


def _stretches(candidates: Mapping[str, Sequence[Record]]) -> Stretches:
    """The stretch of each record: between which steps of its host's gauges, which no result moves."""
    records = [record for found in candidates.values() for record in found]
    if not records:
        return {}
    from kvdyno.analysis.drift import stretches  # brings libraries that take seconds to import

    return stretches(records)


def blocks(whole: Plan) -> list[list[Run]]:
    """The runs of each repetition of comparable points."""
    numbers = {p.identity: number for number, block in enumerate(blocks_of(whole.points)) for p in block}
    found: dict[tuple[int, int], list[Run]] = {}
    for run in whole.runs:
        found.setdefault((run.repetition, numbers[run.point.identity]), []).append(run)
    return list(found.values())


def _of_one_sweep(
    block: Sequence[Run],
    candidates: Mapping[str, Sequence[Record]],
    *,
    stretches: Stretches = _ONE_STRETCH,
    earliest: bool = False,
) -> Mapping[str, Record]:
    """Conclusive records of all the block's runs, of one host, as it was, in the latest sweep that has them,
    or the earliest; none if none has. With `stretches`, all lie in one.
    """
    by_run = [
        {
            (
                *(r.sweep_id, r.environment.host_id, stretches.get((r.sweep_id, r.run_id), 0)),
                *(str(r.environment.facts.get(name)) for name in LASTING_FACTS),
            ): r
            for r in candidates.get(run.name, ())
            if is_conclusive(r, run.point)
        }
        for run in block
    ]
    shared = set.intersection(*(set(places) for places in by_run))
    if not shared:
        return {}
    choose = min if earliest else max
    place = choose(shared, key=lambda each: max(_age(places[each]) for places in by_run))
    return {run.name: places[place] for run, places in zip(block, by_run, strict=True)}


def _age(record: Record) -> tuple[str, str]:
    """Later ones are greater: by the sweep, whose id is from one clock, before the clocks of hosts."""
    return record.sweep_id.partition("-")[0], record.started_at


def _best(records: Sequence[Record], point: Point) -> Record:
    """The latest, but a conclusive one if any."""
    conclusive = [record for record in records if is_conclusive(record, point)]
    return (conclusive or records)[-1]


def _has_conclusive(run: Run, candidates: Mapping[str, Sequence[Record]]) -> bool:
    return any(is_conclusive(record, run.point) for record in candidates.get(run.name, ()))


def _in_plan_order(whole: Plan, found: Mapping[str, Record]) -> Mapping[str, Record]:
    return {run.name: found[run.name] for run in whole.runs if run.name in found}


def is_conclusive(record: Record, point: Point) -> bool:
    """Whether the run itself is to blame for its end, and would end so again."""
    if record.failure and record.failure.inherited:
        return False
    if record.status == "timeout" and record.point.timeout_seconds < point.timeout_seconds:
        return False
    return record.status in CONCLUSIVE


def _named(record: Record, point: Point) -> Record:
    """The record under the plan's names and identity; what else it was asked for stays."""
    names = {
        "identity": point.identity,
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
    return RunStore(project.runs).corrupt_records(
        identities={identity for point in whole.points for identity in point.identities}
    )
