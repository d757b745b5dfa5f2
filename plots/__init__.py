"""Figure kinds: take a table and a binding, return a matplotlib figure. They know no experiment.

Each module in this folder that defines `TABLE`, `OPTIONS` and `draw(table, binding)` is a kind, found by
`kinds()`; its name is what an experiment writes as `kind:`. `OPTIONS` names the options that it takes and
the form of each (a literal: experiments are checked without importing it), `TABLE` which table it draws:

- "estimates": one row per point and metric: the columns that the binding names, `part` and `measure` (what
  the metric is called among the figure's metrics, and alone), `value`, `unit`, `low`, `high` (NaN where
  there is no interval), `n`, and `status` ("ok", or why there is no value, which is then NaN); where numbers
  of a document stand beside, also `published` (NaN where there is none);
- "percentiles": the binding's columns, `percentile` (0..100), `value`, `n`;
- "series": the binding's columns, `run` (what one line belongs to), `elapsed` (s), `value`;
- "timeline": the binding's columns, `layer` ("value", or the kind of an event), `elapsed` (s since the phase
  began; of an event its begin), `value`, `duration` (s), `state`, `cause`, `detail`, and `status` ("ok", or
  why a run has no value). The rows of a panel come from one run;
- "choice": one row per place and mix of two operations: the binding's columns, of which the series is the
  cheapest contender, `label` (its name), `mix` (operations of the first kind for one of the second), `value`
  (how many times as much the next contender costs) and `decided`.

Figures compute no statistics. Equal tables give equal bytes (`save`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import pandas as pd
from matplotlib.figure import Figure

from kvdyno.model.figure_options import OptionForms

from .output import FigureFiles, save, save_pdf

__all__ = [
    "COLUMNS",
    "SCREEN",
    "Binding",
    "FigureFiles",
    "Kind",
    "OptionForms",
    "Sheet",
    "TableKind",
    "kinds",
    "save",
    "save_pdf",
]

TableKind = Literal["estimates", "percentiles", "series", "timeline", "choice"]


@dataclass(frozen=True)
class Sheet:
    """What a figure is drawn for, in inches: `width` of several panels, `alone` of one, `panel_height` of a
    row of panels, `tallest` of all rows together. `columns` are the numbers of panels that may stand side by
    side, `letters` is the size of letters as a share of the screen's.
    """

    width: float
    alone: float
    panel_height: float
    tallest: float
    columns: tuple[int, ...]
    letters: float


#: A report's page.
SCREEN = Sheet(width=9.3, alone=6.2, panel_height=2.35, tallest=200.0, columns=(2, 3, 4), letters=1.0)
#: A paper of two columns: a panel in one of them, several across both, the smallest letters 6 points high.
COLUMNS = Sheet(width=7.0, alone=3.33, panel_height=1.5, tallest=7.3, columns=(2, 3), letters=0.86)


@dataclass(frozen=True)
class Binding:
    """How a table's columns become a figure.

    `x`, `series` and `panels` are columns: where a point stands, what distinguishes marks (the first of them
    by colour, all of them in the legend), and what gets axes of its own. `label` and `unit` name the value,
    `reference` is one to compare it with. `units` are the columns' own ("byte", "s"). `contenders` fixes
    order and colours: a value of the first series column has the same colour in every figure that names the
    same contenders in the same order. `published` is what the legend calls numbers of a document, hollow
    marks; "" if there are none. `sheet` is what the figure is drawn for.
    """

    title: str = ""
    x: str | None = None
    series: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    reference: float | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    contenders: tuple[str, ...] = ()
    caption: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    sheet: Sheet = SCREEN
    published: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of figure. `summary` is the first sentence of its docstring."""

    name: str
    summary: str
    table: TableKind
    options: OptionForms
    draw: Callable[[pd.DataFrame, Binding], Figure]


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds by name, in alphabetical order."""
    found = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "draw") and hasattr(module, "TABLE"):
            summary = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
            found[info.name] = Kind(info.name, summary, module.TABLE, module.OPTIONS, module.draw)
    return found
