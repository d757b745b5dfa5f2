"""The tries of a search: their front, their options side by side, pairs of options; no kinds of figure, since
no experiment has tries.

Each function takes a row per try, with the column `group`, which gives colour and mark. Options stand on
axes from 0 to 1, which the binding's option `axes` describes; a missing place is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from . import Binding, scales, style

#: Inches of a figure with an axis per option, and an upper end of what places may reach around 0 to 1.
_PARALLEL_HEIGHT, _EDGE = 3.6, 0.06


@dataclass(frozen=True)
class Axis:
    """One option: the table's column `name`, and texts at places."""

    name: str
    ticks: tuple[tuple[float, str], ...]


@style.styled
def front(table: pd.DataFrame, binding: Binding) -> Figure:
    """Two values per try, in the columns `x` and `y`. A line runs along the tries for which `front` is true,
    as if both values were better when larger. `binding.x` and `binding.label` name the two. The binding's
    option `reference_x` is a value of x to compare with; without it x are whole numbers.
    """
    figure, ((axes, rows), *_) = style.panels(table, binding)
    handles = _marks(axes, rows, binding, x="x", y="y")
    best = rows[rows["front"]].sort_values("x")
    if len(best) > 1:
        axes.step(best["x"], best["y"], where="pre", color=style.INK, linewidth=1.0, zorder=1)
    if (reference := binding.options.get("reference_x")) is None:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.axvline(reference, color=style.QUIET, linewidth=0.9, linestyle="--", zorder=1)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(binding.x or "")
    scales.value_axes([scales.scaled(axes, rows["y"], binding.unit)], binding, log=False, from_zero=False)
    return style.finish(figure, binding, handles)


@style.styled
def parallel(table: pd.DataFrame, binding: Binding) -> Figure:
    """A line per try through an upright axis per option; rows further down lie on top."""
    shown: Sequence[Axis] = binding.options["axes"]
    figure = Figure(figsize=(binding.sheet.width, _PARALLEL_HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {look.name: _line(look) for look in looks.values()}
    places = range(len(shown))
    for row in table.to_dict("records"):
        look = looks[tuple(row[column] for column in binding.series)]
        axes.plot(
            places, [row[axis.name] for axis in shown], color=look.colour, marker=look.marker,
            markersize=3, linewidth=1.0, alpha=0.8,
        )  # fmt: skip
    for place, axis in enumerate(shown):
        axes.axvline(place, color=style.QUIET, linewidth=0.7, zorder=1)
        for at, text in axis.ticks:
            axes.annotate(
                text, (place, at), xytext=(3, 0), textcoords="offset points", fontsize=style.small(),
                color=style.INK, va="center", zorder=6, bbox=_BEHIND,
            )  # fmt: skip
    axes.set_xticks(places, [axis.name for axis in shown], rotation=25, ha="right", rotation_mode="anchor")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.set_xlim(-0.1, len(shown) - 0.3)
    axes.set_ylim(-_EDGE, 1 + _EDGE)
    return style.finish(figure, binding, handles)


_BEHIND = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.6, "alpha": 0.75}


@style.styled
def pairs(table: pd.DataFrame, binding: Binding) -> Figure:
    """A panel per pair of options: one to the right, one upwards, a mark per try. The column `pair` has the
    panel, `x` and `y` the places; the binding's option `axes` has the two axes by pair.
    """
    figure, panels = style.panels(table, binding)
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        across, upwards = binding.options["axes"][rows["pair"].iloc[0]]
        handles |= _marks(axes, rows, binding, x="x", y="y")
        axes.set_title("")
        axes.set_xlabel(across.name)
        axes.set_ylabel(upwards.name)
        axes.set_xticks(*zip(*across.ticks, strict=True))
        axes.set_yticks(*zip(*upwards.ticks, strict=True))
        axes.set_xlim(-_EDGE, 1 + _EDGE)
        axes.set_ylim(-_EDGE, 1 + _EDGE)
        axes.grid(visible=True, axis="both")
    return style.finish(figure, binding, handles)


def _marks(axes: Axes, rows: pd.DataFrame, binding: Binding, *, x: str, y: str) -> dict[str, Any]:
    """A mark per row, those of the legend's first entry on top; the legend's entries by name."""
    handles: dict[str, Any] = {}
    for depth, (key, look) in enumerate(style.looks(rows, binding).items()):
        mine = style.rows_of(rows, binding.series, key)
        (handles[look.name],) = axes.plot(
            mine[x], mine[y], linestyle="", marker=look.marker, color=look.colour, alpha=0.85,
            markeredgecolor=style.PAPER, markeredgewidth=0.5, zorder=3 - depth / 10,
        )  # fmt: skip
    return handles


def _line(look: style.Look) -> Line2D:
    return Line2D([], [], color=look.colour, marker=look.marker, markersize=4)
