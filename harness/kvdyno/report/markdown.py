"""Texts and tables as Markdown that shows them as they are: no text becomes HTML, a link or a cell's end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# The underscore stands: inside of words it means nothing.
_MEANINGFUL = re.compile(r"[\\`*\[\]|]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def plain(text: str) -> str:
    """The text in one line, without what Markdown or HTML would read as its own."""
    one_line = " ".join(text.split())
    return _MEANINGFUL.sub(r"\\\g<0>", one_line).translate(_ENTITIES)


def pipe_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, names: int) -> list[str]:
    """The lines of a table; `names` of its columns, the first ones, are texts, the others numbers.

    Cells are Markdown already.
    """
    rule = ["---"] * names + ["---:"] * (len(heads) - names)
    return [f"| {' | '.join(line)} |" for line in (heads, rule, *rows)]
