"""What a search's confirmation shows: candidates, the second default and other engines, in fresh runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import scipy

from kvdyno.model.axes import WORKLOAD
from kvdyno.model.results import Analysis
from kvdyno.model.search import (
    Confirmed,
    ConfirmedRow,
    FreshGain,
    Objective,
    Rival,
    Try,
    better_ratio,
)
from kvdyno.model.study import Cost

from .judging import COSTS
from .search import DEFAULT, TWIN, phase_rank

_BETTER = {True: "better", False: "worse"}
#: How often an interval of any candidate may miss.
_MISSES = 0.05


def confirmed(
    found: Analysis,
    tries: Mapping[str, Try],
    *,
    seen: Sequence[str],
    objectives: Sequence[Objective],
    axis: str = WORKLOAD,
) -> tuple[Confirmed, ...]:
    """Each chosen candidate over the default, at all workloads of the confirmation: values of the axis."""
    first = objectives[0]
    noise = _noise(found, [TWIN, *tries], objective=first, seen=seen, axis=axis)
    results = []
    for label, each in tries.items():
        rows = rows_of(found, label, over=DEFAULT, objectives=objectives, seen=seen, axis=axis)
        gains = [
            better_ratio(row.ratio, higher=first.higher)
            for row in rows
            if row.metric == first.metric and not row.unseen
        ]
        fresh = _fresh(gains, noise=noise, among=len(tries)) if gains else None
        searched, promised = (math.exp(its[0]) if its else 1.0 for its in (each.gains, each.believed))
        results.append(Confirmed(each.number, label, each.options, rows, searched, promised, fresh))
    return tuple(results)


def _noise(
    found: Analysis, labels: Sequence[str], *, objective: Objective, seen: Sequence[str], axis: str
) -> tuple[float, float]:
    """The standard error of a contender's mean gain over the searched workloads, and its degrees of freedom;
    NaN without repetitions. A contender has few repetitions, and its own spread is hardly known from them. So
    the squared errors of all contenders, whose designs are one, are averaged.
    """
    rows = [
        row
        for label in labels
        for row in _ratios(found, label, over=DEFAULT, metric=objective.metric, axis=axis)
        if str(row[WORKLOAD]) in seen and row["freedom"] > 0
    ]
    if not rows:
        return math.nan, math.nan
    square = math.fsum(row["error"] ** 2 for row in rows) / len(rows)
    workloads = len({row[WORKLOAD] for row in rows})
    return math.sqrt(square / workloads), math.fsum(row["freedom"] for row in rows)


def _fresh(gains: Sequence[float], *, noise: tuple[float, float], among: int) -> FreshGain:
    """The mean of these logarithms as a ratio. The intervals of all candidates hold together (Bonferroni).
    Contenders share the default's runs, which the degrees of freedom leave out: a test simulates how often
    an interval misses.
    """
    mean, (error, freedom) = math.fsum(gains) / len(gains), noise
    if math.isnan(error):
        return FreshGain(math.exp(mean), None, None)
    reach = error * float(scipy.stats.t.ppf(1 - _MISSES / (2 * among), freedom))
    return FreshGain(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


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
    """The candidate with the largest fresh gain in the first objective, if it is shown to be one, and the
    candidate worse at none of the searched workloads. None: the default stays.
    """

    def wins(each: Confirmed) -> bool:
        worse = any(r.better is False for r in each.rows if r.metric == objective.metric and not r.unseen)
        return each.fresh is not None and each.fresh.shown and not worse

    return max(filter(wins, results), key=_value, default=None)


def _value(each: Confirmed) -> float:
    return each.fresh.value if each.fresh else 0.0
