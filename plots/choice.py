"""A map of the cheapest contender for each mix of two operations at each x.

A cell has the contender's colour and how many times as much the next one costs. Hatched cells are open: not
every other contender is shown to cost more there. Options: none.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from . import Binding, OptionForms, TableKind, style
from .units import axis_text, three_digits

TABLE: TableKind = "choice"
OPTIONS: OptionForms = {}

_OPEN = "not shown to be cheaper than every other"
_HATCH = "////"


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    figure, panels = style.panels(table, binding)
    looks = style.looks(table, binding)
    handles: dict[str, Any] = {
        look.name: Patch(facecolor=look.colour)
        for key, look in looks.items()
        if key[0] in set(table["label"])
    }
    if not table["decided"].all():
        handles[_OPEN] = Patch(facecolor=style.RULE, edgecolor=style.INK, hatch=_HATCH, linewidth=0)
    mixes = sorted(table["mix"].unique())
    for axes, rows in panels:
        _cells(axes, rows, binding, looks, mixes)
    return style.finish(figure, binding, handles)


def _cells(
    axes: Axes,
    rows: pd.DataFrame,
    binding: Binding,
    looks: dict[tuple[Any, ...], style.Look],
    mixes: list[float],
) -> None:
    groups = list(rows[binding.x].drop_duplicates()) if binding.x else [""]
    for row in rows.to_dict("records"):
        x = groups.index(row[binding.x]) if binding.x else 0
        y = mixes.index(row["mix"])
        look = looks[tuple(row[column] for column in binding.series)]
        cell = Rectangle(
            (x - 0.5, y - 0.5), 1, 1, facecolor=look.colour, edgecolor=style.PAPER, linewidth=0.8
        )
        if not row["decided"]:
            cell.set(hatch=_HATCH, alpha=0.55)
        axes.add_patch(cell)
        axes.text(
            x, y, f"{three_digits(row['value'])}×", ha="center", va="center", fontsize=style.small(),
            color=style.PAPER if row["decided"] else style.INK, fontweight="bold",
        )  # fmt: skip
    unit = binding.units.get(binding.x or "", "")
    axes.set_xticks(range(len(groups)), [axis_text(v, unit) if binding.x else "" for v in groups])
    axes.set_yticks(range(len(mixes)), [_mix_text(mix) for mix in mixes])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylim(-0.5, len(mixes) - 0.5)
    axes.set_xlabel(binding.x or "")
    axes.set_ylabel(binding.label)


def _mix_text(mix: float) -> str:
    """3.0 → "3 : 1", 0.001 → "1 : 1,000"."""
    return f"{mix:,.0f} : 1" if mix >= 1 else f"1 : {1 / mix:,.0f}"
