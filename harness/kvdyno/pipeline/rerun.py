"""A stored run once more: the same point and repetition, and what differs this time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kvdyno.errors import EngineError, StoreError
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.sweep import Sweep
from kvdyno.store import SweepStore

from .planning import Request, make_plan
from .reuse import SweepSettings
from .sweep import Observer, sweep

#: Facts of the moment, which differ between any two runs.
_OF_THE_MOMENT = ("load.", "memory.available", "memory.swap_free", "disk.free")


@dataclass(frozen=True)
class Difference:
    """Something other than results that is not as it was. None: it is not there."""

    name: str
    before: object
    now: object


@dataclass(frozen=True)
class Rerun:
    """A run and its repetition: two records, and all that differs but results."""

    before: Record
    again: Record
    differences: tuple[Difference, ...]


def plan_again(project: Project, record: Record) -> Plan:
    """The plan of this one run, with the experiment and the engines as they are now.

    Raises StoreError if nothing is stored of the run's sweep, EngineError if the experiment no longer has
    the point, and what `make_plan` raises.
    """
    request = request_of(sweep_of(project, record), record)
    _, whole = make_plan(project, request)
    name = f"{record.point.slug}.r{record.repetition}"
    for run in whole.runs:
        if run.name == name:
            return replace(whole, points=(run.point,), runs=(run,))
    commit = record.environment.facts.get("kvdyno.commit")
    raise EngineError(
        f"expected the record's point, {record.point.slug}, found none: the experiment has changed",
        where=str(whole.experiment.path),
        remedy=f"git checkout {commit}" if commit else "measure with the sources of then",
    )


def rerun(project: Project, whole: Plan, record: Record, *, observer: Observer, wait: bool = False) -> Rerun:
    """Measure the run of `plan_again` once more, confined as it was; raises what `sweep` raises."""
    how = SweepSettings(uncapped=not record.runner.capped, cpus=_cpus(record), force=True)
    (again,) = sweep(project, whole, how=how, observer=observer, wait=wait).records
    return Rerun(record, again, tuple(differences(record, again)))


def differences(before: Record, again: Record) -> Iterator[Difference]:
    """What is not alike: the build, what was asked, how the run was confined, the machine."""
    then, now = _conditions(before), _conditions(again)
    for name in dict.fromkeys((*then, *now)):
        if then.get(name) != now.get(name):
            yield Difference(name, then.get(name), now.get(name))


def _conditions(record: Record) -> Mapping[str, object]:
    point, runner = record.point, record.runner
    facts = {
        name: value for name, value in record.environment.facts.items() if not name.startswith(_OF_THE_MOMENT)
    }
    return {
        "engine.build": point.binary_sha256[:12],
        "engine.version": record.outcome.engine.version if record.outcome else None,
        "seed": record.seed,
        "load": record.load,
        "cap": point.cap_bytes,
        "phases": " ".join(point.phases),
        **{f"property {name}": text for name, text in point.properties.items()},
        "runner": runner.name,
        "runner.capped": runner.capped,
        "runner.cpus": runner.cpus,
        "host": record.environment.host_id,
        **facts,
    }


def sweep_of(project: Project, record: Record) -> Sweep:
    """The sweep that made the record. Raises StoreError if its file is not there."""
    found = SweepStore(project.sweeps).find(record.sweep_id)
    if found is None:
        raise StoreError(
            "expected the file of the run's sweep, which names its experiment, found none",
            where=str(project.sweeps / f"{record.sweep_id}.json"),
            remedy=f"copy it together with the records, or: kvdyno run EXPERIMENT --force --only "
            f"{record.point.slug}",
        )
    return found


def request_of(swept: Sweep, record: Record) -> Request:
    """What a person would ask for to measure the record's engine again."""
    runners = {each.binary_sha256: each.as_engine().runner for each in swept.engines.values()}
    return Request(
        experiment=swept.experiment,
        profile=swept.profile,
        runner=runners.get(record.point.binary_sha256, "local"),
        engines=(record.point.label,),
        repeat=max(record.repetition, record.repetitions_planned or 1),
        cache=swept.cache,
    )


def _cpus(record: Record) -> tuple[int, ...] | None:
    """The run's CPUs, where this machine has them."""
    wanted = {int(cpu) for cpu in record.runner.cpus.split(",") if cpu}
    return tuple(sorted(wanted)) if wanted and wanted <= os.sched_getaffinity(0) else None
