"""Latency by percentile: how slow the slowest operations are, on a scale that opens the tail.

Each further nine (90, 99, 99.9 …) takes the same width, as in HdrHistogram's own plots. Percentiles come from
all repetitions' operations together, so there is no interval to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from . import Binding, OptionForms, TableKind, scales, style

TABLE: TableKind = "percentiles"
OPTIONS: OptionForms = {}

_TICKS = (0.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
#: What a tick's text takes in inches, a letter and the gap to the next text; and the axes' share of a panel.
_LETTER, _GAP, _AXES = 0.07, 0.06, 0.8


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        below = rows[rows["percentile"] < 100]
        for key, look in looks.items():
            mine = style.rows_of(below, binding.series, key).sort_values("percentile")
            nines = _nines(mine["percentile"].to_numpy(dtype=float))
            (line,) = axes.plot(
                nines, mine["value"], color=look.colour, linestyle=look.line, label=look.name,
                marker=look.marker, markevery=0.2, markeredgecolor=style.PAPER, markeredgewidth=0.6,
            )  # fmt: skip
            handles.setdefault(look.name, line)
        grid = axes.get_subplotspec()
        assert grid is not None, "panels lie in a grid"
        width = _AXES * figure.get_figwidth() / grid.get_gridspec().ncols / binding.sheet.letters
        _tail_axis(axes, float(below["percentile"].max()) if len(below) else 99.0, width=width)
    # One scale for all, so that panels can be compared.
    every = table.loc[table["percentile"] < 100, "value"]
    shown = [scales.scaled(axes, every, binding.unit) for axes, _ in panels]
    scales.value_axes(shown, binding, log=True, from_zero=False)
    return style.finish(figure, binding, handles)


def _nines(percentile: np.ndarray) -> np.ndarray:
    """The number of nines: 0 → 0, 90 → 1, 99 → 2."""
    return -np.log10(1 - percentile / 100)


def _tail_axis(axes: Axes, highest: float, *, width: float) -> None:
    shown = [p for p in _TICKS if p <= highest]
    places = _nines(np.array(shown))
    axes.xaxis.set_major_locator(FixedLocator(list(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(left=0)
    inches = places / axes.get_xlim()[1] * width
    axes.set_xticklabels(_with_room([f"{p:g}" for p in shown], inches))
    axes.set_xlabel("percentile")


def _with_room(texts: Sequence[str], inches: np.ndarray) -> list[str]:
    """The texts of ticks at these places, from the tail down without those for which the one behind leaves no
    room.
    """
    begins = float("inf")
    found: list[str] = []
    for text, middle in zip(reversed(texts), reversed(inches), strict=True):
        half = _LETTER * len(text) / 2
        has_room = middle + half + _GAP <= begins
        begins = middle - half if has_room else begins
        found.insert(0, text if has_room else "")
    return found
