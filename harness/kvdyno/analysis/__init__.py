"""Records to conclusions: `analyse` for an experiment, `compare` for two sets, `analyse_metrics` and
`analyse_published` for what is committed of them.

Pure functions of records and of the files beside them. Each statistic lives in a module of its own that cites
its source: frame, levels, estimate, ratios, verdicts, steady, histograms, series, events, claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from kvdyno.errors import StoreError
from kvdyno.model.exclusion import LeftOut
from kvdyno.model.experiment import Experiment
from kvdyno.model.noise import HostNoise
from kvdyno.model.point import Plan
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis, Caution

from . import cautions, design, facts, libraries
from .choice import choices
from .claims import judge_claims
from .committed import analyse_metrics
from .compare import compare
from .derived import with_derived
from .files import event_table, percentile_table, series_tables
from .frame import axes_of, label_of, latest, tidy
from .gauges import machine_cautions
from .judged import evidence as evidence_for
from .judged import judge
from .outliers import excluded_cautions, host_cautions
from .overlays import beside
from .pairs import all_pairs
from .published import analyse_published
from .twins import noise_floors, noise_notes

__all__ = ["analyse", "analyse_metrics", "analyse_published", "compare", "tidy"]


def analyse(
    experiment: Experiment,
    plan: Plan,
    records: Sequence[Record],
    *,
    run_dirs: Mapping[str, Path],
    noise: Mapping[tuple[str, str], HostNoise | None] | None = None,
    left_out: Sequence[LeftOut] = (),
) -> Analysis:
    """All that a report shows of an experiment.

    Records of points outside the plan are ignored; of several records of one run, the last counts. `run_dirs`
    maps a run_id to the folder that holds its series, events and histograms; a file that is missing or
    damaged becomes a caution. `noise` maps hosts, each with a runner, to what the last self-test found.
    `left_out`: excluded hosts whose runs of the plan are not among the records. Raises StoreError if no
    record belongs to the plan.
    """
    wanted = {point.identity: place for place, point in enumerate(plan.points)}
    used = sorted(
        latest([record for record in records if record.point.identity in wanted]),
        key=lambda record: (wanted[record.point.identity], record.repetition),
    )
    if not used:
        raise StoreError(
            f"no record belongs to experiment {experiment.name!r} at profile {experiment.profile.name!r}"
            + "".join(f"; {each}" for each in left_out),
            remedy=f"kvdyno run {experiment.name} --profile {experiment.profile.name}",
        )
    axes = facts.axes(facts.axis_values(used), plan=plan)
    names = [axis.name for axis in axes]
    units = {axis.name: axis.unit for axis in axes if len(axis.values) > 1}  # what a point's name needs
    frame = with_derived(tidy(used), experiment.metrics)
    judged = judge(
        frame,
        axes=names,
        shown=(*experiment.figures, *experiment.tables),
        claims=experiment.claims,
        baseline=experiment.baseline,
        margin=experiment.same_within,
    )
    frame, metric, ratios = judged.frame, judged.metric, judged.ratios
    pairs = all_pairs(frame, axes=names, margin=experiment.same_within)
    floors = noise_floors(frame, noise=noise or {}, metric=metric)
    planned = facts.planned(plan, axes=names)
    series, steadiness, series_cautions = series_tables(used, run_dirs=run_dirs, axes=names)
    events, event_cautions = event_table(used, run_dirs=run_dirs, axes=names)
    percentiles, histogram_cautions = percentile_table(used, run_dirs=run_dirs, axes=names)
    runner_named = {choice.label for choice in experiment.engines if choice.runner}
    doubted = partial(design.doubts, used, plan=plan, runner_named=runner_named)
    evidence = [
        evidence_for(spec, judged=judged, planned=planned, axes=axes, doubted=doubted)
        for spec in experiment.claims
    ]
    wobbling = cautions.wobbling(_named(judged.estimates, units), _named(steadiness, units), metric=metric)
    return Analysis(
        experiment=experiment.name,
        profile=experiment.profile.name,
        axes=axes,
        contenders=facts.contenders(used, plan=plan),
        baseline=judged.baseline,
        headline_metric=metric,
        headline_phases=judged.phases,
        same_within=experiment.same_within,
        frame=frame,
        estimates=judged.estimates,
        planned=planned,
        ratios=ratios.points,
        overall=ratios.overall,
        pairs=pairs.points,
        pairs_overall=pairs.overall,
        runs=facts.runs(used, axes=names, units=units, run_dirs=run_dirs),
        steadiness=steadiness,
        percentiles=percentiles,
        series=series,
        choices=choices(frame, experiment.figures, axes=axes, margin=experiment.same_within),
        events=events,
        published=beside(
            (*experiment.figures, *experiment.tables),
            experiment.published,
            planned=planned,
            ratios=ratios.points,
            axes=axes,
        ),
        claims=judge_claims(experiment.claims, evidence=evidence, axes=names),
        failures=facts.failures(used, units=units),
        cautions=(
            *cautions.conditions(used, runner_named=runner_named),
            *libraries.differences(used),
            *cautions.unpaired(_named(ratios.apart, units), ambiguous=ratios.ambiguous),
            *design.layout(used, name=partial(_name_of, units=units)),
            *design.durability(used),
            *machine_cautions(used, units=units),
            *host_cautions(used, units=units),
            *excluded_cautions(left_out),
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
