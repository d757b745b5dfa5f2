"""Published numbers at the points of a plan, and measured ratios over published ones.

Axes match by name and by value at paper scale: an axis that a document does not name has any value. A ratio
of ratios divides the measured ratio and both ends of its interval by the published one, which has no
interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from kvdyno.model.experiment import FigureSpec, Overlay, PublishedValue, TableSpec
from kvdyno.model.results import Axis, resolve_label, select_rows

from .frame import point_columns

#: What follows a point's columns in `Analysis.published`.
_COLUMNS = ("key", "cited", "source", "phase", "baseline", "unit", "published", "over", "low", "high", "n")


def beside(
    shown: Sequence[FigureSpec | TableSpec],
    overlays: Mapping[str, Overlay],
    *,
    planned: pd.DataFrame,
    ratios: pd.DataFrame,
    axes: Sequence[Axis],
) -> pd.DataFrame:
    """`Analysis.published`, for the figures and tables that name one of the overlays."""
    asked = dict.fromkeys((s.published, s.phase, s.ratio_to) for s in shown if s.published in overlays)
    names = point_columns([axis.name for axis in axes])
    cells: list[tuple[object, ...]] = []
    for key, phase, ratio_to in asked:
        overlay = overlays[str(key)]
        baseline = resolve_label(ratio_to, planned) if ratio_to else ""
        found = ratios[
            (ratios["baseline"] == baseline)
            & (ratios["metric"] == overlay.metric)
            & (ratios["phase"] == phase)
            & (ratios["kind"] == "ratio")
        ]
        unit = "ratio" if ratio_to else overlay.unit
        for each, value in _values(overlay, ratio_to):
            for row in _points(each, planned, axes=axes)[names].itertuples(index=False, name=None):
                against = _over(found, dict(zip(names, row, strict=True)), value)
                cited = (overlay.short, overlay.source)
                cells.append((*row, key, *cited, phase, baseline, unit, value, *against))
    return pd.DataFrame(cells, columns=[*names, *_COLUMNS])


def _values(overlay: Overlay, ratio_to: str | None) -> Iterator[tuple[PublishedValue, float]]:
    """Published values; with `ratio_to`, those over that engine's at the same axes, where it is above 0."""
    if ratio_to is None or overlay.ratio_to == ratio_to:
        yield from ((each, each.value) for each in overlay.values)
        return
    bases = [each for each in overlay.values if each.engine == ratio_to and each.value > 0]
    for each in (each for each in overlay.values if each.engine != ratio_to):
        yield from ((each, each.value / base.value) for base in bases if base.axes == each.axes)


def _points(value: PublishedValue, planned: pd.DataFrame, *, axes: Sequence[Axis]) -> pd.DataFrame:
    """The points of the plan that lie where the document has the value."""
    own = planned[planned["label"] == value.engine]
    return select_rows(own, where={axis: (at,) for axis, at in value.axes.items()}, axes=axes)


def _over(ratios: pd.DataFrame, point: Mapping[str, Any], published: float) -> tuple[float, ...]:
    """The measured ratio over the published one, with its interval and n; missing where one is not known."""
    keep = pd.Series(True, index=ratios.index)
    for name, value in point.items():
        keep &= ratios[name].isna() if pd.isna(value) else ratios[name] == value
    rows = ratios[keep]
    if rows.empty or published <= 0:
        return (math.nan, math.nan, math.nan, 0)
    row = rows.iloc[0]
    return (*(float(row[name]) / published for name in ("ratio", "low", "high")), int(row["n"]))
