"""From a tidy frame to what it shows: headlines, estimates, ratios, and evidence for claims.

What records hold beside their metrics is not needed here, so committed metrics go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from kvdyno.model.experiment import AxisValue, ClaimSpec, FigureSpec, TableSpec
from kvdyno.model.results import Axis, resolve_label, select_rows

from .along import ENGINE, chain_text, ratios_along, side_of, step_text
from .estimate import estimates
from .evidence import Doubts, Evidence, Objection
from .frame import mark_headline, point_columns
from .ratios import Ratios, ratios_to

#: Where throughput is looked for: first the spans, whose time includes work left for later.
_HEADLINE_PHASES = ("run", "build", "measure", "load")

Shown = Sequence[FigureSpec | TableSpec]


@dataclass(frozen=True)
class Judged:
    """`metric` and `phases` are those that points are judged by; the tables are described at Analysis."""

    metric: str
    phases: tuple[str, ...]
    baseline: str
    frame: pd.DataFrame
    estimates: pd.DataFrame
    ratios: Ratios
    margin: float


def judge(
    frame: pd.DataFrame,
    *,
    axes: Sequence[str],
    shown: Shown,
    claims: Sequence[ClaimSpec],
    baseline: str | None,
    margin: float,
) -> Judged:
    """What the tidy frame shows of what figures and tables (`shown`) and claims ask for."""
    metric, phases = _headline(shown, frame)
    marked = mark_headline(frame, metric=metric, phases=phases, by=point_columns(axes))
    table = estimates(marked, by=point_columns(axes))
    judged = set(table.loc[table["headline"], "phase"])
    first = resolve_label(baseline or str(frame["label"].iloc[0]), frame)
    others = [*(spec.ratio_to for spec in shown), *(claim.relative_to for claim in claims)]
    return Judged(
        metric=metric,
        phases=tuple(phase for phase in phases if phase in judged),
        baseline=first,
        frame=marked,
        estimates=table,
        ratios=ratios_to(
            marked, axes=axes, baselines=_baselines(first, others, frame), metric=metric, margin=margin
        ),
        margin=margin,
    )


def _headline(shown: Shown, frame: pd.DataFrame) -> tuple[str, tuple[str, ...]]:
    """Metric that points are judged by and the phases in which, best first: throughput, else what the first
    figure or table shows.
    """
    measured = set(zip(frame["metric"], frame["phase"], strict=True))
    usual = ("throughput", _HEADLINE_PHASES)
    asked = [(spec.metric, (spec.phase,)) for spec in shown]
    found = (
        (metric, phases)
        for metric, phases in [usual, *asked]
        if any((metric, phase) in measured for phase in phases)
    )
    return next(found, usual)


def _baselines(baseline: str, others: Iterable[str | None], frame: pd.DataFrame) -> list[str]:
    """Every contender that something is compared with: by the experiment, a figure, a table or a claim."""
    return [baseline, *(resolve_label(name, frame) for name in others if name)]


def evidence(
    spec: ClaimSpec,
    *,
    judged: Judged,
    planned: pd.DataFrame,
    axes: Sequence[Axis],
    doubted: Callable[..., Doubts],
) -> Evidence:
    """What a claim is judged by. `doubted` makes doubts about a contender (`label`) and an `other`, by the
    points that have one of the values `within` of an axis.
    """
    if spec.steps:
        return _evidence_along(spec, judged=judged, planned=planned, axes=axes, doubted=doubted)
    covered, few_estimates, few_ratios = (
        select_rows(rows, where=spec.where, axes=axes)
        for rows in (planned, judged.estimates, judged.ratios.points)
    )
    label = resolve_label(spec.engine, covered)
    other = resolve_label(spec.relative_to, planned) if spec.relative_to else label
    points = int((covered["label"] == label).sum())
    doubts = doubted(label=label, other=other, within={})
    return Evidence(few_estimates, few_ratios, planned=points, doubts=doubts, stepped=_stepped(judged.frame))


def _evidence_along(
    spec: ClaimSpec,
    *,
    judged: Judged,
    planned: pd.DataFrame,
    axes: Sequence[Axis],
    doubted: Callable[..., Doubts],
) -> Evidence:
    """What a claim is judged by that compares values of an axis, or engines in a row."""
    covered, rows = (select_rows(table, where=spec.where, axes=axes) for table in (planned, judged.frame))
    if spec.engine:
        covered, rows = (
            table[table["label"] == resolve_label(spec.engine, table)] for table in (covered, rows)
        )
    by_step: dict[str, Doubts] = {}
    points = 0
    for axis, *values in spec.steps:
        sides = [side_of(covered, axis, value, axes=axes) for value in values]
        points += _in_both(*sides, axes=[each.name for each in axes if each.name != axis])
        labels = [str(side["label"].iloc[0]) if len(side) else "" for side in sides]
        within = {} if axis == ENGINE else {axis: frozenset(v for side in sides for v in side[axis])}
        step = step_text(axis, *values, axes=axes)
        by_step[step] = doubted(label=labels[0], other=labels[1], within=within)
    ratios = ratios_along(rows, spec, axes=axes, margin=judged.margin)
    (chain,) = (chain_text(axis, *values, axes=axes) for axis, values in spec.along.items())
    return Evidence(
        rows,
        ratios,
        points,
        lambda place: _doubt_of_step(place, by_step),
        along=chain,
        stepped=_stepped(judged.frame),
    )


def _stepped(frame: pd.DataFrame) -> bool:
    """Whether a host stepped during a sweep. Metrics that were committed earlier lack it."""
    return "stretch" in frame and bool(frame["stretch"].any())


def _in_both(above: pd.DataFrame, below: pd.DataFrame, *, axes: Sequence[str]) -> int:
    """How many points the plan has on both sides of a step."""
    shared = [name for name in axes if above[name].notna().any() and below[name].notna().any()]
    sides = (set(side[shared].itertuples(index=False, name=None)) for side in (above, below))
    return len(set.intersection(*sides)) if len(above) and len(below) else 0


def _doubt_of_step(place: Mapping[str, AxisValue], by_step: Mapping[str, Doubts]) -> Objection | None:
    """The doubt about a point of a claim with steps; with several, `place` names one."""
    named = (doubts for step, doubts in by_step.items() if step in place.values())
    return next(named, next(iter(by_step.values())))(place)
