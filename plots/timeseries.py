"""A value over the time of a phase, one thin line per run.

Every run is drawn, so that a reader sees what repeats and what happened once. Time starts at the first
interval of each run.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from . import Binding, OptionForms, TableKind, style

TABLE: TableKind = "series"
OPTIONS: OptionForms = {}


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        for key, look in looks.items():
            mine = style.rows_of(rows, binding.series, key)
            for _, run in mine.groupby("run", sort=False):
                (line,) = axes.plot(
                    run["elapsed"] - run["elapsed"].iloc[0], run["value"],
                    color=look.colour, linestyle=look.line, linewidth=0.9, alpha=0.7, label=look.name,
                )  # fmt: skip
                handles.setdefault(look.name, line)
        axes.set_xlabel("time, s")
        axes.margins(x=0)
        style.value_axis(axes, rows["value"], binding, log=False, from_zero=True)
    return style.finish(figure, binding, handles)
