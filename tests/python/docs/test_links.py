"""The documents: their links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvdyno.model.project import Project

ROOT = Project.find(start=Path(__file__)).root
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "results/*/README.md", "engines/*/README.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def _lines(document: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines outside code blocks."""
    in_code = False
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def _anchors(document: Path) -> set[str]:
    """Anchors of its headings, as GitHub makes them."""
    headings = [line.lstrip("#").strip() for _, line in _lines(document) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(document: Path) -> None:
    for number, line in _lines(document):
        for target in LINK.findall(line):
            if target.startswith(("http://", "https://", "mailto:")):
                continue
            name, _, anchor = target.partition("#")
            path = (document.parent / name).resolve() if name else document
            assert path.exists(), f"{number}: {target}"
            if anchor and path.suffix == ".md":
                assert anchor in _anchors(path), f"{number}: {target}"
