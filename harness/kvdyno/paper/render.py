"""A paper's chapters through its templates: one LaTeX file, with nothing typed that a record has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import StoreError
from kvdyno.model.papers import Absence, Chapter, Paper
from kvdyno.model.results import Contender

from .configurations import builds_of, configurations_of
from .context import Context
from .templates import check_typed_numbers, make_environment, render_template

_MAIN = "paper.tex.j2"


@dataclass(frozen=True)
class Rendered:
    """The whole text, and what it has no number for."""

    tex: str
    lacking: tuple[str, ...]


def render(
    paper: Paper,
    chapters: Sequence[Chapter],
    absences: Sequence[Absence],
    *,
    name: str,
    profile: str,
    flags: str,
    text: Path,
    base: Path,
) -> Rendered:
    """The paper's LaTeX. `text` is the folder of its own templates, `base` that of the shared ones.
    `name`, `profile` and `flags` are what the commands take that make it again.

    Raises StoreError where records do not belong together or there are none, SpecError for a mistake of a
    template.
    """
    if not chapters:
        listed = "; ".join(f"{absence.name}: {absence.reason}" for absence in absences)
        raise StoreError(
            f"expected records of one of the paper's experiments, found none ({listed})",
            remedy="make paper runs them; or name another folder or profile",
        )
    check_versions(chapters)
    own = [paper.abstract, *(section.text for section in paper.sections if section.text)]
    environment = make_environment([text, base])
    check_typed_numbers([path for name in own if (path := text / name).is_file()])
    context = Context(chapters, absences)
    shown = {
        **context.functions,
        "paper": paper,
        "chapters": chapters,
        "absences": absences,
        "name": name,
        "profile": profile,
        "flags": flags,
        "published": any(chapter.published for chapter in chapters),
        "contenders": builds_of(chapters),
        "configurations": configurations_of(chapters),
    }
    whole = render_template(environment, _MAIN, shown)
    return Rendered(whole, context.lacking())


def check_versions(chapters: Sequence[Chapter]) -> None:
    """Raise StoreError if a label stands for several versions of an engine: the paper would compare them."""
    seen: dict[str, tuple[Chapter, Contender]] = {}
    for chapter in chapters:
        for contender in chapter.analysis.contenders:
            other, known = seen.setdefault(contender.label, (chapter, contender))
            if known.version != contender.version:
                found = " and ".join(
                    f"{each.version} in {where.name} (record {_record(where, each.label)})"
                    for where, each in ((other, known), (chapter, contender))
                )
                raise StoreError(
                    f"expected one version of {contender.label} in all of the paper's records, found {found}",
                    remedy="measure one of them again with the other's version",
                )


def _record(chapter: Chapter, label: str) -> str:
    runs = chapter.analysis.runs
    return str(runs.loc[runs["label"] == label, "run_id"].iloc[0])
