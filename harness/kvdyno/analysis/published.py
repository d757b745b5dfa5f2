"""Published metrics to all that a paper shows of an experiment, by the experiment's file of today.

Against records there are no cautions, series, events, builds or options in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from kvdyno.errors import StoreError
from kvdyno.model.experiment import ClaimSpec
from kvdyno.model.noise import HostNoise
from kvdyno.model.origin import NOT_KEPT, Doubt, Origin, Questions
from kvdyno.model.point import Plan
from kvdyno.model.results import Analysis, Axis, Confinement, Contender, FailedRun, Machine, as_measured

from . import facts
from .choice import choices
from .committed import axis_columns, axis_values, concluded
from .derived import with_derived
from .files import event_table, percentile_table, series_tables
from .frame import IDENTITY, point_columns
from .judged import Shown, judge
from .overlays import beside
from .twins import noise_floors


def analyse_published(
    plan: Plan,
    frame: pd.DataFrame,
    asked: Questions,
    *,
    origin: Origin,
    percentiles: pd.DataFrame | None = None,
    noise: Mapping[tuple[str, str], HostNoise] | None = None,
) -> Analysis:
    """What the metrics of a published sweep show of the plan's experiment: its figures, tables and claims as
    they are today. `asked` is what was asked of the metrics; `percentiles` is as `Analysis.percentiles`, None
    where it was not published; `noise` is what was published of self-tests, by host and runner.

    Metrics that the experiment makes of others are made again. A claim that was made since cannot be decided.
    A contender's options are those that its preset and the experiment set, at paper scale. Raises StoreError
    where the metrics have points or axes that the plan lacks.
    """
    experiment = plan.experiment
    made = {metric.id for metric in experiment.metrics}
    frame = with_derived(frame[~frame["metric"].isin(made)], experiment.metrics)
    names = axis_columns(frame)
    axes = facts.axes({name: axis_values(name, frame) for name in names}, plan=plan)
    check_points(plan, frame)
    planned = facts.planned(plan, axes=names)
    shown: Shown = (*experiment.figures, *experiment.tables)
    judged = judge(
        frame,
        axes=names,
        shown=shown,
        claims=experiment.claims,
        baseline=experiment.baseline,
        margin=experiment.same_within,
    )
    questions = asked.model_copy(
        update={
            "claims": experiment.claims,
            "same_within": experiment.same_within,
            "doubts": (*asked.doubts, *_unknown_doubts(plan, asked, axes=axes)),
        }
    )
    found = concluded(judged, questions, axes=axes, planned=planned)
    runs = _runs(judged.frame, axes=axes)
    machines = _machines(judged.frame, origin)
    places = [(machine.host_id, origin.runner) for machine in machines]
    known = {place: (noise or {}).get(place) for place in places}
    series, steadiness, _ = series_tables((), run_dirs={}, axes=names)
    if percentiles is None:
        percentiles, _ = percentile_table((), run_dirs={}, axes=names)
    return replace(
        found,
        experiment=experiment.name,
        profile=experiment.profile.name,
        contenders=tuple(_planned_contenders(plan, asked)),
        runs=runs,
        percentiles=percentiles,
        series=series,
        steadiness=steadiness,
        events=event_table((), run_dirs={}, axes=names)[0],
        choices=choices(judged.frame, experiment.figures, axes=axes, margin=experiment.same_within),
        published=beside(
            shown, experiment.published, planned=planned, ratios=judged.ratios.points, axes=axes
        ),
        failures=tuple(_failures(runs, axes=names)),
        noise=noise_floors(judged.frame, noise=known, metric=judged.metric),
        machines=machines,
        confinements=tuple(_confinements(plan)),
        runs_planned=len(plan.runs),
        ended_at=f"{origin.date}T00:00:00+00:00",
    )


def _unknown_doubts(plan: Plan, asked: Questions, *, axes: Sequence[Axis]) -> Iterator[Doubt]:
    """Doubts come from records. About a claim that was made, or moved to other points, since the metrics were
    published, none were looked for.
    """
    published = {claim.id: _place(claim) for claim in asked.claims}
    for claim in plan.experiment.claims:
        if published.get(claim.id) != _place(as_measured(claim, axes)):
            reason = "the claim is newer than the published metrics: what speaks against them is not known"
            yield Doubt(claim=claim.id, reason=reason, remedy="publish the sweep again")


def _place(claim: ClaimSpec) -> tuple[object, ...]:
    """Which numbers a claim is about."""
    chosen = ({axis: tuple(values) for axis, values in each.items()} for each in (claim.where, claim.along))
    return (claim.metric, claim.phase, claim.engine, claim.relative_to, *chosen)


def check_points(plan: Plan, frame: pd.DataFrame) -> None:
    """Raise StoreError where the metrics have points or axes that the plan lacks: the experiment's file was
    changed since.
    """
    axes = axis_columns(frame)
    where = plan.experiment.name
    remedy = "publish it again, or use the experiment's file of the commit in origin.yaml"
    known = {name for point in plan.points for name in point.axes if name not in (*IDENTITY, "engine")}
    if known != set(axes):
        raise StoreError(
            f"expected metrics with the axes {', '.join(sorted(known))}, found {', '.join(sorted(axes))}",
            where=where,
            remedy=remedy,
        )
    others = set(_points(frame, axes)) - set(_points(facts.planned(plan, axes=axes), axes))
    if others:
        listed = "; ".join(sorted(" ".join(map(str, filter(None, point))) for point in others)[:3])
        raise StoreError(
            f"expected metrics of the experiment's points, found {len(others)} others: {listed}",
            where=where,
            remedy=remedy,
        )


def _points(table: pd.DataFrame, axes: Sequence[str]) -> Iterator[tuple[object, ...]]:
    columns = point_columns(axes)
    for row in table[columns].drop_duplicates().itertuples(index=False, name=None):
        yield tuple(None if pd.isna(value) else value for value in row)


def _runs(frame: pd.DataFrame, *, axes: Sequence[Axis]) -> pd.DataFrame:
    """`Analysis.runs`, without times and folders."""
    names = [axis.name for axis in axes]
    units = {axis.name: axis.unit for axis in axes if len(axis.values) > 1}
    rows = frame.drop_duplicates("run_id")
    kept = rows[[*point_columns(names), "run_id", "sweep_id", "repetition", "load", "status"]]
    labels = kept["label"].map(str)
    values = kept[list(units)].itertuples(index=False, name=None)
    named = [
        facts.point_name(label, dict(zip(units, row, strict=True)), units=units)
        for label, row in zip(labels, values, strict=True)
    ]
    return kept.assign(point=named, order=range(len(kept)), started_at="", ended_at="", folder="")


def _failures(runs: pd.DataFrame, *, axes: Sequence[str]) -> Iterator[FailedRun]:
    for run in runs[runs["status"] != "ok"].to_dict("records"):
        yield FailedRun(
            run_id=run["run_id"],
            point=run["point"],
            label=run["label"],
            axes={name: run[name] for name in axes if not pd.isna(run[name])},
            repetition=run["repetition"],
            status=run["status"],
            reason=run["status"],
            log_tail="",
        )


def _machines(frame: pd.DataFrame, origin: Origin) -> tuple[Machine, ...]:
    """In the order of the origin, which is that of the metrics."""
    runs = frame.drop_duplicates("run_id")
    hosts = runs.groupby("host", sort=False).size().to_dict() if "host" in runs else {NOT_KEPT: len(runs)}
    commit = {} if origin.commit == NOT_KEPT else {"kvdyno.commit": origin.commit}
    return tuple(
        Machine(str(host), {**words.facts, **commit}, int(count))
        for (host, count), words in zip(hosts.items(), origin.machines, strict="host" in runs)
    )


def _confinements(plan: Plan) -> Iterator[Confinement]:
    """Only runs with their cap are published."""
    caps = [run.point.cap_bytes for run in plan.runs]
    for cap_bytes in dict.fromkeys(caps):
        yield Confinement("", True, cap_bytes, "", details={}, runs=caps.count(cap_bytes))


def _planned_contenders(plan: Plan, asked: Questions) -> Iterator[Contender]:
    """In the plan's order."""
    engines = {str(point.axes["engine"]): point.engine for point in plan.points}
    for choice in plan.experiment.engines:
        engine = engines[choice.label]
        preset = engine.presets.get(choice.preset)
        yield Contender(
            label=choice.label,
            engine=engine.name,
            preset=choice.preset,
            version=asked.engines.get(choice.label, ""),
            summary=engine.description.engine.summary,
            caveats=engine.description.engine.caveats,
            build="",
            binary_sha256="",
            options={**(preset.options if preset else {}), **choice.options},
            durability=None,
        )
