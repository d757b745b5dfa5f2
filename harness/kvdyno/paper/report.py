"""The report of a study or a search as LaTeX: the same words as its other forms, in the papers' templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from kvdyno.model.papers import PaperTable
from kvdyno.model.search import SearchFound
from kvdyno.model.study import StudyFound

from .tables import long_table
from .templates import Tex, make_environment, render_template
from .texts import code, prose


def render_report(
    kind: Literal["study", "search"],
    found: StudyFound | SearchFound,
    *,
    words: Mapping[str, Any],
    tables: Mapping[str, PaperTable],
    base: Path,
) -> Tex:
    """The whole text, of `base`/<kind>.tex.j2. `words` are what the report's forms share, among them its
    `title`; `base` is the folder of shared templates.

    Raises SpecError with file and line for a mistake of the template.
    """

    def placed(name: str) -> Tex:
        """The table of that name; nothing where it has no rows."""
        return long_table(tables[name], "") if name in tables else Tex("")

    shown = {"paper": {"title": words["title"]}, "table": placed, "code": code, "prose": prose}
    return render_template(make_environment([base]), f"{kind}.tex.j2", {**words, "f": found, **shown})
