"""Records to conclusions: `analyse` for one experiment, `compare` for two sets of records.

Pure functions of records and of the files beside them. Each statistic lives in a module of its own that cites
its source: frame, levels, estimate, ratios, verdicts, steady, histograms, series, events, claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from kvdyno.errors import StoreError
from kvdyno.model.experiment import ClaimSpec, Experiment
from kvdyno.model.noise import HostNoise
from kvdyno.model.point import Plan
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis, Axis, Caution, resolve_label, select_rows

from . import cautions, design, facts, libraries
from .claims import Doubts, Evidence, judge_claims
from .compare import compare
from .estimate import estimates
from .files import event_table, percentile_table, series_tables
from .frame import axes_of, label_of, latest, mark_headline, point_columns, tidy
from .gauges import machine_cautions
from .pairs import all_pairs
from .ratios import ratios_to
from .twins import noise_floors, noise_notes

__all__ = ["analyse", "compare"]

#: Where throughput is looked for: first the spans, whose time includes work left for later.
_HEADLINE_PHASES = ("run", "build", "measure", "load")


def analyse(
    experiment: Experiment,
    plan: Plan,
    records: Sequence[Record],
    *,
    run_dirs: Mapping[str, Path],
    noise: Mapping[str, HostNoise | None] | None = None,
) -> Analysis:
    """All that a report says about an experiment.

    Records of points outside the plan are ignored; of several records of one run, the last counts. `run_dirs`
    maps a run_id to the folder that holds its series, events and histograms; a file that is missing or
    damaged becomes a caution. `noise` maps hosts to what their last self-test found. Raises StoreError if no
    record belongs to the plan.
    """
    wanted = {point.identity: place for place, point in enumerate(plan.points)}
    used = sorted(
        latest([record for record in records if record.point.identity in wanted]),
        key=lambda record: (wanted[record.point.identity], record.repetition),
    )
    if not used:
        raise StoreError(
            f"no record belongs to experiment {experiment.name!r} at profile {experiment.profile.name!r}",
            remedy=f"kvdyno run {experiment.name} --profile {experiment.profile.name}",
        )
    axes = facts.axes(used, plan=plan)
    names = [axis.name for axis in axes]
    told = {axis.name: axis.unit for axis in axes if len(axis.values) > 1}  # what a point's name needs
    frame = tidy(used)
    metric, phases = _headline(experiment, frame)
    frame = mark_headline(frame, metric=metric, phases=phases, by=point_columns(names))
    table = estimates(frame, by=point_columns(names))
    judged = set(table.loc[table["headline"], "phase"])
    baseline = resolve_label(experiment.baseline or str(frame["label"].iloc[0]), frame)
    ratios = ratios_to(
        frame,
        axes=names,
        baselines=_baselines(experiment, baseline, frame),
        metric=metric,
        margin=experiment.same_within,
    )
    pairs = all_pairs(frame, axes=names, margin=experiment.same_within)
    floors = noise_floors(frame, noise=noise or {}, metric=metric)
    planned = facts.planned(plan, axes=names)
    series, steadiness, series_cautions = series_tables(used, run_dirs=run_dirs, axes=names)
    events, event_cautions = event_table(used, run_dirs=run_dirs, axes=names)
    percentiles, histogram_cautions = percentile_table(used, run_dirs=run_dirs, axes=names)
    runner_named = {choice.label for choice in experiment.engines if choice.runner}
    doubted = partial(design.doubts, used, plan=plan, runner_named=runner_named)
    evidence = [
        _evidence(spec, estimates=table, ratios=ratios.points, planned=planned, axes=axes, doubted=doubted)
        for spec in experiment.claims
    ]
    wobbling = cautions.wobbling(_named(table, told), _named(steadiness, told), metric=metric)
    return Analysis(
        experiment=experiment.name,
        profile=experiment.profile.name,
        axes=axes,
        contenders=facts.contenders(used, plan=plan),
        baseline=baseline,
        headline_metric=metric,
        headline_phases=tuple(phase for phase in phases if phase in judged),
        same_within=experiment.same_within,
        frame=frame,
        estimates=table,
        planned=planned,
        ratios=ratios.points,
        overall=ratios.overall,
        pairs=pairs.points,
        pairs_overall=pairs.overall,
        runs=facts.runs(used, axes=names, units=told, run_dirs=run_dirs),
        steadiness=steadiness,
        percentiles=percentiles,
        series=series,
        events=events,
        claims=judge_claims(experiment.claims, evidence=evidence, axes=names),
        failures=facts.failures(used, units=told),
        cautions=(
            *cautions.conditions(used, runner_named=runner_named),
            *libraries.differences(used),
            *cautions.unpaired(_named(ratios.apart, told), ambiguous=ratios.ambiguous),
            *design.layout(used, name=partial(_name_of, units=told)),
            *design.durability(used),
            *machine_cautions(used, units=told),
            *noise_notes(floors, metric=metric),
            *_missing(plan, used),
            *wobbling,
            *series_cautions,
            *event_cautions,
            *histogram_cautions,
        ),
        noise=floors,
        workloads=facts.workloads(used),
        machines=facts.machines(used),
        confinements=facts.confinements(used),
        devices=facts.devices(used),
        runs_planned=len(plan.runs),
        runs_recorded=len(used),
        runs_ok=sum(record.status == "ok" for record in used),
        started_at=min(record.started_at for record in used),
        ended_at=max(record.ended_at for record in used),
    )


def _headline(experiment: Experiment, frame: pd.DataFrame) -> tuple[str, tuple[str, ...]]:
    """Metric that points are judged by and the phases in which, best first: throughput, else what the first
    figure or table shows.
    """
    measured = set(zip(frame["metric"], frame["phase"], strict=True))
    usual = ("throughput", _HEADLINE_PHASES)
    asked = [(figure.metric, (figure.phase,)) for figure in experiment.figures]
    asked += [(spec.metric, (spec.phase,)) for spec in experiment.tables]
    found = (
        (metric, phases)
        for metric, phases in [usual, *asked]
        if any((metric, phase) in measured for phase in phases)
    )
    return next(found, usual)


def _baselines(experiment: Experiment, baseline: str, frame: pd.DataFrame) -> list[str]:
    """Every contender that something is compared with: by the experiment, a figure, a table or a claim."""
    others = [figure.ratio_to for figure in experiment.figures]
    others += [table.ratio_to for table in experiment.tables]
    others += [claim.relative_to for claim in experiment.claims]
    return [baseline, *(resolve_label(name, frame) for name in others if name)]


def _evidence(
    spec: ClaimSpec,
    *,
    estimates: pd.DataFrame,
    ratios: pd.DataFrame,
    planned: pd.DataFrame,
    axes: Sequence[Axis],
    doubted: Callable[..., Doubts],
) -> Evidence:
    """What a claim is judged by."""
    covered, few_estimates, few_ratios = (
        select_rows(rows, where=spec.where, axes=axes) for rows in (planned, estimates, ratios)
    )
    label = resolve_label(spec.engine, covered)
    other = resolve_label(spec.relative_to, planned) if spec.relative_to else label
    points = int((covered["label"] == label).sum())
    return Evidence(few_estimates, few_ratios, planned=points, doubts=doubted(labels={label, other}))


def _name_of(record: Record, *, units: Mapping[str, str]) -> str:
    return facts.point_name(label_of(record), axes_of(record), units=units)


def _named(table: pd.DataFrame, units: Mapping[str, str]) -> pd.DataFrame:
    """The table with a readable name of each row's point (facts.point_name)."""
    axes = table[list(units)].itertuples(index=False, name=None)
    pairs = zip(table["label"], axes, strict=True)
    names = [facts.point_name(label, dict(zip(units, row, strict=True)), units=units) for label, row in pairs]
    return table.assign(point=names)


def _missing(plan: Plan, used: Sequence[Record]) -> list[Caution]:
    """A caution if the sweep is not finished."""
    done = {(record.point.identity, record.repetition) for record in used}
    left = sum((run.point.identity, run.repetition) not in done for run in plan.runs)
    if not left:
        return []
    message = f"{left} of {len(plan.runs)} planned runs have no record"
    return [Caution("missing", message, "run the experiment again: it resumes")]
