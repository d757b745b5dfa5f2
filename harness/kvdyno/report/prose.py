"""Numbers in documents, rendered from committed results: no figure in prose is typed by hand.

A document holds blocks:

    <!-- from results/truth/debt.md.j2 -->
    ...rendered text...
    <!-- /from -->

The template beside the data is a Jinja2 file. `cell("table.csv", workload="p", engine="chunkstore")` is one
row of a CSV file in the template's folder, as the report's tables and `_overall.csv` have them; it prints as
"2.26 (2.05 to 2.48)". `rows("table.csv")` are all of them, and `pivot("table.csv", rows="workload",
columns="engine")` is a Markdown table of cells. `origin()` is the folder's origin.yaml (model/origin.py),
`origin("docker")` that of a folder in it; `made()` lists where its numbers are from. Macros for several
folders stand in `results/`; imported `with context`, they read the tables of the folder that imports them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from kvdyno.errors import SpecError
from kvdyno.model.origin import FILE as ORIGIN
from kvdyno.model.origin import Origin
from plots.units import quantity, three_digits

from .markdown import pipe_table, plain
from .origins import made_list

_BLOCK = re.compile(r"(<!-- from (?P<source>[\w./-]+) -->\n)(?P<text>.*?)(<!-- /from -->)", re.DOTALL)
_NUMBERS = ("value", "ratio", "median")


@dataclass(frozen=True)
class Row:
    """One row of a CSV file, by its columns' names."""

    columns: dict[str, str]

    def __getitem__(self, name: str) -> str:
        """A column's text."""
        return self.columns[name]

    def __str__(self) -> str:
        """Number and interval: "2.26 (2.05 to 2.48)"; with the unit where it is no ratio; "–" for none."""
        if not self._main():
            return "–"
        value = self._text(self._main())
        low, high = self.columns.get("low", ""), self.columns.get("high", "")
        return f"{value} ({self._text(low)} to {self._text(high)})" if low and high else value

    @property
    def number(self) -> float:
        """The main number, for arithmetic."""
        return float(self._main())

    @property
    def brief(self) -> str:
        """The number without its interval."""
        return self._text(self._main())

    def _main(self) -> str:
        return next(self.columns[name] for name in _NUMBERS if name in self.columns)

    def _text(self, number: str) -> str:
        unit = self.columns.get("unit", "ratio") if "ratio" not in self.columns else "ratio"
        return three_digits(float(number)) if unit in ("", "ratio") else quantity(float(number), unit)


def fill_blocks(document: Path, *, root: Path, origins: Mapping[Path, Origin] = MappingProxyType({})) -> str:
    """The document with every block rendered; `origins` by folder.

    Raises SpecError for a template, row or origin that does not exist.
    """
    text = document.read_text("utf-8")
    where = str(document)

    def rendered(block: re.Match[str]) -> str:
        text = _render(root / block["source"], macros=root / "results", where=where, origins=origins)
        return block.group(1) + text + block.group(4)

    return _BLOCK.sub(rendered, text)


def _render(template: Path, *, macros: Path, where: str, origins: Mapping[Path, Origin]) -> str:
    environment = Environment(
        loader=FileSystemLoader((template.parent, macros)),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
    )
    folder = template.parent
    environment.globals |= {
        "cell": lambda table, **columns: _cell(folder / table, columns),
        "rows": lambda table, **columns: _rows(folder / table, columns),
        "pivot": lambda table, *, rows, columns, **where: _pivot(
            folder / table, _names(rows), _names(columns), where=where
        ),
        "origin": lambda inside="": _origin(folder / inside, origins),
        "made": lambda inside="": made_list(_origin(folder / inside, origins)),
    }
    try:
        text = environment.get_template(template.name).render()
    except TemplateError as error:
        raise SpecError(f"cannot be rendered: {error}", where=f"{where}: {template}") from error
    return text.rstrip("\n") + "\n"


def _cell(table: Path, columns: dict[str, object]) -> Row:
    found = _rows(table, columns)
    if len(found) != 1:
        asked = ", ".join(f"{name}={value}" for name, value in columns.items())
        raise SpecError(f"expected one row with {asked}, found {len(found)}", where=str(table))
    return found[0]


def _origin(folder: Path, origins: Mapping[Path, Origin]) -> Origin:
    if folder not in origins:
        raise SpecError(f"expected {ORIGIN}, found none", where=str(folder))
    return origins[folder]


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _pivot(table: Path, rows: Sequence[str], columns: Sequence[str], *, where: Mapping[str, object]) -> str:
    """Names stand in the order in which the file has them; a cell that it lacks is empty."""
    found = _rows(table, where, named=(*rows, *columns))
    keyed = [
        (tuple(row[name] for name in rows), ", ".join(row[name] for name in columns), row) for row in found
    ]
    cells = {(name, head): str(row) for name, head, row in keyed}
    heads = list(dict.fromkeys(head for _, head, _ in keyed))
    names = dict.fromkeys(name for name, _, _ in keyed)
    lines = [[*name, *(cells.get((name, head), "") for head in heads)] for name in names]
    head, *body = ([plain(text) for text in line] for line in ([*rows, *heads], *lines))
    return "\n".join(pipe_table(head, body, names=len(rows)))


def _rows(table: Path, columns: Mapping[str, object], *, named: Sequence[str] = ()) -> list[Row]:
    """Those whose columns have these texts. Raises SpecError unless they and those `named` exist."""
    try:
        with table.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as failure:
        raise SpecError(f"cannot be read: {failure.strerror}", where=str(table)) from failure
    unknown = [name for name in (*columns, *named) if rows and name not in rows[0]]
    if unknown:
        raise SpecError(f"expected a column {unknown[0]!r}, found {', '.join(rows[0])}", where=str(table))
    return [Row(row) for row in rows if all(row[name] == str(value) for name, value in columns.items())]
