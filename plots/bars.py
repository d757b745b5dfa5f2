"""Bars of a value at each x, one per series, with its interval.

A point that has no value because its runs failed has the reason in its place; no bar is left out silently.
Options: `log: true` draws values on a logarithmic scale, as dots: a bar's length means nothing
where there is no zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import Binding, OptionForms, TableKind, style
from .units import axis_text

TABLE: TableKind = "estimates"
OPTIONS: OptionForms = {"log": "flag"}

_GROUP_WIDTH = 0.8


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        draw_panel(axes, rows, binding, looks, handles)
    return style.finish(figure, binding, handles)


def draw_panel(
    axes: Axes,
    rows: pd.DataFrame,
    binding: Binding,
    looks: dict[tuple[object, ...], style.Look],
    handles: dict[str, Any],
) -> None:
    """Bars of one panel's rows, with axes; new names go into `handles`."""
    groups = list(rows[binding.x].drop_duplicates()) if binding.x else [""]
    width, log = _GROUP_WIDTH / len(looks), bool(binding.options.get("log"))
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
    unit = binding.units.get(binding.x or "", "")
    axes.set_xticks(range(len(groups)), [axis_text(v, unit) if binding.x else "" for v in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(binding.x or "")
    tops = np.concatenate([rows["value"].to_numpy(), rows["high"].to_numpy()])
    style.value_axis(axes, tops, binding, log=log, from_zero=True)
