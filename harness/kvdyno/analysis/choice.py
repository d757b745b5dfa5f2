"""Which contender is cheapest for which mix of two operations, such as queries and updates.

A run has a cost for each of the two, so that r operations of the first kind for one of the second cost
second + r x first: a line in r, of which a map shows nine values around the point where both kinds cost the
same. Contenders are compared within a repetition, as everywhere (ratios.py). A cell is decided where every
other contender is shown to cost more, and none lacks a ratio: an intersection-union test (Berger,
"Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982), whose p-value is the
largest of theirs. The cells of a figure are one family (verdicts.py). That the cheapest was chosen from the
same runs favours it a little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from kvdyno.errors import SpecError
from kvdyno.model.experiment import FigureSpec
from kvdyno.model.results import Axis, select_rows

from .ratios import ratios_to
from .verdicts import LEVEL, holm

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_MIX, _COST = "mix", "cost of a mix"
_STEPS = range(-4, 5)  # half powers of ten
_CONTENDER = ("label", "engine", "preset")
#: What follows a point's columns in `Analysis.choices`.
COLUMNS = ("figure", _MIX, "rival", "value", "low", "high", "n", "decided", "unit", "status")


def choices(
    frame: pd.DataFrame, figures: Sequence[FigureSpec], *, axes: Sequence[Axis], margin: float
) -> pd.DataFrame:
    """`Analysis.choices`. Raises SpecError where a figure's costs are neither times nor rates."""
    names = [axis.name for axis in axes]
    parts = []
    for figure in figures:
        if figure.against is not None:
            table = _mixed(select_rows(frame, where=figure.where, axes=axes), figure)
            if table["label"].nunique() > 1:  # there is something to choose from
                parts.append(_choices(table, figure, names=names, margin=margin))
    columns = [*_CONTENDER, *names, *COLUMNS]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _choices(table: pd.DataFrame, figure: FigureSpec, *, names: Sequence[str], margin: float) -> pd.DataFrame:
    places = [*names, _MIX]
    labels = list(table["label"].drop_duplicates())
    compared = ratios_to(table, axes=places, baselines=labels, metric=_COST, margin=margin).points
    logs = table.assign(log=np.log(table["value"]))
    means = logs.groupby(["label", *places], dropna=False, sort=False)["log"].mean().reset_index()
    there = means.groupby(places, dropna=False, sort=False)["log"]
    best = means.assign(contenders=there.transform("size")).loc[there.idxmin()].drop(columns="log")
    others = compared.merge(best.rename(columns={"label": "baseline"}), on=["baseline", *places])
    others = others.assign(p=others["p"].fillna(1).where(others["ratio"] > 1, 1))
    groups = others.groupby(places, dropna=False, sort=False)
    all_compared = groups["p"].transform("size") == others["contenders"] - 1
    others = others.assign(p=groups["p"].transform("max").where(all_compared, 1))
    rivals = others.loc[groups["ratio"].idxmin()].rename(columns={"label": "rival", "ratio": "value"})
    rivals = rivals.assign(decided=holm(rivals["p"]) <= LEVEL)
    chosen = table.drop_duplicates("label")[list(_CONTENDER)]
    rows = rivals.drop(columns=["engine", "preset"]).rename(columns={"baseline": "label"})
    rows = rows.merge(chosen, on="label").assign(figure=figure.id, unit="ratio", status="ok")
    return rows[[*_CONTENDER, *names, *COLUMNS]]


def _mixed(frame: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """A row for each run and mix, whose value is what the mix costs for one operation of the second kind."""
    assert figure.against is not None
    first = _seconds(frame, figure, figure.metric, figure.phase)
    second = _seconds(frame, figure, figure.against.metric, figure.against.phase)
    both = first.merge(second[["run_id", "value"]], on="run_id", suffixes=("", "_second"))
    both = both[(both["value"] > 0) & (both["value_second"] > 0)]
    parts = [
        both.assign(value=both["value_second"] + mix * both["value"], mix=mix) for mix in _mixes(both)
    ] or [both.assign(mix=np.nan)]
    mixed = pd.concat(parts, ignore_index=True).drop(columns="value_second")
    return mixed.assign(metric=_COST, phase=_COST, unit="s", headline=False)


def _seconds(frame: pd.DataFrame, figure: FigureSpec, metric: str, phase: str) -> pd.DataFrame:
    """The metric's rows as seconds of an operation: of a time itself, of a rate its inverse."""
    rows = frame[(frame["metric"] == metric) & (frame["phase"] == phase)]
    for unit in rows["unit"].unique():
        if not unit.endswith("/s") and unit.split("/")[0] not in _SECONDS:
            raise SpecError(
                f"figure {figure.id!r}: expected a time or a rate as a cost, found {metric} in {unit!r}",
                remedy="name metrics such as sample.latency.mean and throughput",
            )
    rate = rows["unit"].str.endswith("/s")
    seconds = rows["value"] * rows["unit"].str.split("/").str[0].map(_SECONDS).fillna(1)
    return rows.assign(value=seconds.where(~rate, 1 / rows["value"]))


def _mixes(both: pd.DataFrame) -> list[float]:
    """Operations of the first kind for one of the second: 1, 3, 10 and so on, or a whole number's inverse."""
    if both.empty:
        return []
    even = float(both["value_second"].median() / both["value"].median())
    middle = round(2 * math.log10(even))
    return [_nice(middle + step) for step in _STEPS]


def _nice(halves: int) -> float:
    """10^(halves / 2), with 3 for the root of ten."""
    whole, odd = divmod(abs(halves), 2)
    size = 10.0**whole * (3 if odd else 1)
    return size if halves >= 0 else 1 / size
