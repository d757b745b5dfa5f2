"""Shapes that all pages share: plain tables, hanging lines, coloured words."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(text: str) -> str:
    """Text of a driver or a file, without the characters that would command the terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def plain_table(*columns: str, gap: int = 2) -> Table:
    """A table without lines. A column whose name begins with ">" is aligned to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for column in columns:
        name = column.removeprefix(">")
        table.add_column(name, justify="left" if name == column else "right", overflow="fold")
    return table


def hanging(console: Console, mark: str, text: str | Text, *, style: str = "", width: int = 0) -> None:
    """Print `mark`, then text that continues under its own beginning."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(min_width=width, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style), text)
    console.print(grid)


def counted(number: int, noun: str) -> str:
    """ "1 run", "8 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def relative(path: Path) -> str:
    """As seen from here, unless it is elsewhere."""
    shown = os.path.relpath(path)
    return str(path) if shown.startswith("..") else shown


def silent() -> Console:
    """A console that shows nothing, for JSON output."""
    return Console(file=io.StringIO())
