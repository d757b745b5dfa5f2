"""Runs that did not end well, as tables and figures show them: no point is left out silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kvdyno.model.results import Analysis
from plots.units import status_text


def failed_points(
    measured: pd.DataFrame, where: Mapping[str, Sequence[Any]], analysis: Analysis
) -> pd.DataFrame:
    """The points of `where` of which no run ended well, with the `status` of their first run.

    Empty if `measured` is: a table without any value needs no reasons.
    """
    columns = _point_columns(analysis)
    runs = analysis.select(analysis.frame, where=where)
    well = runs.loc[runs["status"] == "ok", columns].drop_duplicates()
    ill = runs[runs["status"] != "ok"].drop_duplicates(columns)[[*columns, "status"]]
    merged = ill.merge(well, on=columns, how="left", indicator=True)
    absent: pd.DataFrame = merged[merged["_merge"] == "left_only"].drop(columns="_merge")
    return absent if len(measured) else absent.iloc[:0]


def with_losses(points: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """The points with a column `lost`: how some of their runs ended, as "2 of 3 out of memory", else ""."""
    runs = analysis.frame.drop_duplicates("run_id")
    columns = _point_columns(analysis)
    groups = runs.groupby(columns, dropna=False, sort=False)["status"]
    lost = {_key(key): _loss(statuses) for key, statuses in groups}
    keys = points[columns].itertuples(index=False, name=None)
    return points.assign(lost=[lost.get(_key(key), "") for key in keys])


def _loss(statuses: pd.Series[str]) -> str:
    counts = statuses[statuses != "ok"].value_counts(sort=False)
    return ", ".join(f"{n} of {len(statuses)} {status_text(str(status))}" for status, n in counts.items())


def _point_columns(analysis: Analysis) -> list[str]:
    return ["label", "engine", "preset", *analysis.axis_names]


def _key(values: Sequence[Any]) -> tuple[Any, ...]:
    """Equal for equal points, also where an axis has no value."""
    return tuple(None if pd.isna(value) else value for value in values)
