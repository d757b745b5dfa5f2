"""Lines of a value over an axis of the grid, one per series, with intervals.

Numbers that grow by factors (sizes, thread counts) stand on a logarithmic axis with their own values as
ticks. A point whose runs all failed is a cross at the bottom with the reason. Values that span decades stand
on a logarithmic scale. Options: `log` chooses the scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from . import Binding, OptionForms, TableKind, scales, style
from .units import axis_text

TABLE: TableKind = "estimates"
OPTIONS: OptionForms = {"log": "flag"}

#: Above this largest / smallest, x is drawn on a logarithmic scale.
_LOG_FROM = 8


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table. `binding.x` is required."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    log = scales.logarithmic((rows for _, rows in panels), binding)
    for axes, every in panels:
        rows = scales.placeable(every, log=log)
        places = _x_axis(axes, rows, binding)
        for key, look in looks.items():
            mine = style.rows_of(rows, binding.series, key)
            line = _line(axes, mine, [places[v] for v in mine[binding.x]], look, log=log)
            handles.setdefault(look.name, line)
        # A place where no series has a value is shown, too: its reason stands there.
        axes.update_datalim([(place, 0) for place in places.values()], updatey=False)
        axes.autoscale_view(scaley=False)
    shown = [scales.scaled(axes, scales.extent(rows), binding.unit) for axes, rows in panels]
    scales.value_axes(shown, binding, log=log, from_zero=True)
    return style.finish(figure, binding, handles | style.published_handle(binding))


def _line(axes: Axes, rows: pd.DataFrame, spots: list[float], look: style.Look, *, log: bool) -> Line2D:
    order = np.argsort(spots)
    rows, x = rows.iloc[order], np.asarray(spots, dtype=float)[order]
    (line,) = axes.plot(
        x, rows["value"], color=look.colour, marker=look.marker, linestyle=look.line, label=look.name,
        markeredgecolor=style.PAPER, markeredgewidth=0.6,
    )  # fmt: skip
    style.intervals(axes, x, rows, colour=look.colour)
    style.absence(axes, x, rows, colour=look.colour, aside=7)
    style.published(axes, x, rows, look, log=log)
    return line


def _x_axis(axes: Axes, rows: pd.DataFrame, binding: Binding) -> dict[Any, float]:
    """Scale and ticks of x; where each of its values stands."""
    values = list(rows[binding.x].drop_duplicates())
    unit = binding.units.get(binding.x or "", "")
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    if not numeric:
        axes.set_xticks(range(len(values)), [axis_text(v, unit) for v in values])
        axes.set_xlabel(binding.x or "")
        return {v: float(place) for place, v in enumerate(values)}
    values.sort()
    if values and values[0] > 0 and values[-1] / values[0] >= _LOG_FROM:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values, [axis_text(v, unit) for v in values])
    axes.margins(x=0.08)
    axes.set_xlabel(binding.x or "")
    return {v: float(v) for v in values}
