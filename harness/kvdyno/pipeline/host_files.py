"""Small files about a host: results/hosts/<host>/<name>.json."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.engine import Frozen
from kvdyno.model.schema import parse_json, upgraded

Document = TypeVar("Document", bound=Frozen)


def read_host_file(path: Path, form: type[Document], *, what: str, remedy: str) -> Document | None:
    """The file's content, None without a file. Raises StoreError if it is damaged, where `what` was expected,
    or if a newer kvdyno wrote it.
    """
    try:
        document = parse_json(path.read_bytes(), where=str(path))
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise StoreError(f"cannot be read: {failure.strerror}", where=str(path)) from failure
    except StoreError as failure:
        raise StoreError(f"expected {what}; {failure.message}", where=str(path), remedy=remedy) from failure
    known = form.model_fields["schema_version"].default
    newest = upgraded(document, known=known, where=str(path))
    try:
        return form.model_validate(newest)
    except ValidationError as failure:
        mistake = failure.errors()[0]
        place = ".".join(str(part) for part in mistake["loc"]) or "the file"
        message = f"expected {what}; {place}: {mistake['msg'].lower()}"
        raise StoreError(message, where=str(path), remedy=remedy) from failure


def write_host_file(path: Path, document: Frozen) -> None:
    """Put the document in place of the last one, whole. Raises StoreError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(document.model_dump_json(indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as failure:
        raise StoreError(f"cannot write: {failure.strerror}", where=str(path)) from failure
