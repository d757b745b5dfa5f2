"""A gate before anything is measured: its suite, its two arms, its plan, and whether the budget suffices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kvdyno import builds, catalog, plan, regress, spec
from kvdyno.errors import EngineError, UsageError
from kvdyno.model.axes import DATASET, DEVICE, DISTRIBUTION, WORKLOAD, axis_of
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import EngineChoice, Experiment, GateSpec
from kvdyno.model.options import slug_value, value_text
from kvdyno.model.point import Plan, Point
from kvdyno.model.project import Project
from kvdyno.model.units import format_seconds
from kvdyno.model.words import unknown
from kvdyno.plan import estimate

from .arms import Arm, find_arms
from .planning import demand_memory
from .reuse import SweepSettings, remaining, reusable

#: The share of suites without any change that may raise an alarm.
FALSE_ALARMS = 0.05
#: In place of a point's name: what is compared once for all points.
BUILD = "build"
_SUITES = "regress"
_SPEAKING_AXES = (WORKLOAD, DISTRIBUTION, DATASET, DEVICE)


@dataclass(frozen=True)
class GateRequest:
    """What a person asked for. `engine`: the one that revisions are built for, instead of the suite's first.

    `point` and `metric` narrow the suite. `comparisons`: over how many such gates the false alarms are
    bounded. `twins`: measure two arms that are one build, as twins. None: as the suite has it.
    """

    base: str
    head: str
    suite: str = "quick"
    profile: str = "quick"
    engine: str | None = None
    margin: float | None = None
    budget_seconds: float | None = None
    twins: bool = False
    point: str | None = None
    metric: str | None = None
    comparisons: int = 1


@dataclass(frozen=True)
class GatePoint:
    """A point that both arms run: what it is called, and the two points of the plan, base's first."""

    name: str
    base: Point
    head: Point


@dataclass(frozen=True)
class Gate:
    """A gate before anything is measured.

    `level` is a comparison's share of the false alarms. `pairs_least` is how many pairs a verdict needs, one
    where all metrics are exact. Without points there is nothing to measure: the arms are one build with the
    same options.
    """

    spec: GateSpec
    arms: tuple[Arm, Arm]
    whole: Plan
    points: tuple[GatePoint, ...]
    level: float
    pairs_least: int

    @property
    def shares_snapshots(self) -> bool:
        """Whether both arms start from copies of the same stores."""
        return all(each.base.dataset == each.head.dataset for each in self.points)

    @property
    def has_images(self) -> bool:
        """Whether an arm runs in containers."""
        return any(arm.engine.image for each in self.points for arm in (each.base, each.head))


def prepare_gate(project: Project, request: GateRequest, *, how: SweepSettings, step: builds.Step) -> Gate:
    """Build and check both arms; nothing is measured.

    Raises UsageError for an unknown suite or arm, a dirty tree, and a budget that no verdict fits into; what
    building and planning raise.
    """
    suite = _suite(project, request.suite)
    # Arms may be images, or are built of sources: none needs an engine of this checkout's own build.
    found = catalog.discover(project, demand=False)
    suites = spec.suite_engine(suite, project=project)
    asked = EngineChoice(engine=request.engine) if request.engine else suites
    arms, built = find_arms(project, (request.base, request.head), known=found, engine=asked, step=step)
    engines = {**found, **built}
    for arm in arms:
        if arm.choice.key not in built:
            spec.check_built(arm.choice, catalog=engines, project=project, where=arm.text)
    experiment = spec.load_experiment(
        suite,
        project=project,
        catalog=engines,
        profile=request.profile,
        engines=[arm.choice.key for arm in arms],
    )
    assert experiment.gate is not None  # or it were no suite
    gate = _gate_spec(experiment.gate, request)
    base, head = (_checked(arm, engines=engines) for arm in arms)
    alone = [plan.make_plan(_with(experiment, arm), catalog=engines, project=project) for arm in (base, head)]
    same = len({tuple(point.identity for point in each.points) for each in alone}) == 1
    if same and not request.twins:
        return Gate(
            spec=gate, arms=(base, head), whole=alone[0], points=(), level=FALSE_ALARMS, pairs_least=0
        )
    if same:
        head = _twin(head, of=base)
    whole = plan.make_plan(_with(experiment, base, head), catalog=engines, project=project)
    points = _chosen(_points(whole), request.point, spec=gate)
    identities = {arm.identity for each in points for arm in (each.base, each.head)}
    whole = replace(whole, runs=tuple(run for run in whole.runs if run.point.identity in identities))
    inexact = sum(not each.exact and not each.of_build for each in gate.metrics)
    level = FALSE_ALARMS / max(1, len(points) * inexact) / request.comparisons
    least = 1 if all(each.exact for each in gate.of_runs) else regress.values_least(level=level)
    prepared = Gate(spec=gate, arms=(base, head), whole=whole, points=points, level=level, pairs_least=least)
    demand_memory(whole, uncapped=how.uncapped)
    _demand_budget(project, prepared, how=how)
    return prepared


def _checked(arm: Arm, *, engines: Mapping[str, Engine]) -> Arm:
    """The arm with options as its engine reads them."""
    return replace(arm, choice=spec.check_arm(arm.choice, engine=engines[arm.choice.key], where=arm.text))


def _twin(arm: Arm, *, of: Arm) -> Arm:
    """The arm as a twin, which has loads and runs of its own though nothing differs."""
    label = of.choice.label
    named = {"label": f"{label}-twin", "twin_of": label, "twin": 1}
    return replace(arm, choice=arm.choice.model_copy(update=named))


def _suite(project: Project, name: str) -> Path:
    """A suite's file: by its path, or by its name among experiments/regress/."""
    if name.endswith((".yaml", ".yml")) or "/" in name:
        return Path(name)
    known = {path.stem: path for path in sorted((project.experiments / _SUITES).glob("*.yaml"))}
    if name not in known:
        raise UsageError(unknown("suite", name, known), where="--suite")
    return known[name]


def _gate_spec(suites: GateSpec, request: GateRequest) -> GateSpec:
    """The suite's, with what was asked for instead."""
    asked = {"margin": request.margin, "budget_seconds": request.budget_seconds}
    metrics = tuple(each for each in suites.metrics if request.metric in (None, each.metric))
    if not metrics:
        raise UsageError(
            unknown("metric", request.metric or "", [m.metric for m in suites.metrics]), where="--metric"
        )
    changed = {key: value for key, value in asked.items() if value is not None}
    return suites.model_copy(update={**changed, "metrics": metrics})


def _with(experiment: Experiment, *arms: Arm) -> Experiment:
    """The suite with these arms as its engines. Labels that are alike are numbered."""
    labels = [arm.choice.label for arm in arms]
    choices = tuple(arm.choice for arm in arms)
    if len(set(labels)) < len(labels):
        choices = tuple(c.model_copy(update={"label": f"{c.label}-{n}"}) for n, c in enumerate(choices, 1))
    return experiment.model_copy(update={"engines": choices, "baseline": choices[0].label})


def _points(whole: Plan) -> tuple[GatePoint, ...]:
    """Every point with both arms. Raises EngineError where an arm lacks it."""
    points = []
    for block in plan.blocks_of(whole.points):
        by_label = {str(point.axes["engine"]): point for point in block}
        arms = [by_label.get(choice.label) for choice in whole.experiment.engines]
        if arms[0] is None or arms[1] is None:
            raise EngineError("expected points that both arms have, found one alone", where=block[0].slug)
        points.append(GatePoint(_name(arms[0], whole.experiment), arms[0], arms[1]))
    return tuple(points)


def _chosen(points: tuple[GatePoint, ...], name: str | None, *, spec: GateSpec) -> tuple[GatePoint, ...]:
    """The point of that name, or all. Raises UsageError."""
    if name == BUILD and all(each.of_build for each in spec.metrics):
        return points
    chosen = tuple(each for each in points if name in (None, each.name))
    if not chosen:
        raise UsageError(unknown("point", name or "", [each.name for each in points]), where="--point")
    return chosen


def _name(point: Point, experiment: Experiment) -> str:
    """The axes by which points differ, as slugs write them: "e100 512MiB age=2"."""
    words = []
    for axis, values in experiment.grid.items():
        if len(values) > 1 and axis in point.axes:
            reading, value = axis_of(point.engine, axis), point.axes[axis]
            text = slug_value(reading, value) if reading else value_text(value)
            words.append(text if axis in _SPEAKING_AXES else f"{axis}={text}")
    return " ".join(words) or point.slug.removeprefix(f"{point.axes['engine']}.")


def _demand_budget(project: Project, gate: Gate, *, how: SweepSettings) -> None:
    """Raises UsageError unless the pairs that verdicts need fit into the budget."""
    if not gate.spec.of_runs:
        return
    least, whole = gate.pairs_least, gate.whole
    if whole.experiment.repetitions < least:
        raise UsageError(
            f"repetitions: expected at least {least}, which a verdict needs, found "
            f"{whole.experiment.repetitions}",
            where=str(whole.experiment.path),
        )
    first = replace(whole, runs=tuple(run for run in whole.runs if run.repetition <= least))
    needed = estimate(remaining(first, reusable(project, first, how=how))).seconds
    if needed > gate.spec.budget_seconds:
        raise UsageError(
            f"expected at least {format_seconds(needed)}: a verdict needs {least} pairs at each point "
            f"({len(gate.points)} here), and their data to be loaded; found "
            f"{format_seconds(gate.spec.budget_seconds)}",
            where="--budget",
            remedy="give more time, or choose a smaller suite",
        )
