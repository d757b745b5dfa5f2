"""A value over the revisions of an engine, in their order; no kind of figure, since no experiment has one.

A panel has one line per series. Revisions stand at equal distances. Where they are many, some are named.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import Binding, scales, style

_NAMED, _LETTERS = 5, 9


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure. `table` has the columns that the binding names, `value`, `low` and `high` (NaN where there
    is no interval). The column `binding.x` has the revisions, in order.
    """
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {}
    for axes, rows in panels:
        names = list(dict.fromkeys(rows[binding.x]))
        places = {name: place for place, name in enumerate(names)}
        for key, look in looks.items():
            mine = style.rows_of(rows, binding.series, key)
            spots = np.array([places[name] for name in mine[binding.x]], dtype=float)
            (line,) = axes.plot(
                spots, mine["value"], color=look.colour, marker=look.marker, linestyle=look.line,
                label=look.name, markeredgecolor=style.PAPER, markeredgewidth=0.6,
            )  # fmt: skip
            style.intervals(axes, spots, mine, colour=look.colour)
            handles.setdefault(look.name, line)
        _name_revisions(axes, names)
    shown = [scales.scaled(axes, scales.extent(rows), binding.unit) for axes, rows in panels]
    scales.value_axes(shown, binding, log=False, from_zero=True)
    return style.finish(figure, binding, handles)


def _name_revisions(axes: Axes, names: list[str]) -> None:
    """Ticks at all of them, names at a few: the first, the last, and some between."""
    few = set(np.linspace(0, len(names) - 1, num=min(_NAMED, len(names))).round().astype(int).tolist())
    axes.set_xticks(range(len(names)), [n[:_LETTERS] if p in few else "" for p, n in enumerate(names)])
    axes.margins(x=0.08)
    axes.set_xlabel("revision")
