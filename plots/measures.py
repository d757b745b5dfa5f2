"""Several metrics side by side: axes for each, with its own unit, bars at each x as in `bars`.

Options: `metrics` names them, in the order of their axes. Every axis of values starts at zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from . import Binding, OptionForms, TableKind, bars, scales, style

TABLE: TableKind = "estimates"
OPTIONS: OptionForms = {"metrics": "words"}


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, replace(binding, panels=("measure", *binding.panels)))
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    shown = []
    for axes, rows in panels:
        bars.draw_panel(axes, rows, binding, looks, handles, log=False)
        unit, measure = next(iter(rows["unit"].dropna()), ""), str(rows["measure"].iloc[0])
        shown.append(scales.scaled(axes, scales.extent(rows), str(unit), measure))
    scales.value_axes(shown, replace(binding, label=""), log=False, from_zero=True)
    return style.finish(figure, binding, handles)
