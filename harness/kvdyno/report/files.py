"""Files of a report: each appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

from kvdyno.errors import StoreError


def make_folder(folder: Path) -> None:
    """Make the folder and those above it. Raises StoreError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_text(path: Path, text: str) -> Path:
    """Write the file, which appears whole or not at all; returns its path. Raises StoreError."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write: {error.strerror}",
        where=str(path),
        remedy="free space, or name another folder for the report",
    )
