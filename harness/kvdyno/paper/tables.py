"""Tables as LaTeX: as wide as a column, as both, or over several pages of the appendix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvdyno.model.papers import PaperCell, PaperTable

from .templates import Tex, tex

#: Letters of a table's size that fit across both columns, and rows that fit on a page with other text.
_LETTERS, _ROWS = 150, 46
_GAP = 3  # letters between columns


def place_table(table: PaperTable, label: str) -> Tex:
    """The table as a float of one column or both: LaTeX measures which. One that is too wide becomes several,
    one beside the other in their order.
    """
    stacked = _width(table, stacked=False) > _LETTERS
    parts = list(_parts(table, stacked=stacked))
    return Tex("\n".join(_float(part, label if place == 0 else "") for place, part in enumerate(parts)))


def is_long(table: PaperTable) -> bool:
    """Whether the table is higher than what stands on a page with other text."""
    return len(table.rows) * (2 if _width(table, stacked=False) > _LETTERS else 1) > _ROWS


def long_table(table: PaperTable, label: str) -> Tex:
    """The table over as many pages as it needs; for a page of one column."""
    stacked = _width(table, stacked=False) > _LETTERS
    parts = list(_parts(table, stacked=stacked))
    return Tex("\n".join(_long(part, label if place == 0 else "") for place, part in enumerate(parts)))


def _parts(table: PaperTable, *, stacked: bool) -> Iterator[PaperTable]:
    """The table, or tables of some of its columns each, that fit across both columns."""
    room = _LETTERS - _names_width(table)
    chosen: list[int] = []
    groups: list[list[int]] = []
    used = 0
    for place in range(len(table.columns)):
        width = _column_width(table, place, stacked=stacked)
        if chosen and used + width > room:
            groups, chosen, used = [*groups, chosen], [], 0
        chosen, used = [*chosen, place], used + width
    groups.append(chosen)
    for number, group in enumerate(groups, start=1):
        note = f" Part {number} of {len(groups)}." if len(groups) > 1 else ""
        rows = tuple((names, tuple(cells[place] for place in group)) for names, cells in table.rows)
        rows = tuple(row for each in rows for row in (_lines(each) if stacked else [each]))
        columns = tuple(table.columns[place] for place in group)
        yield replace(table, caption=f"{table.caption}{note}", columns=columns, rows=rows)


Row = tuple[tuple[str, ...], tuple[PaperCell, ...]]


def _lines(row: Row) -> list[Row]:
    """A row as two: values, then intervals below them."""
    names, cells = row
    below = tuple(PaperCell(" ".join(cell.notes)) for cell in cells)
    values = tuple(replace(cell, notes=()) for cell in cells)
    return [(names, values), (("",) * len(names), below)]


def _names_width(table: PaperTable) -> int:
    widths = (
        max(len(name), *(len(names[place]) for names, _ in table.rows)) + _GAP
        for place, name in enumerate(table.names)
    )
    return sum(widths)


def _column_width(table: PaperTable, place: int, *, stacked: bool) -> int:
    cells = [cells[place] for _, cells in table.rows]
    texts = [(cell.value, " ".join(cell.notes)) for cell in cells]
    widths = (max(map(len, text)) if stacked else len(" ".join(text)) for text in texts)
    return max(len(table.columns[place]), *widths) + _GAP


def _width(table: PaperTable, *, stacked: bool) -> int:
    columns = (_column_width(table, place, stacked=stacked) for place in range(len(table.columns)))
    return _names_width(table) + sum(columns)


def _float(table: PaperTable, label: str) -> str:
    body = "\n".join(
        [
            rf"\begin{{tabular}}{{@{{}}{_columns(table)}@{{}}}}",
            r"\toprule",
            _head(table),
            r"\midrule",
            *_body(table),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
    return f"\\placetable{{{_caption(table, label)}}}{{%\n{body}}}\n"


def _long(table: PaperTable, label: str) -> str:
    head = f"\\toprule\n{_head(table)}\n\\midrule"
    return "\n".join(
        [
            rf"\begin{{longtable}}{{@{{}}{_columns(table)}@{{}}}}",
            rf"{_caption(table, label)}\\",
            rf"{head}\endfirsthead",
            rf"{head}\endhead",
            r"\bottomrule\endlastfoot",
            *_body(table),
            r"\end{longtable}",
            "",
        ]
    )


def _caption(table: PaperTable, label: str) -> str:
    mark = rf"\label{{{label}}}" if label else ""
    return rf"\caption{{{tex(f'{table.title}. {table.caption}')}{mark}}}"


def _columns(table: PaperTable) -> str:
    return "l" * len(table.names) + "r" * len(table.columns)


def _head(table: PaperTable) -> str:
    return _line([*table.names, *table.columns])


def _body(table: PaperTable) -> Iterator[str]:
    """Rows; a name that repeats the one above is left out, and a rule separates groups of the first name."""
    above: tuple[str, ...] = ()
    for names, cells in table.rows:
        if above and len(names) > 1 and names[0] not in ("", above[0]):
            yield r"\addlinespace"
        shared = 0
        while shared < len(names) - 1 and names[: shared + 1] == above[: shared + 1]:
            shared += 1
        yield _line([*("" if place < shared else n for place, n in enumerate(names)), *map(_cell, cells)])
        above = names if any(names) else above


def _cell(cell: PaperCell) -> Tex:
    text = tex(cell.value)
    notes = "".join(f" {tex(note)}" for note in cell.notes)
    return Tex((rf"\textbf{{{text}}}" if cell.strong else text) + notes)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(tex, cells)) + r" \\"
