"""Tables of an experiment: a metric spread over rows and columns, as Markdown, LaTeX and CSV.

Markdown and LaTeX are for reading: three digits, one unit for the whole table, medians (or paired ratios)
with their intervals. CSV is for computing: one row per cell, full precision.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvdyno.model.experiment import AxisValue, TableSpec
from kvdyno.model.latex import escaped
from kvdyno.model.results import Analysis, ClaimPoint, ClaimResult, resolve_label
from plots.units import axis_text, scale_for, status_text, three_digits

from .failures import failed_points, with_losses
from .markdown import pipe_table, plain
from .overlays import beside_label, published_caption, with_published
from .words import column_of, interval_words, metric_title, ratio_interval_words

#: The values of some axes; None where an axis means nothing to a point.
Key = tuple[AxisValue | None, ...]


@dataclass(frozen=True)
class Cell:
    """One value with its interval and n; without a value, `status` is the reason ("" for not planned).

    `lost` is how some of the point's runs ended, if not well: "2 of 3 out of memory". Among ratios, a cell
    with a `unit` is a difference in that unit, for lack of a ratio.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    status: str = ""
    lost: str = ""
    decided: bool = False
    unit: str = ""


@dataclass(frozen=True)
class Grid:
    """A table: names of the row and column axes, their values, and a cell for each pair.

    `spelled` has the text of every value of an axis. Two values never share one: sizes that round alike are
    given in bytes.
    """

    id: str
    metric: str
    title: str
    caption: str
    unit: str
    row_axes: tuple[str, ...]
    column_axes: tuple[str, ...]
    rows: tuple[Key, ...]
    columns: tuple[Key, ...]
    spelled: Mapping[str, Mapping[AxisValue | None, str]]
    cells: Mapping[tuple[Key, Key], Cell]

    def row_texts(self, row: Key) -> tuple[str, ...]:
        """The values of a row's axes, for reading."""
        return self._texts(self.row_axes, row)

    def column_texts(self, column: Key) -> tuple[str, ...]:
        """The values of a column's axes, for reading."""
        return self._texts(self.column_axes, column)

    def _texts(self, axes: Sequence[str], key: Key) -> tuple[str, ...]:
        return tuple(self.spelled[axis][value] for axis, value in zip(axes, key, strict=True))

    def cell(self, row: Key, column: Key) -> Cell:
        """The cell of a row and a column; an empty one where the grid has no such point."""
        return self.cells.get((row, column), Cell())

    def text(self, cell: Cell) -> str:
        """A cell for reading: "48.7 (44.1 to 54.7)", or why there is nothing."""
        return " ".join(self.parts(cell))

    def parts(self, cell: Cell) -> tuple[str, ...]:
        """A cell's value, interval and lost runs: ("48.7", "(44.1 to 54.7)", "(1 of 3 out of memory)")."""
        if cell.value is None:
            return (status_text(cell.status) or "–",)
        divisor, unit = scale_for(abs(cell.value), cell.unit) if cell.unit else (self.scale()[0], "")
        number = three_digits(cell.value / divisor)
        parts = [f"{'+' if cell.value > 0 else ''}{number} {unit}".rstrip() if cell.unit else number]
        if cell.low is not None and cell.high is not None:
            parts.append(f"({three_digits(cell.low / divisor)} to {three_digits(cell.high / divisor)})")
        return (*parts, f"({cell.lost})") if cell.lost else tuple(parts)

    def scale(self) -> tuple[float, str]:
        """Divisor and unit that suit the median cell."""
        sizes = sorted(abs(c.value) for c in self.cells.values() if c.value and not c.unit)
        return scale_for(sizes[len(sizes) // 2], self.unit) if sizes else (1.0, self.unit)


def claims_table(claims: Sequence[ClaimResult]) -> pd.DataFrame:
    """A row per claim and point, with the claim's verdict; a claim without points has a row without value."""
    rows = [
        (c.id, c.text, c.source, c.expected, c.verdict, c.why, *_claim_cells(point), c.unit)
        for c in claims
        for point in c.points or (None,)
    ]
    about = ("claim", "text", "source", "expected", "verdict", "why")
    return pd.DataFrame(rows, columns=[*about, "point", "value", "low", "high", "n", "doubt", "unit"])


def _claim_cells(point: ClaimPoint | None) -> tuple[object, ...]:
    if point is None:
        return "", None, None, None, 0, ""
    where = " ".join(str(value) for value in point.axes.values())
    return where, point.value, point.low, point.high, point.n, point.doubt


def build_grid(spec: TableSpec, analysis: Analysis) -> Grid | None:
    """The table that a specification asks for; None if no record has it.

    An axis that varies but is named neither for rows nor for columns is added to the rows: two points never
    share a cell.
    """
    values = _ratios(spec, analysis) if spec.ratio_to else _medians(spec, analysis)
    if values.empty:
        return None
    measured, values = values, with_published(values, spec, analysis)
    columns = [column_of(name) for name in spec.columns]
    rows = [name for name in map(column_of, spec.rows) if name not in columns]
    varying = [a for a in ("label", *analysis.axis_names) if values[a].nunique(dropna=False) > 1]
    rows += [name for name in varying if name not in (*rows, *columns)]
    ordered = _ordered(with_losses(values, analysis), [*rows, *columns], analysis)
    cells = {}
    for record in ordered.to_dict("records"):
        cells[_key(record, rows), _key(record, columns)] = _cell(
            {str(name): value for name, value in record.items()}
        )
    return Grid(
        id=spec.id,
        metric=spec.metric,
        title=spec.title or metric_title(spec.metric),
        caption=_caption(spec, analysis, measured[measured["value"].notna()])
        + published_caption(spec, analysis),
        unit="ratio" if spec.ratio_to else str(values["unit"].dropna().iloc[0]),
        row_axes=tuple(rows),
        column_axes=tuple(columns),
        rows=tuple(dict.fromkeys(row for row, _ in cells)),
        columns=_distinct(ordered, columns),
        spelled={name: _spelled(ordered[name], analysis.units.get(name, "")) for name in (*rows, *columns)},
        cells=cells,
    )


def _medians(spec: TableSpec, analysis: Analysis) -> pd.DataFrame:
    """Medians, and rows without a value for points whose runs all failed."""
    found = analysis.select(analysis.estimates, where=spec.where, metric=spec.metric, phase=spec.phase)
    found = found.rename(columns={"median": "value"})
    return pd.concat([found, failed_points(found, spec.where, analysis)], ignore_index=True)


def _ratios(spec: TableSpec, analysis: Analysis) -> pd.DataFrame:
    baseline = resolve_label(str(spec.ratio_to), analysis.frame)
    found = analysis.select(analysis.ratios, where=spec.where, metric=spec.metric, phase=spec.phase)
    found = found[found["baseline"] == baseline]
    found = found.assign(value=found["ratio"].fillna(found["difference"]))
    failed = failed_points(found, spec.where, analysis)
    return pd.concat([found, failed[failed["label"] != baseline]], ignore_index=True)


def _cell(record: Mapping[str, Any]) -> Cell:
    if pd.isna(record["value"]):
        return Cell(status=str(record["status"]))
    low, high = (None if pd.isna(record[end]) else float(record[end]) for end in ("low", "high"))
    lost, n = record["lost"], int(record["n"])
    if pd.isna(record.get("verdict")):
        return Cell(float(record["value"]), low, high, n, lost=lost)
    decided = record["verdict"] not in ("undecided", "same", "equal")
    unit = record["unit"] if record["kind"] == "difference" else ""
    return Cell(float(record["value"]), low, high, n, lost=lost, decided=decided, unit=unit)


def _caption(spec: TableSpec, analysis: Analysis, values: pd.DataFrame) -> str:
    counts = sorted(set(values["n"].astype(int)))
    n = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    of = f"{metric_title(spec.metric)} of phase {spec.phase}"
    if spec.ratio_to:
        over = resolve_label(spec.ratio_to, analysis.frame)
        words = "paired ratios" if values["paired"].all() else "ratios"
        brackets = f"{ratio_interval_words(values['method'])} in brackets, bold if a difference is decided"
        what = f"{words}, {brackets if counts[-1] > 1 else 'one repetition, so no interval'}"
        if (values["kind"] == "difference").any():
            what += ", differences with their unit where a value is 0 or negative"
        return f"{of} over that of {over}: {what} ({n})."
    brackets = f"{interval_words(values['method'])} in brackets"
    quantile = re.search(r"\.p\d", spec.metric)
    medians = "medians over repetitions of each one's percentile" if quantile else "medians"
    return f"{of}: {medians}, {brackets if counts[-1] > 1 else 'one repetition, so no interval'} ({n})."


def _ordered(values: pd.DataFrame, names: Sequence[str], analysis: Analysis) -> pd.DataFrame:
    """Rows in the order of the experiment: contenders and axis values as they are listed."""
    order: dict[str, Sequence[Any]] = {axis.name: axis.values for axis in analysis.axes}
    order["label"] = [name for c in analysis.contenders for name in (c.label, *beside_label(c.label))]
    ranks = {name: {value: rank for rank, value in enumerate(order[name])} for name in names if name in order}
    keys = {f"_{name}": values[name].map(rank) for name, rank in ranks.items()}
    return values.assign(**keys).sort_values(list(keys), kind="stable") if keys else values


def _distinct(ordered: pd.DataFrame, columns: Sequence[str]) -> tuple[Key, ...]:
    """The values of the column axes in the order of the experiment, not of first appearance in rows."""
    keys = [f"_{name}" for name in columns if f"_{name}" in ordered]
    by_columns = ordered.sort_values(keys, kind="stable") if keys else ordered
    records = by_columns.to_dict("records")
    return tuple(dict.fromkeys(_key(record, columns) for record in records))


def _key(record: Mapping[Any, Any], names: Sequence[str]) -> Key:
    return tuple(None if pd.isna(record[name]) else record[name] for name in names)


def _spelled(values: pd.Series[Any], unit: str) -> dict[AxisValue | None, str]:
    distinct = [None if pd.isna(value) else value for value in values.drop_duplicates()]
    texts = {value: axis_text(value, unit) for value in distinct}
    shared = [text for text, count in Counter(texts.values()).items() if count > 1]
    return {value: f"{value} {unit}".rstrip() if text in shared else text for value, text in texts.items()}


def heading(axis: str) -> str:
    """An axis in a header: tables call a contender's label its engine."""
    return "engine" if axis == "label" else axis


def to_markdown(grid: Grid) -> str:
    """A pipe table with its caption."""
    head = [*map(heading, grid.row_axes), *(", ".join(grid.column_texts(column)) for column in grid.columns)]
    rows = []
    for row in grid.rows:
        cells = [grid.cell(row, column) for column in grid.columns]
        texts = [plain(grid.text(cell)) for cell in cells]
        texts = [f"**{text}**" if cell.decided else text for text, cell in zip(texts, cells, strict=True)]
        rows.append([*map(plain, grid.row_texts(row)), *texts])
    table = pipe_table([plain(name) for name in head], rows, names=len(grid.row_axes))
    return "\n".join([f"**{plain(grid.title)}**{unit_note(grid)}", "", *table, "", plain(grid.caption), ""])


def to_latex(grid: Grid) -> str:
    """A booktabs table environment, labelled tab:<id>."""
    head = [*map(heading, grid.row_axes), *(", ".join(grid.column_texts(column)) for column in grid.columns)]
    lines = [
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{escaped(f'{grid.title}{unit_note(grid)}. {grid.caption}')}}}",
        f"  \\label{{tab:{grid.id}}}",
        f"  \\begin{{tabular}}{{{'l' * len(grid.row_axes)}{'r' * len(grid.columns)}}}",
        "    \\toprule",
        "    " + " & ".join(map(escaped, head)) + " \\\\",
        "    \\midrule",
    ]
    for row in grid.rows:
        cells = [grid.cell(row, column) for column in grid.columns]
        texts = [escaped(grid.text(cell)) for cell in cells]
        texts = [f"\\textbf{{{t}}}" if c.decided else t for t, c in zip(texts, cells, strict=True)]
        lines.append("    " + " & ".join([*map(escaped, grid.row_texts(row)), *texts]) + " \\\\")
    return "\n".join([*lines, "    \\bottomrule", "  \\end{tabular}", "\\end{table}", ""])


def to_csv(grid: Grid) -> str:
    """One row per cell: axes, value, low, high, n, unit (a difference among ratios has the metric's), status,
    lost (runs that did not end well).
    """
    rows = []
    for (row, column), cell in grid.cells.items():
        place = (*grid.row_texts(row), *grid.column_texts(column))
        status = "ok" if cell.value is not None else cell.status
        rows.append(
            (*place, cell.value, cell.low, cell.high, cell.n, cell.unit or grid.unit, status, cell.lost)
        )
    axes = [*map(heading, grid.row_axes), *map(heading, grid.column_axes)]
    names = [*axes, "value", "low", "high", "n", "unit", "status", "lost"]
    return pd.DataFrame(rows, columns=names).to_csv(index=False, lineterminator="\n")


def unit_note(grid: Grid) -> str:
    """ ", kop/s": the unit of all cells, behind a title."""
    unit = grid.scale()[1]
    return f", {unit}" if unit and not math.isnan(grid.scale()[0]) else ""
