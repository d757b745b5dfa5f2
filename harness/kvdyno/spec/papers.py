"""Reads paper/<name>/paper.yaml, with file and line in every complaint."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kvdyno.errors import UsageError
from kvdyno.model.document import Mistakes, read_document
from kvdyno.model.papers import FILE, Paper
from kvdyno.model.reading import read_form
from kvdyno.model.words import unknown


def read_paper(path: Path, *, experiments: Collection[str], profiles: Collection[str]) -> Paper:
    """The file as a Paper whose texts lie beside it; `experiments` and `profiles` are those that exist.

    Raises SpecError that lists every mistake with its line.
    """
    document = read_document(path)
    paper = read_form(document, Paper)
    mistakes = Mistakes(document)
    there = sorted(file.name for file in path.parent.glob("*.tex.j2"))
    texts: dict[tuple[str | int, ...], str | None] = {("abstract",): paper.abstract}
    texts |= {("sections", n, "text"): section.text for n, section in enumerate(paper.sections)}
    for place, name in ((place, name) for place, name in texts.items() if name):
        if name not in there:
            mistakes.add(place, unknown("text", name, there))
    for n, section in enumerate(paper.sections):
        for k, name in enumerate(section.experiments):
            if name not in experiments:
                mistakes.add(("sections", n, "experiments", k), unknown("experiment", name, experiments))
    for asked, instead in paper.profiles.items():
        if asked not in profiles:
            mistakes.add(("profiles", asked), unknown("profile", asked, profiles))
        for name, profile in instead.items():
            if name not in paper.experiments:
                mistakes.add(("profiles", asked, name), unknown("experiment", name, paper.experiments))
            elif profile not in profiles:
                mistakes.add(("profiles", asked, name), unknown("profile", profile, profiles))
    mistakes.check()
    return paper


def list_papers(folder: Path) -> tuple[str, ...]:
    """The names of the papers below `folder`."""
    return tuple(sorted(path.parent.name for path in folder.glob(f"*/{FILE}")))


def paper_file(folder: Path, name: str) -> Path:
    """The file of the paper of that name. Raises UsageError if there is none."""
    path = folder / name / FILE
    if not path.is_file():
        raise UsageError(unknown("paper", name, list_papers(folder)), where=str(folder))
    return path
