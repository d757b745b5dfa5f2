"""Stacked bars: how a total divides into parts, for each x and series.

The parts are the values of the column `part`, in the order of the table. Options: `share: true` draws
percentages of the total; `metrics` names the parts where an experiment binds this kind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import Binding, TableKind, style
from .units import axis_text

TABLE: TableKind = "estimates"
OPTIONS = frozenset({"share", "metrics"})

_GROUP_WIDTH = 0.8


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; the table has a column `part` besides those in plots/__init__.py."""
    figure, panels = style.panels(table, binding)
    parts = list(table["part"].drop_duplicates())
    if binding.options.get("share"):
        binding = replace(binding, label=f"share of {binding.label}", unit="%")
    stacks = list(style.looks(table, binding).items())
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        highest = _panel(axes, rows, binding, parts, stacks, handles)
        style.value_axis(axes, [highest], binding, log=False, from_zero=True)
    return style.finish(figure, binding, handles)


def _panel(
    axes: Axes,
    rows: pd.DataFrame,
    binding: Binding,
    parts: list[str],
    stacks: list[tuple[tuple[Any, ...], style.Look]],
    handles: dict[str, Any],
) -> float:
    """Draw one panel; the height of its highest stack."""
    unit = binding.units.get(binding.x or "", "")
    groups = list(rows[binding.x].drop_duplicates()) if binding.x else [""]
    width, share = _GROUP_WIDTH / len(stacks), bool(binding.options.get("share"))
    highest, ticks, names = 0.0, [], []
    for place, (key, look) in enumerate(stacks):
        mine = style.rows_of(rows, binding.series, key)
        for spot, group in enumerate(groups):
            centre = spot + (place - (len(stacks) - 1) / 2) * width
            one = mine[mine[binding.x] == group] if binding.x else mine
            highest = max(highest, _stack(axes, centre, width * 0.92, one, parts, share, handles))
            style.absence(axes, np.full(len(one), centre), one, colour=style.QUIET)
            ticks.append(centre)
            names.append("\n".join(part for part in (look.name, axis_text(group, unit)) if part))
    axes.set_xticks(ticks, names)
    axes.tick_params(axis="x", length=0, labelsize=7)
    return highest


def _stack(
    axes: Axes,
    centre: float,
    width: float,
    rows: pd.DataFrame,
    parts: list[str],
    share: bool,
    handles: dict[str, Any],
) -> float:
    """Draw one stack; its height."""
    heights = np.array([rows.loc[rows["part"] == part, "value"].sum() for part in parts])
    if share and heights.sum():
        heights = 100 * heights / heights.sum()
    bottoms = np.cumsum(heights) - heights
    for number, part in enumerate(parts):
        bar = axes.bar(centre, heights[number], width, bottom=bottoms[number], linewidth=0)
        bar.patches[0].set_facecolor(style.COLOURS[number % len(style.COLOURS)])
        bar.patches[0].set_hatch(style.HATCHES[number % len(style.HATCHES)])
        handles.setdefault(part, bar)
    return float(heights.sum())
