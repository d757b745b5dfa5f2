"""Plain text as LaTeX that prints it as it is."""

from __future__ import annotations

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "µ": r"\textmu{}",
    "≥": r"\ensuremath{\ge}",
    "≤": r"\ensuremath{\le}",
    "×": r"\texttimes{}",
    "→": r"\ensuremath{\to}",
    "…": r"\ldots{}",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "\u00a0": "~",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def escaped(text: str) -> str:
    """The text for a paragraph or a cell. Characters that the fonts lack are replaced by "?"."""
    return "".join(_LATEX.get(character, character if ord(character) < 0x250 else "?") for character in text)
