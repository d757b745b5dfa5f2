"""Reads results/<name>/origin.yaml, with file and line in every complaint."""

from __future__ import annotations

from pathlib import Path

from kvdyno.model.document import read_document
from kvdyno.model.origin import Origin
from kvdyno.model.reading import read_form


def read_origin(path: Path) -> Origin:
    """The file as an Origin. Raises SpecError that lists every mistake with its line."""
    return read_form(read_document(path), Origin)
