"""A value over the time of a phase, one thin line per run.

Every run is drawn, so that a reader sees what repeats and what happened once; the more runs a panel has, the
thinner are its lines. Time starts at the first interval of each run. A run of one interval is a dot.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from . import Binding, OptionForms, TableKind, scales, style

TABLE: TableKind = "series"
OPTIONS: OptionForms = {}

_FEW, _THICK, _THIN = 8, 1.0, 0.6  # runs of a panel, and widths of lines in points


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        runs = rows["run"].nunique()
        for key, look in looks.items():
            mine = style.rows_of(rows, binding.series, key)
            for _, run in mine.groupby("run", sort=False):
                (line,) = axes.plot(
                    run["elapsed"] - run["elapsed"].iloc[0], run["value"],
                    color=look.colour, linestyle=look.line, linewidth=_THICK if runs <= _FEW else _THIN,
                    marker="." if len(run) == 1 else "", alpha=0.75, label=look.name,
                )  # fmt: skip
                handles.setdefault(look.name, line)
        axes.set_xlabel("time, s")
        axes.margins(x=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: scales.trimmed(v)))
    shown = [scales.scaled(axes, rows["value"], binding.unit) for axes, rows in panels]
    scales.value_axes(shown, binding, log=False, from_zero=True)
    return style.finish(figure, binding, handles)
