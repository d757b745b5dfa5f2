"""Small files about a host: results/hosts/<host>/<name>.json."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from kvdyno.errors import StoreError
from kvdyno.model.engine import Frozen

Document = TypeVar("Document", bound=Frozen)


def read_host_file(path: Path, form: type[Document], *, what: str, remedy: str) -> Document | None:
    """The file's content, None without a file. Raises StoreError if it is damaged: `what` was expected."""
    try:
        return form.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise StoreError(f"expected {what}, found: {failure}", where=str(path), remedy=remedy) from failure


def write_host_file(path: Path, document: Frozen) -> None:
    """Put the document in place of the last one, whole. Raises StoreError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(document.model_dump_json(indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as failure:
        raise StoreError(f"cannot write: {failure.strerror}", where=str(path)) from failure
