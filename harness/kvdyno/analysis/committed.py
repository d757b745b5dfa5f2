"""Committed metrics to conclusions: the same statistics as of records, without what only records hold.

There are no cautions, series, events or percentiles. Doubts about claims are those that were found when the
metrics were published.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from kvdyno.model.experiment import AxisValue
from kvdyno.model.origin import Questions
from kvdyno.model.results import Analysis, Axis, Contender

from .claims import judge_claims
from .evidence import Doubts, Objection
from .frame import IDENTITY, MEASURED, point_columns
from .judged import Judged, evidence, judge


def analyse_metrics(frame: pd.DataFrame, asked: Questions) -> Analysis:
    """What a tidy frame (frame.tidy) shows of these questions.

    Values of axes, and contenders, are in the frame's order. Metrics that nothing asks for are left out.
    """
    names = axis_columns(frame)
    wanted = {"throughput", *(t.metric for t in asked.tables), *(c.metric for c in asked.claims)}
    few = frame[frame["metric"].isna() | frame["metric"].isin(sorted(wanted))]
    axes = tuple(_axis(name, frame, asked) for name in names)
    judged = judge(
        few,
        axes=names,
        shown=asked.tables,
        claims=asked.claims,
        baseline=asked.baseline,
        margin=asked.same_within,
    )
    return concluded(judged, asked, axes=axes, planned=frame[point_columns(names)].drop_duplicates())


def axis_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that are axes of the grid."""
    return [name for name in frame.columns if name not in (*IDENTITY, *MEASURED)]


def axis_values(name: str, frame: pd.DataFrame) -> tuple[AxisValue, ...]:
    """The axis' values, in the frame's order."""
    return tuple(dict.fromkeys(frame[name].dropna().tolist()))


def _axis(name: str, frame: pd.DataFrame, asked: Questions) -> Axis:
    values = axis_values(name, frame)
    return Axis(name, asked.units.get(name, ""), values, {value: frozenset({value}) for value in values})


def concluded(judged: Judged, asked: Questions, *, axes: tuple[Axis, ...], planned: pd.DataFrame) -> Analysis:
    """What is shown of metrics that answer these questions. Names no experiment, machine or time."""
    names = [axis.name for axis in axes]
    found = [
        evidence(
            spec,
            judged=judged,
            planned=planned,
            axes=axes,
            doubted=lambda claim=spec.id, **_: _doubts(claim, asked),
        )
        for spec in asked.claims
    ]
    runs = judged.frame.drop_duplicates("run_id")
    nothing = pd.DataFrame()
    return Analysis(
        experiment="",
        profile="",
        axes=axes,
        contenders=_contenders(judged.frame, asked),
        baseline=judged.baseline,
        headline_metric=judged.metric,
        headline_phases=judged.phases,
        same_within=asked.same_within,
        frame=judged.frame,
        planned=planned,
        estimates=judged.estimates,
        ratios=judged.ratios.points,
        overall=judged.ratios.overall,
        pairs=nothing,
        pairs_overall=nothing,
        runs=nothing,
        steadiness=nothing,
        percentiles=nothing,
        choices=nothing,
        series=nothing,
        events=nothing,
        published=nothing,
        claims=judge_claims(asked.claims, evidence=found, axes=names),
        failures=(),
        cautions=(),
        noise=(),
        workloads={},
        machines=(),
        confinements=(),
        devices=(),
        runs_planned=len(runs),
        runs_recorded=len(runs),
        runs_ok=int((runs["status"] == "ok").sum()),
        started_at="",
        ended_at="",
    )


def _doubts(claim: str, asked: Questions) -> Doubts:
    """The doubts about one claim that were found when the metrics were published."""
    known = [doubt for doubt in asked.doubts if doubt.claim == claim]

    def doubt(place: Mapping[str, AxisValue]) -> Objection | None:
        here = (each for each in known if all(place.get(k) == v for k, v in each.axes.items()))
        return next((Objection(each.reason, each.remedy) for each in here), None)

    return doubt


def _contenders(frame: pd.DataFrame, asked: Questions) -> tuple[Contender, ...]:
    rows = frame.drop_duplicates("label")[list(IDENTITY)].itertuples(index=False, name=None)
    return tuple(
        Contender(
            label=label,
            engine=engine,
            preset=preset,
            version=asked.engines.get(label, ""),
            summary="",
            caveats=(),
            build="",
            binary_sha256="",
            options={},
            durability=None,
        )
        for label, engine, preset in rows
    )
