"""Bars of a value at each x, one per series, with its interval.

A point that has no value because its runs failed has the reason in its place; no bar is left out silently.
Values that span decades stand on a logarithmic scale, as dots: a bar's length means nothing where there is no
zero. Options: `log` chooses the scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import Binding, OptionForms, TableKind, scales, style
from .units import axis_text

TABLE: TableKind = "estimates"
OPTIONS: OptionForms = {"log": "flag"}

_GROUP_WIDTH = 0.8
_FEW = 4


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    log = scales.logarithmic((rows for _, rows in panels), binding)
    for axes, rows in panels:
        draw_panel(axes, rows, binding, looks, handles, log=log)
    shown = [scales.scaled(axes, scales.extent(rows), binding.unit) for axes, rows in panels]
    scales.value_axes(shown, binding, log=log, from_zero=True)
    return style.finish(figure, binding, handles | style.published_handle(binding))


def draw_panel(
    axes: Axes,
    rows: pd.DataFrame,
    binding: Binding,
    looks: dict[tuple[object, ...], style.Look],
    handles: dict[str, Any],
    *,
    log: bool,
) -> None:
    """Bars of one panel's rows, or dots if `log`, with the axis of x; new names go into `handles`."""
    rows = scales.placeable(rows, log=log)
    groups = list(rows[binding.x].drop_duplicates()) if binding.x else [""]
    width = _GROUP_WIDTH / len(looks)
    for place, (key, look) in enumerate(looks.items()):
        mine = style.rows_of(rows, binding.series, key)
        offset = (place - (len(looks) - 1) / 2) * width
        spots = offset + np.array([groups.index(v) if binding.x else 0 for v in mine[binding.x or "value"]])
        heights = np.nan_to_num(mine["value"].to_numpy(dtype=float))
        mark: Any
        if log:
            (mark,) = axes.plot(spots, mine["value"], look.marker, color=look.colour)
        else:
            mark = axes.bar(spots, heights, width * 0.92, color=look.colour, hatch=look.hatch, linewidth=0)
        handles.setdefault(look.name, mark)
        style.intervals(axes, spots, mine)
        style.absence(axes, spots, mine, colour=look.colour)
        style.published(axes, spots, mine, look, log=log)
    unit = binding.units.get(binding.x or "", "")
    axes.set_xticks(range(len(groups)), [axis_text(v, unit) if binding.x else "" for v in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(binding.x or "")
    side = 0.75 if len(groups) == 1 and len(looks) <= _FEW else 0.5  # few bars alone are no wall
    axes.set_xlim(-side, len(groups) - 1 + side)
