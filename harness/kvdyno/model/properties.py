"""YCSB property files: `name=value` lines, `#` and `!` comments, later lines win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import SpecError


@dataclass(frozen=True)
class Property:
    """A property's text, and its line."""

    text: str
    line: int


def read_properties(path: Path) -> Mapping[str, Property]:
    """The properties of a file. Raises SpecError with file and line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot be read: {error}", where=str(path)) from error
    properties = {}
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        name, separator, text = stripped.partition("=")
        if not separator or not name.strip():
            raise SpecError(f"expected name=value, found {stripped!r}", where=f"{path}:{number}")
        properties[name.strip()] = Property(text.strip(), number)
    return properties
