"""Advice on stored runs: facts of a point, the rules that fire, and an experiment file for each."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvdyno import spec
from kvdyno.errors import EngineError, StoreError
from kvdyno.model.advice import Finding, Step
from kvdyno.model.axes import axis_of
from kvdyno.model.document import read_document
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import AxisValue, Experiment
from kvdyno.model.options import parse_value, scale_value
from kvdyno.model.point import Plan, Point
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.versions import versioned
from kvdyno.tuning.advice import experiment_of, judge_rule, step_of

from .planning import plan_with
from .rerun import request_of, sweep_of
from .written import write_yaml

#: Keys of an experiment that the one which tests an advice takes over as they are written.
_SHARED = (
    *("properties", "cap", "cache", "same_within", "metrics"),
    *("repetitions", "loads", "age", "phases", "timeout", "profiles"),
)


@dataclass(frozen=True)
class Advice:
    """A finding at a point, what to set, and the file of the experiment that tests it."""

    finding: Finding
    steps: tuple[Step, ...]
    experiment: Path


@dataclass(frozen=True)
class PointAdvice:
    """What the rules say of a point's runs: `rules` were judged, and these fired."""

    slug: str
    profile: str
    runs: int
    rules: int
    advice: tuple[Advice, ...]


def advise(project: Project, records: Sequence[Record]) -> tuple[PointAdvice, ...]:
    """Advice on each point of these records, whose facts are the medians of its runs that ended well.

    Loads of a point's data are left out: none is a point. Raises StoreError if no run is left or a sweep's
    file is missing, EngineError where an engine has no rules or the experiment no longer has a point, and
    what `plan_with` raises.
    """
    by_point: dict[str, list[Record]] = {}
    for record in records:
        if record.status == "ok":
            by_point.setdefault(record.point.identity, []).append(record)
    if not by_point:
        raise StoreError("expected runs that ended well, found none", where=str(project.runs))
    advised = [found for mine in by_point.values() if (found := _advise(project, mine))]
    if not advised:
        raise StoreError(
            "expected runs of an experiment's points, found loads of their data alone",
            where=str(project.runs),
            remedy="`kvdyno show` lists the records",
        )
    return tuple(advised)


def facts_of(records: Iterable[Record], point: Point, *, phase: str) -> Mapping[str, float]:
    """The point's facts (model/advice.py): medians over the records that have the phase."""
    found: dict[str, list[float]] = {}
    for record in records:
        outcome = record.phase(phase)
        if outcome is None or record.outcome is None:
            continue
        numbers = {name: metric.value for name, metric in outcome.metrics.items()}
        options = _numbers(point.engine, record.outcome.options)
        whole = {**numbers, **options, "seconds": outcome.seconds, "cap": float(point.cap_bytes)}
        whole |= {n: float(v) for n, v in point.axes.items() if n in ("threads", "dataset") and _is_number(v)}
        for name, value in whole.items():
            found.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in found.items()}


def _numbers(engine: Engine, options: Mapping[str, str]) -> dict[str, float]:
    numbers = {}
    for name, text in options.items():
        option = engine.description.option(name)
        value = parse_value(option, text) if option else text
        if isinstance(value, (bool, int, float)):
            numbers[f"option.{name}"] = float(value)
    return numbers


def _is_number(value: AxisValue | None) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _advise(project: Project, records: Sequence[Record]) -> PointAdvice | None:
    whole, point = _planned(project, records[0])
    if point is None:
        return None
    rules = spec.load_rules(point.engine, project=project)
    if not rules:
        raise EngineError(
            f"expected rules of engine {point.engine.name!r}, found none",
            where=str(project.adapters / point.engine.description.engine.name),
            remedy="write its advice.yaml: docs/tuning.md",
        )
    advice = []
    for rule in rules:
        finding = judge_rule(rule, facts_of(records, point, phase=rule.phase))
        steps = _steps(finding, records[0], whole, point) if finding else ()
        if finding and steps:
            advice.append(Advice(finding, steps, _write(project, finding, steps, whole, point)))
    profile = whole.experiment.profile.name
    return PointAdvice(point.slug, profile, len(records), len(rules), tuple(advice))


def _planned(project: Project, record: Record) -> tuple[Plan, Point | None]:
    """The record's point in its experiment, with the builds that its sweep measured; None: a load."""
    swept = sweep_of(project, record)
    whole = plan_with(project, request_of(swept, record), engines=swept.catalog())
    for point in whole.points:
        if point.slug == record.point.slug:
            return whole, point
    if any(load.identity == record.point.identity for each in whole.points for load in each.loads):
        return whole, None
    raise EngineError(
        f"expected the record's point, {record.point.slug}, found none: the experiment has changed",
        where=str(whole.experiment.path),
    )


def _steps(finding: Finding, record: Record, whole: Plan, point: Point) -> tuple[Step, ...]:
    """What to set; empty where every option has that value already."""
    assert record.outcome
    steps = []
    for name, change in finding.rule.change.items():
        option = point.engine.description.option(name)
        if option is None:  # of a version without it
            return ()
        current = parse_value(option, record.outcome.options.get(name, option.default))
        step = step_of(option, change, current=current, scale=whole.experiment.profile.scale)
        steps += [step] if step else []
    return tuple(steps)


def _write(project: Project, finding: Finding, steps: Sequence[Step], whole: Plan, point: Point) -> Path:
    """The experiment's file. The grid has the point's values alone, in place of those of profiles."""
    experiment = whole.experiment
    data = read_document(experiment.path).data
    shared = {key: data[key] for key in _SHARED if key in data}
    if "profiles" in shared:
        kept = {
            name: {key: value for key, value in settings.items() if key != "grid"}
            for name, settings in shared.pop("profiles").items()
        }
        shared |= {"profiles": {name: settings for name, settings in kept.items() if settings}}
    label = str(point.axes["engine"])
    choice = next(each for each in experiment.engines if each.label == label)
    document = experiment_of(
        finding,
        steps,
        title=f"Advice {finding.rule.id} on {point.slug}",
        engine={
            "engine": versioned(choice.engine, choice.version),
            "preset": choice.preset,
            "options": dict(choice.options),
        },
        grid=_grid(experiment, point),
        shared=shared,
    )
    name = f"{point.slug}-{finding.rule.id}".replace("@", "-")
    return write_yaml(project.reports / "advice" / f"{name}.yaml", document)


def _grid(experiment: Experiment, point: Point) -> dict[str, list[Any]]:
    """The grid's values, at paper scale, that the point has at the profile's."""
    scale = experiment.profile.scale
    found: dict[str, list[Any]] = {}
    for axis, values in experiment.grid.items():
        reading = axis_of(point.engine, axis)
        if reading is None or axis not in point.axes:
            continue
        here = point.axes[axis]
        found[axis] = [v for v in values if here in (v, scale_value(reading, v, scale=scale))][:1] or [here]
    return found
