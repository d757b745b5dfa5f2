"""The interactive part of the HTML report: a series over time, drawn by bokeh, chosen by point and column.

One plot serves all points: the page's own script swaps its data. Bokeh's script is part of the page; nothing
is loaded from a network.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from bokeh.embed import components
from bokeh.models import ColumnDataSource, DataRange1d, HoverTool
from bokeh.plotting import figure
from bokeh.resources import Resources

from kvdyno.model.results import Analysis
from plots.style import COLOURS
from plots.units import axis_text, scale_for

from .words import metric_title

#: Intervals shown per line; longer series are averaged over equal stretches. The budget is for the page.
_MOST_POINTS, _FEWEST_POINTS, _BUDGET = 300, 60, 200_000
_GREY = "#7D8590"


@dataclass(frozen=True)
class Timeline:
    """What the template places: bokeh's library, the plot's script and element, its data, and the choices."""

    library: str
    script: str
    element: str
    data: str
    points: tuple[str, ...]
    columns: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    averaged: bool


def build_timeline(analysis: Analysis) -> Timeline | None:
    """The timeline of all runs that left a series; None if there are none."""
    series = analysis.series
    if series.empty:
        return None
    labels = sorted({c.label for c in analysis.contenders})
    colours = {label: COLOURS[place % len(COLOURS)] for place, label in enumerate(labels)}
    found = list(series["column"].drop_duplicates())
    columns = tuple(sorted(found, key=lambda column: column != analysis.headline_metric))
    lines = series.groupby(["run_id", "column"])["value"].size()
    most = max(_FEWEST_POINTS, min(_MOST_POINTS, _BUDGET // len(lines)))
    names = _point_names(series, analysis)
    data = {
        point: {
            column: _lines(rows[rows["column"] == column], colours, most)
            for column in columns
        }
        for point, rows in series.groupby(names, sort=False)
    }  # fmt: skip
    script, element = components(_plot())
    return Timeline(
        library=Resources(mode="inline", components=["bokeh"]).render_js(),
        script=script,
        element=element,
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        points=tuple(data),
        columns=columns,
        legend=tuple(colours.items()),
        averaged=bool(lines.max() > most),
    )


def _plot() -> Any:
    source = ColumnDataSource({name: [] for name in ("xs", "ys", "colour", "run", "label")}, name="timeline")
    plot = figure(
        height=320, sizing_mode="stretch_width", tools="xpan,box_zoom,reset,save",
        y_range=DataRange1d(start=0),
        background_fill_color=None, border_fill_color=None, outline_line_color=None, x_axis_label="time, s",
    )  # fmt: skip
    plot.multi_line("xs", "ys", line_color="colour", line_width=1.4, line_alpha=0.8, source=source)
    shown = [("engine", "@label"), ("run", "@run"), ("time", "$x{0.0} s"), ("value", "$y{0.[00]}")]
    plot.add_tools(HoverTool(tooltips=shown))
    plot.toolbar.logo = None
    plot.yaxis.name = "timeline-value"
    for axis in plot.axis:
        axis.axis_label_text_color = axis.major_label_text_color = _GREY
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = _GREY
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font = axis.major_label_text_font = "system-ui, sans-serif"
    plot.grid.grid_line_color = _GREY
    plot.grid.grid_line_alpha = 0.25
    return plot


def _lines(rows: pd.DataFrame, colours: dict[str, str], most: int) -> dict[str, Any]:
    """One line per run: its intervals in the unit that suits the column."""
    if rows.empty:
        return {"unit": "", "xs": [], "ys": [], "colour": [], "run": [], "label": []}
    unit = str(rows["unit"].iloc[0])
    divisor, spelled = scale_for(float(rows["value"].abs().max()) or 1.0, unit)
    runs = [run for _, run in rows.groupby("run_id", sort=False)]
    return {
        "unit": f"{metric_title(str(rows['column'].iloc[0]))}, {spelled}".rstrip(", "),
        "xs": [_thinned(run["elapsed"], 1.0, most, digits=2) for run in runs],
        "ys": [_thinned(run["value"], divisor, most, digits=4) for run in runs],
        "colour": [colours[str(run["label"].iloc[0])] for run in runs],
        "run": [f"repetition {run['repetition'].iloc[0]}" for run in runs],
        "label": [str(run["label"].iloc[0]) for run in runs],
    }


def _thinned(values: pd.Series[Any], divisor: float, most: int, *, digits: int) -> list[float]:
    """At most `most` values: means over equal stretches if there are more."""
    numbers = values.to_numpy(dtype=float) / divisor
    size = -(-len(numbers) // most)
    starts = np.arange(0, len(numbers), size)
    means = np.add.reduceat(numbers, starts) / np.diff([*starts, len(numbers)])
    return [round(float(mean), digits) for mean in means]


def _point_names(series: pd.DataFrame, analysis: Analysis) -> pd.Series[Any]:
    """The name of each row's point without its contender: all contenders share a picture."""
    columns = [series[a.name].map(lambda v, unit=a.unit: axis_text(v, unit)) for a in analysis.varying]
    if not columns:
        return pd.Series("all runs", index=series.index)
    names = columns[0]
    for column in columns[1:]:
        names = names + ", " + column
    return names
