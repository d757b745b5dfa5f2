"""What a search's confirmation shows: candidates, the second default and other engines, in fresh runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kvdyno.model.axes import WORKLOAD
from kvdyno.model.results import Analysis
from kvdyno.model.search import (
    Confirmed,
    ConfirmedRow,
    Objective,
    Rival,
    Try,
    better_ratio,
)
from kvdyno.model.study import Cost

from .judging import COSTS
from .search import DEFAULT, phase_rank

_BETTER = {True: "better", False: "worse"}


def confirmed(
    found: Analysis,
    tries: Mapping[str, Try],
    *,
    seen: Sequence[str],
    objectives: Sequence[Objective],
    axis: str = WORKLOAD,
) -> tuple[Confirmed, ...]:
    """Each chosen candidate over the default, at all workloads of the confirmation: values of the axis."""
    results = []
    for label, each in tries.items():
        rows = rows_of(found, label, over=DEFAULT, objectives=objectives, seen=seen, axis=axis)
        first = objectives[0]
        gains = [
            better_ratio(row.ratio, higher=first.higher)
            for row in rows
            if row.metric == first.metric and not row.unseen
        ]
        fresh = math.exp(sum(gains) / len(gains)) if gains else None
        searched, promised = (math.exp(its[0]) if its else 1.0 for its in (each.gains, each.believed))
        results.append(Confirmed(each.number, label, each.options, rows, searched, promised, fresh))
    return tuple(results)


def rows_of(
    found: Analysis,
    label: str,
    *,
    over: str,
    objectives: Sequence[Objective],
    seen: Sequence[str],
    axis: str = WORKLOAD,
) -> tuple[ConfirmedRow, ...]:
    """One contender of the confirmation over another, for each objective at all workloads."""
    return tuple(
        _row(row, one, seen=seen)
        for one in objectives
        for row in _ratios(found, label, over=over, metric=one.metric, axis=axis)
    )


def _ratios(found: Analysis, label: str, *, over: str, metric: str, axis: str) -> Sequence[Mapping[Any, Any]]:
    """A ratio of the metric for each value of the axis, in the phase that is looked at first."""
    table = found.ratios
    mine = table[
        (table["label"] == label)
        & (table["baseline"] == over)
        & (table["metric"] == metric)
        & table["ratio"].notna()
    ]
    ranked = mine.assign(rank=mine["phase"].map(phase_rank)).sort_values("rank", kind="stable")
    best = ranked.drop_duplicates(axis).sort_index().rename(columns={axis: WORKLOAD})
    return best.to_dict("records")


def _row(row: Mapping[Any, Any], objective: Objective, *, seen: Sequence[str]) -> ConfirmedRow:
    low, high = _interval(row)
    shown = row["verdict"] not in ("same", "equal", "undecided")
    better = (row["ratio"] > 1) == objective.higher if shown else None
    return ConfirmedRow(
        workload=str(row[WORKLOAD]),
        metric=objective.metric,
        ratio=float(row["ratio"]),
        low=low,
        high=high,
        n=int(row["n"]),
        verdict=_BETTER[better] if better is not None else str(row["verdict"]),
        better=better,
        unseen=str(row[WORKLOAD]) not in seen,
    )


def _interval(row: Mapping[Any, Any]) -> tuple[float | None, float | None]:
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
    return low, high


def costs_of(found: Analysis, winner: Confirmed, *, axis: str = WORKLOAD) -> tuple[Cost, ...]:
    """COSTS of the winner over the default's, at all workloads where both have them."""
    return tuple(
        Cost(str(row[WORKLOAD]), metric, float(row["ratio"]), *_interval(row), int(row["n"]))
        for metric in COSTS
        for row in _ratios(found, winner.label, over=DEFAULT, metric=metric, axis=axis)
    )


def rivals_of(
    found: Analysis,
    labels: Sequence[str],
    tries: Mapping[str, Try],
    *,
    seen: Sequence[str],
    objectives: Sequence[Objective],
    axis: str = WORKLOAD,
) -> tuple[Rival, ...]:
    """The other engines of the confirmation, beside the default and the chosen candidates."""

    def rows(label: str, over: str) -> tuple[ConfirmedRow, ...]:
        return rows_of(found, label, over=over, objectives=objectives, seen=seen, axis=axis)

    return tuple(
        Rival(label, rows(label, DEFAULT), {one.number: rows(name, label) for name, one in tries.items()})
        for label in labels
    )


def winner_of(results: Sequence[Confirmed], *, objective: Objective) -> Confirmed | None:
    """The candidate with the largest fresh gain in the first objective that is shown to be better at one of
    the searched workloads and worse at none. None: the default stays.
    """

    def wins(each: Confirmed) -> bool:
        shown = [r.better for r in each.rows if r.metric == objective.metric and not r.unseen]
        return True in shown and False not in shown

    return max((each for each in results if wins(each)), key=lambda each: each.fresh or 0, default=None)
