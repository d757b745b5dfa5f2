"""Published numbers beside measured ones, in tables and figures."""

from __future__ import annotations

import pandas as pd

from kvdyno.model.experiment import FigureSpec, TableSpec
from kvdyno.model.results import Analysis, resolve_label

_POINT = ("label", "engine", "preset")


def beside_label(label: str) -> tuple[str, str]:
    """What tables call a contender's published numbers, and its measured ratio over the published one."""
    return f"{label}, published", f"{label}, measured over published"


def published_rows(spec: FigureSpec | TableSpec, analysis: Analysis) -> pd.DataFrame:
    """The rows of `Analysis.published` that belong to a figure or table."""
    if spec.published is None or analysis.published.empty:
        return analysis.published.iloc[:0]
    baseline = resolve_label(spec.ratio_to, analysis.frame) if spec.ratio_to else ""
    rows = analysis.select(analysis.published, where=spec.where, phase=spec.phase)
    return rows[(rows["key"] == spec.published) & (rows["baseline"] == baseline)]


def with_published(values: pd.DataFrame, spec: TableSpec, analysis: Analysis) -> pd.DataFrame:
    """A table's values, and published ones as those of further contenders: where engines are columns, they
    have columns of their own, and else rows.
    """
    rows = published_rows(spec, analysis)
    if rows.empty:
        return values
    point = [*_POINT, *analysis.axis_names]
    printed, over = (
        rows[point].assign(label=[beside_label(label)[which] for label in rows["label"]])
        for which in range(2)
    )
    parts = [
        values,
        printed.assign(value=rows["published"], unit=rows["unit"], n=0, status="ok"),
        over.assign(value=rows["over"], low=rows["low"], high=rows["high"], unit="ratio", n=rows["n"])[
            rows["over"].notna()
        ],
    ]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def with_published_column(table: pd.DataFrame, spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """A figure's table with the column `published`, empty where a point has no such number."""
    rows = published_rows(spec, analysis)
    if rows.empty:
        return table
    point = [*_POINT, *analysis.axis_names]
    return table.merge(rows[[*point, "published"]], on=point, how="left")


def published_caption(spec: FigureSpec | TableSpec, analysis: Analysis) -> str:
    """A sentence that cites the published numbers that are shown, or states that none is."""
    if spec.published is None:
        return ""
    rows = published_rows(spec, analysis)
    if rows.empty:
        return f" {spec.published} has no number at these points."
    first = rows.iloc[0]
    return f" Published: {first['cited']}, {first['source']}."


def published_name(spec: FigureSpec, analysis: Analysis) -> str:
    """What a figure's legend calls published numbers; "" if it shows none."""
    rows = published_rows(spec, analysis)
    return f"published: {rows['cited'].iloc[0]}" if len(rows) else ""
