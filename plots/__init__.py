"""Figure kinds: take a table and a binding, return a matplotlib figure. They know no experiment.

Each module in this folder that defines `TABLE`, `OPTIONS` and `draw(table, binding)` is a kind, found by
`kinds()`; its name is what an experiment writes as `kind:`. `OPTIONS` names the options that it takes,
`TABLE` which table it draws:

- "estimates": one row per point: the columns that the binding names, `value`, `low`, `high` (NaN where
  there is no interval), `n`, and `status` ("ok", or why there is no value, which is then NaN);
- "percentiles": the binding's columns, `percentile` (0..100), `value`, `n`;
- "series": the binding's columns, `run` (what one line belongs to), `elapsed` (s), `value`.

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

from .output import FigureFiles, save

__all__ = ["Binding", "FigureFiles", "Kind", "TableKind", "kinds", "save"]

TableKind = Literal["estimates", "percentiles", "series"]


@dataclass(frozen=True)
class Binding:
    """How a table's columns become a figure.

    `x`, `series` and `panels` are columns: where a point stands, what distinguishes marks (the first of them
    by colour, all of them in the legend), and what gets axes of its own. `label` and `unit` name the value.
    `units` are the columns' own ("byte", "s"). `contenders` fixes the colours: a value of the first series
    column has the same colour in every figure that names the same contenders.
    """

    title: str = ""
    x: str | None = None
    series: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    contenders: tuple[str, ...] = ()
    caption: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of figure. `summary` is the first sentence of its docstring."""

    name: str
    summary: str
    table: TableKind
    options: frozenset[str]
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
