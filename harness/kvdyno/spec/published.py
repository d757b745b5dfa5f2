"""Reads results/published/<document>.yaml, with file and line in every complaint."""

from __future__ import annotations

from collections.abc import Mapping

from kvdyno.model.project import Project
from kvdyno.model.published import PublishedDocument

from .document import read_document
from .reading import read_form


def read_published(project: Project) -> Mapping[str, PublishedDocument]:
    """Every document by the name of its file. Raises SpecError that lists every mistake of a file."""
    paths = sorted(path for path in project.published.glob("*.yaml") if path.name != "origin.yaml")
    return {path.stem: read_form(read_document(path), PublishedDocument) for path in paths}
