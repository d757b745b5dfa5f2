"""make_plan: the cartesian product of engines and grid, each combination resolved to a point."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kvdyno.errors import SpecError
from kvdyno.host.external import chosen_engine
from kvdyno.model.axes import AGE, RECORDS, WORKLOAD, axis_of
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import DEFAULT_CACHE, AxisValue, EngineChoice, Experiment
from kvdyno.model.point import Plan, Point
from kvdyno.model.project import Project
from kvdyno.model.properties import read_properties

from .costs import described_cost
from .dataset import make_datasets, record_count
from .estimate import expected_disk_bytes, expected_seconds
from .identity import point_identity, point_slug, with_distinct_slugs
from .mix import check_operations
from .order import order_runs
from .phases import with_ends
from .recovery import check_recovery
from .resolve import Resolved, resolve
from .sampling import with_sampling
from .upstream import check_upstream


def make_plan(experiment: Experiment, *, catalog: Mapping[str, Engine], project: Project) -> Plan:
    """Every point of the experiment at its profile's scale, and the order in which runs execute.

    Raises EngineError when an engine is not in the catalog, SpecError when a dataset is smaller than a
    record, a workload's file has gone, or two points are the same under two names.
    """
    notes: dict[str, None] = {}
    points: dict[tuple[tuple[str, AxisValue], ...], Point] = {}
    workloads = {name: _workload(str(name), project=project) for name in experiment.grid.get(WORKLOAD, ())}
    for choice, engine, combination in _combinations(experiment, catalog=catalog):
        workload = workloads.get(combination.get(WORKLOAD, ""), {})
        resolved = _resolved(experiment, choice, engine, combination, workload)
        point = _point(experiment, choice=choice, resolved=resolved)
        # Combinations that differ only in what means nothing to this point are one point.
        points.setdefault(tuple(point.axes.items()), point)
        notes.update(dict.fromkeys(resolved.notes))
    _refuse_twins(points.values(), where=str(experiment.path))
    distinct = with_distinct_slugs(tuple(points.values()))
    return Plan(
        experiment=experiment,
        points=distinct,
        runs=order_runs(distinct, repetitions=experiment.repetitions, name=experiment.name),
        notes=tuple(notes),
    )


def _combinations(
    experiment: Experiment, *, catalog: Mapping[str, Engine]
) -> Iterator[tuple[EngineChoice, Engine, Mapping[str, AxisValue]]]:
    """Grid outside, engines inside; an engine leaves out the axes that mean nothing to it."""
    engines = [(choice, chosen_engine(choice, catalog=catalog)) for choice in experiment.engines]
    for values in itertools.product(*experiment.grid.values()):
        whole = dict(zip(experiment.grid, values, strict=True))
        for choice, engine in engines:
            yield choice, engine, {axis: value for axis, value in whole.items() if axis_of(engine, axis)}


def _workload(name: str, *, project: Project) -> Mapping[str, str]:
    properties = read_properties(project.workloads / f"{name}.properties")
    return {key: value.text for key, value in properties.items()}


def _resolved(
    experiment: Experiment,
    choice: EngineChoice,
    engine: Engine,
    combination: Mapping[str, AxisValue],
    workload: Mapping[str, str],
) -> Resolved:
    """The combination with its records counted and an end to each phase."""
    resolved = resolve(experiment, choice=choice, engine=engine, combination=combination, workload=workload)
    records = record_count(resolved, where=str(experiment.path))
    if records is not None:
        resolved = replace(resolved, properties={**resolved.properties, RECORDS: str(records)})
    resolved = with_ends(resolved, experiment=experiment, records=records)
    check_operations(resolved, label=choice.label, where=str(experiment.path))
    check_recovery(resolved, label=choice.label, where=str(experiment.path))
    if engine.external and not resolved.measures_load:
        note = check_upstream(resolved.properties, label=choice.label, experiment=experiment)
        resolved = replace(resolved, notes=(*resolved.notes, note))
    return resolved


def _refuse_twins(points: Iterable[Point], *, where: str) -> None:
    """Points of one identity would share their runs, and be compared with themselves."""
    known: dict[str, Point] = {}
    for point in points:
        twin = known.setdefault(point.identity, point)
        if twin is not point:
            raise SpecError(
                f"expected points that differ, found {twin.slug!r} and {point.slug!r}: same engine, "
                "properties, phases, cap and rates of the disk",
                where=where,
                remedy="leave one of them out, give one another option or property, or set `twin_of`",
            )


def _point(experiment: Experiment, *, choice: EngineChoice, resolved: Resolved) -> Point:
    unsampled, resolved = resolved, with_sampling(resolved)
    datasets = make_datasets(resolved, loads=experiment.loads)
    loaded_bytes = datasets[0].bytes if datasets else 0
    start, *others = datasets if datasets and not resolved.measures_load else (None,)
    return Point(
        slug=point_slug(choice.label, axes=_speaking(resolved.axes, experiment), engine=resolved.engine),
        identity=point_identity(resolved, dataset=start),
        earlier_identity=None if resolved is unsampled else point_identity(unsampled, dataset=start),
        engine=resolved.engine,
        preset=choice.preset,
        axes={"engine": choice.label, "preset": choice.preset, **resolved.axes},
        properties=resolved.properties,
        phases=resolved.phases,
        dataset=start,
        cap_bytes=resolved.cap_bytes,
        device=resolved.device,
        cache=resolved.cache if start else DEFAULT_CACHE,
        recovery=resolved.recovery,
        timeout_seconds=experiment.timeout_seconds,
        expected_seconds=expected_seconds(resolved, dataset=start, loaded_bytes=loaded_bytes),
        expected_disk_bytes=expected_disk_bytes(resolved, loaded_bytes=loaded_bytes),
        expected_memory_bytes=round(described_cost(resolved, "memory")),
        other_loads=tuple(others),
    )


def _speaking(axes: Mapping[str, AxisValue], experiment: Experiment) -> Mapping[str, AxisValue]:
    """The axes that a slug names: an age that all points share is left out."""
    return {axis: v for axis, v in axes.items() if axis != AGE or len(experiment.grid[AGE]) > 1}
