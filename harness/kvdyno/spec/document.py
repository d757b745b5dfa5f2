"""A YAML file as plain data, with the line of every key, and the mistakes found in it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
from ruamel.yaml.scalarbool import ScalarBoolean

from kvdyno.errors import SpecError

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """`data` holds only dict, list, str, int, float, bool and None; `lines` count from 1."""

    path: Path
    data: Any
    lines: Mapping[Place, int]

    def where(self, place: Sequence[str | int]) -> str:
        """ "file:line" of the key or item at `place`, or of the nearest thing around it."""
        for length in range(len(place), -1, -1):
            line = self.lines.get(tuple(place[:length]))
            if line is not None:
                return f"{self.path}:{line}"
        return str(self.path)

    def below(self, key: str) -> Document:
        """The same document as the value of `key`, for a form whose top has other names."""
        lines = {(key, *place): line for place, line in self.lines.items()}
        return Document(self.path, {key: self.data}, {(): 1, **lines})


def read_document(path: Path) -> Document:
    """Read a YAML file. Raises SpecError with file and line when it cannot be read or is not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot be read: {error}", where=str(path)) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", YAMLWarning)
            tree = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = (error.problem or "cannot be parsed").splitlines()[0]
        raise SpecError(f"not YAML: {problem}", where=f"{path}:{mark.line + 1 if mark else 1}") from None
    except (YAMLError, YAMLWarning, ValueError, TypeError, AttributeError, RecursionError) as error:
        # The parser trips over tags on values of another kind.
        problem = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SpecError(f"not YAML: {problem}", where=str(path)) from None
    lines: dict[Place, int] = {(): 1}
    return Document(path, _plain(tree, place=(), lines=lines), lines)


class Mistakes:
    """Collects what is wrong with one document, so that a person sees all of it at once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found: dict[tuple[str, str], None] = {}

    def add(self, place: Sequence[str | int], message: str) -> None:
        """Remember a mistake at `place`; the same one twice counts once."""
        self._found[self._document.where(place), message] = None

    def add_at(self, where: str, message: str) -> None:
        """Remember a mistake of another file that the document leads to."""
        self._found[where, message] = None

    def where(self, place: Sequence[str | int]) -> str:
        """ "file:line" of the place, for an error that must not wait."""
        return self._document.where(place)

    def check(self) -> None:
        """Raise one SpecError with every mistake, if there is any."""
        mistakes = sorted(self._found, key=lambda mistake: _line_key(mistake[0]))
        if len(mistakes) == 1:
            raise SpecError(mistakes[0][1], where=mistakes[0][0])
        if mistakes:
            listed = "".join(f"\n  {where}: {message}" for where, message in mistakes)
            raise SpecError(f"{len(mistakes)} mistakes{listed}", where=str(self._document.path))


def _line_key(where: str) -> tuple[str, int]:
    path, _, line = where.rpartition(":")
    return (path, int(line)) if line.isdigit() else (where, 0)


def _plain(node: Any, *, place: Place, lines: dict[Place, int]) -> Any:
    """`node` without ruamel's types; fills `lines`."""
    if isinstance(node, CommentedMap):
        own = node.lc.data or {}
        for key in node:
            if key in own:
                lines[(*place, str(key))] = node.lc.key(key)[0] + 1
        return {str(key): _plain(value, place=(*place, str(key)), lines=lines) for key, value in node.items()}
    if isinstance(node, CommentedSeq):
        for index in range(len(node)):
            lines[(*place, index)] = node.lc.item(index)[0] + 1
        return [_plain(value, place=(*place, index), lines=lines) for index, value in enumerate(node)]
    if isinstance(node, (bool, ScalarBoolean)):
        return bool(node)
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node if node is None else str(node)
