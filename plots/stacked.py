"""Stacked bars: how a total divides into parts, for each x and series.

The parts are the values of the column `part`, in the order of the table. Options: `share: true` draws
percentages of the total; `metrics` names the parts where an experiment binds this kind. A place where no part
has a value shows the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import Binding, OptionForms, Sheet, TableKind, scales, style
from .units import axis_text

TABLE: TableKind = "estimates"
OPTIONS: OptionForms = {"share": "flag", "metrics": "words"}

_GROUP_WIDTH = 0.8
_LETTERS_BELOW = 9.7  # an inch: names stand level below a panel as long as they have no more together


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    parts = list(table["part"].drop_duplicates())
    if binding.options.get("share"):
        binding = replace(binding, label="share of the whole", unit="%")
    stacks = list(style.looks(table, binding).items())
    handles: dict[str, Any] = {}
    heights = [_panel(axes, rows, binding, parts, stacks, handles) for axes, rows in panels]
    # One scale for all, so that panels can be compared.
    shown = [scales.scaled(axes, heights, binding.unit) for axes, _ in panels]
    scales.value_axes(shown, binding, log=False, from_zero=True)
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
    highest = 0.0
    ticks: list[float] = []
    names: list[tuple[str, ...]] = []
    for place, (key, look) in enumerate(stacks):
        mine = style.rows_of(rows, binding.series, key)
        for spot, group in enumerate(groups):
            centre = spot + (place - (len(stacks) - 1) / 2) * width
            one = mine[mine[binding.x] == group] if binding.x else mine
            highest = max(highest, _stack(axes, centre, width * 0.92, one, parts, share, handles))
            if one["value"].isna().all():
                style.absence(axes, np.full(len(one[:1]), centre), one[:1], colour=style.QUIET)
            ticks.append(centre)
            mark = look.name if binding.series or not binding.x else ""
            names.append(tuple(part for part in (mark, axis_text(group, unit)) if part))
    _names_below(axes, ticks, names, binding.sheet)
    return highest


def _names_below(axes: Axes, ticks: list[float], names: list[tuple[str, ...]], sheet: Sheet) -> None:
    """What the stacks are called: a line for each part of a name or, where they would overlap, aslant."""
    room = _LETTERS_BELOW * sheet.alone / sheet.letters
    aslant = len(names) * max((len(part) for name in names for part in name), default=0) > room
    axes.set_xticks(ticks, [(", " if aslant else "\n").join(name) for name in names])
    axes.tick_params(axis="x", length=0, labelsize=style.small())
    if aslant:
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


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
        looks = style.stall_look(part) or {
            "facecolor": style.PARTS[number % len(style.PARTS)],
            "hatch": style.HATCHES[number % len(style.HATCHES)],
            "linewidth": 0,
        }
        bar = axes.bar(centre, heights[number], width, bottom=bottoms[number], **looks)
        handles.setdefault(part, bar)
    return float(heights.sum())
