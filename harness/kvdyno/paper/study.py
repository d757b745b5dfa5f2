"""A study's report as LaTeX: the same words as its other forms, in the papers' templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvdyno.model.papers import PaperTable
from kvdyno.model.study import StudyFound

from .tables import long_table
from .templates import Tex, make_environment, render_template
from .texts import code, prose

_TEMPLATE = "study.tex.j2"


def render_study(
    found: StudyFound, *, words: Mapping[str, Any], tables: Mapping[str, PaperTable], base: Path
) -> Tex:
    """The whole text. `words` are what the report's forms share; `base` is the folder of shared templates.

    Raises SpecError with file and line for a mistake of the template.
    """

    def placed(name: str) -> Tex:
        """The table of that name; nothing where it has no rows."""
        return long_table(tables[name], "") if name in tables else Tex("")

    shown = {**words, "f": found, "paper": found.study, "table": placed, "code": code, "prose": prose}
    return render_template(make_environment([base]), _TEMPLATE, shown)
