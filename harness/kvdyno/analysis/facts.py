"""Who ran, where and how: distinct contenders, machines and confinements of a set of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kvdyno.model.axes import FULL_SPEED, axis_of
from kvdyno.model.engine import OptionDescription
from kvdyno.model.experiment import AxisValue
from kvdyno.model.options import scale_value, value_text
from kvdyno.model.point import Plan
from kvdyno.model.record import Record
from kvdyno.model.results import Axis, Confinement, Contender, Device, FailedRun, Machine
from kvdyno.model.units import human_bytes

from .frame import axes_of, axis_names, label_of, load_of, point_columns
from .libraries import library_text

# Details that say something of their run alone.
_OF_ONE_RUN = frozenset({"device_binds", "device_held", "phases"})
_RUN = (
    *("point", "run_id", "sweep_id", "repetition", "load"),
    *("order", "started_at", "ended_at", "status", "folder"),
)
_UNITS = {"bytes": "byte", "seconds": "s"}


def contenders(records: Sequence[Record], *, plan: Plan) -> tuple[Contender, ...]:
    """One per label, in the plan's order. Build and options come from the first run that has them."""
    first: dict[str, Record] = {}
    for record in records:
        known = first.setdefault(label_of(record), record)
        if known.outcome is None and record.outcome is not None:
            first[label_of(record)] = record
    labels = dict.fromkeys(str(point.axes["engine"]) for point in plan.points)
    ranks = {label: rank for rank, label in enumerate(labels)}
    ordered = sorted(first, key=lambda label: ranks.get(label, len(ranks)))  # one that was renamed: last
    return tuple(_contender(label, first[label]) for label in ordered)


def runs(
    records: Sequence[Record],
    *,
    axes: Sequence[str],
    units: Mapping[str, str],
    run_dirs: Mapping[str, Path],
) -> pd.DataFrame:
    """`Analysis.runs`; `units` as for point_name."""
    rows = []
    for r in records:
        known = axes_of(r)
        identity = (label_of(r), r.point.engine, r.point.preset, *(known.get(name) for name in axes))
        name = point_name(label_of(r), known, units=units)
        folder = str(run_dirs.get(r.run_id, ""))
        when = (r.order, r.started_at, r.ended_at)
        rows.append(
            (*identity, name, r.run_id, r.sweep_id, r.repetition, load_of(r), *when, r.status, folder)
        )
    return pd.DataFrame(rows, columns=[*point_columns(axes), *_RUN])


def workloads(records: Sequence[Record]) -> dict[AxisValue, dict[str, str]]:
    """`Analysis.workloads`: what the driver was asked for, as far as all runs of a workload agree."""
    shared: dict[AxisValue, dict[str, str]] = {}
    for record in records:
        workload = record.point.axes.get("workload")
        if workload is None:
            continue
        asked = {**record.point.properties, **(record.outcome.properties if record.outcome else {})}
        known = shared.setdefault(workload, asked)
        shared[workload] = {name: value for name, value in known.items() if asked.get(name) == value}
    return shared


def machines(records: Sequence[Record]) -> tuple[Machine, ...]:
    """One per host, with the facts of its first run."""
    by_host: dict[str, list[Record]] = {}
    for record in records:
        by_host.setdefault(record.environment.host_id, []).append(record)
    return tuple(Machine(host, runs[0].environment.facts, len(runs)) for host, runs in by_host.items())


def confinements(records: Sequence[Record]) -> tuple[Confinement, ...]:
    """One per way of confining; `details` are those of its first run, but for what only that run has."""
    groups: dict[tuple[str, bool, int, str], list[Record]] = {}
    for r in records:
        key = (r.runner.name, r.runner.capped, r.point.cap_bytes, r.runner.cpus)
        groups.setdefault(key, []).append(r)
    return tuple(
        Confinement(
            *key,
            details={k: v for k, v in runs[0].runner.details.items() if k not in _OF_ONE_RUN},
            runs=len(runs),
        )
        for key, runs in groups.items()
    )


def devices(records: Sequence[Record]) -> tuple[Device, ...]:
    """One per disk that runs saw, the disk as it is among them; none if they all had that one."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for r in records:
        limits = r.point.device
        groups.setdefault((limits.name, limits.text) if limits else (FULL_SPEED, ""), []).append(r)
    if not any(rates for _, rates in groups):
        return ()
    return tuple(Device(*key, binds=_binds(runs), runs=len(runs)) for key, runs in groups.items())


def _binds(records: Sequence[Record]) -> str:
    """Which I/O rates held, for each way of confining; a run that failed early does not say."""
    return "; ".join(dict.fromkeys(filter(None, (r.runner.details.get("device_binds") for r in records))))


def failures(records: Sequence[Record], *, units: Mapping[str, str]) -> tuple[FailedRun, ...]:
    """Runs that ended in anything but a measurement, in order; `units` as for point_name."""
    return tuple(
        FailedRun(
            run_id=r.run_id,
            point=point_name(label_of(r), axes_of(r), units=units),
            label=label_of(r),
            axes=axes_of(r),
            repetition=r.repetition,
            status=r.status,
            reason=r.failure.reason if r.failure else r.status,
            log_tail=r.failure.log_tail if r.failure else "",
        )
        for r in records
        if r.status != "ok"
    )


def axis_values(records: Sequence[Record]) -> dict[str, tuple[AxisValue, ...]]:
    """The values that occur of each axis of the grid, in the order of first appearance."""
    return {
        name: tuple(dict.fromkeys(axes_of(r)[name] for r in records if name in axes_of(r)))
        for name in axis_names(records)
    }


def axes(occurring: Mapping[str, tuple[AxisValue, ...]], *, plan: Plan) -> tuple[Axis, ...]:
    """The grid's axes with their units; values are those that occur."""
    found = []
    for name, values in occurring.items():
        readings = [r for point in plan.points if (r := axis_of(point.engine, name)) is not None]
        unit = _UNITS.get(readings[0].type, "") if readings else ""
        found.append(Axis(name, unit, values, _scaled(name, readings, plan)))
    return tuple(found)


def planned(plan: Plan, *, axes: Sequence[str]) -> pd.DataFrame:
    """`Analysis.planned`: the points that the plan asks for, measured or not."""
    rows = [
        (p.axes["engine"], p.engine.name, p.preset, *(p.axes.get(name) for name in axes)) for p in plan.points
    ]
    return pd.DataFrame(rows, columns=point_columns(axes))


def _scaled(
    name: str, readings: Sequence[OptionDescription], plan: Plan
) -> dict[AxisValue, frozenset[AxisValue]]:
    """What the engines made of each of the experiment's values of an axis."""
    distinct = {(r.min, r.max, r.scales, r.type): r for r in readings}.values()
    scale = plan.experiment.profile.scale
    return {
        value: frozenset(scale_value(reading, value, scale=scale) for reading in distinct)
        for value in plan.experiment.grid.get(name, ())
    }


def point_name(label: str, axes: Mapping[str, Any], *, units: Mapping[str, str]) -> str:
    """A point in words: its contender and the values of the axes in `units`: "RocksDB A composite 64 MiB"."""
    values = {name: axes[name] for name in units if name in axes and not pd.isna(axes[name])}
    sizes = {name: human_bytes(value) for name, value in values.items() if units.get(name) == "byte"}
    return " ".join([label, *map(value_text, {**values, **sizes}.values())])


def _contender(label: str, record: Record) -> Contender:
    outcome = record.outcome
    build = outcome.build if outcome else None
    return Contender(
        label=label,
        engine=record.point.engine,
        preset=record.point.preset,
        version=outcome.engine.version if outcome else "",
        summary=outcome.engine.summary if outcome else "",
        caveats=outcome.engine.caveats if outcome else (),
        build=", ".join(filter(None, (build.compiler, build.type, build.flags))) if build else "",
        library=library_text(outcome.engine.library if outcome else None),
        binary_sha256=record.point.binary_sha256,
        options=outcome.options if outcome else {},
        durability=outcome.engine.durability if outcome else None,
    )
