"""From a tidy frame to what it shows: headlines, estimates, ratios, and evidence for claims.

What records hold beside their metrics is not needed here, so committed metrics go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from kvdyno.model.experiment import ClaimSpec, FigureSpec, TableSpec
from kvdyno.model.results import Axis, resolve_label, select_rows

from .along import ratios_along
from .claims import Doubts, Evidence
from .estimate import estimates
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
    """What a claim is judged by. `doubted` makes doubts about a contender (`label`) and an `other`."""
    if spec.steps is not None:
        return _evidence_along(spec, judged=judged, planned=planned, axes=axes, doubted=doubted)
    covered, few_estimates, few_ratios = (
        select_rows(rows, where=spec.where, axes=axes)
        for rows in (planned, judged.estimates, judged.ratios.points)
    )
    label = resolve_label(spec.engine, covered)
    other = resolve_label(spec.relative_to, planned) if spec.relative_to else label
    points = int((covered["label"] == label).sum())
    return Evidence(few_estimates, few_ratios, planned=points, doubts=doubted(label=label, other=other))


def _evidence_along(
    spec: ClaimSpec,
    *,
    judged: Judged,
    planned: pd.DataFrame,
    axes: Sequence[Axis],
    doubted: Callable[..., Doubts],
) -> Evidence:
    """What a claim is judged by that compares two values of an axis."""
    assert spec.steps is not None
    axis, above, _ = spec.steps
    covered, rows = (select_rows(table, where=spec.where, axes=axes) for table in (planned, judged.frame))
    label = resolve_label(spec.engine, covered)
    own = rows[rows["label"] == label]
    ratios = ratios_along(own, spec, axes=axes, margin=judged.margin)
    points = select_rows(covered[covered["label"] == label], where={axis: (above,)}, axes=axes)
    return Evidence(own, ratios, planned=len(points), doubts=doubted(label=label, other=label))
