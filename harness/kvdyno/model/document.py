"""A YAML file as plain data, with the line of every key, and the mistakes found in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedOrderedMap, CommentedSeq, CommentedSet
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
from ruamel.yaml.scalarbool import ScalarBoolean

from kvdyno.errors import SpecError

from .units import human_bytes
from .words import shown

Place = tuple[str | int, ...]

# More than any experiment has: a file beyond them was not written by a person.
_BYTES_MAX = 256 << 10
_VALUES_MAX = 20_000
_DEPTH_MAX = 32

# Terminals obey control characters, property files end lines at separators, and UTF-8 has no surrogates.
_STRANGE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TAGGED: Mapping[type, str] = {CommentedSet: "!!set", CommentedOrderedMap: "!!omap", bytes: "!!binary"}


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


def read_document(path: Path, *, keys_are_texts: bool = False) -> Document:
    """Read a YAML file. Raises SpecError with file and line when it cannot be read or is not YAML, or when it
    holds more than a person writes: aliases in aliases stand for billions of values.

    `keys_are_texts` refuses keys that YAML reads as something else, such as a version 1.20, the number 1.2.
    """
    text = _read_text(path)
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
    reading = _Reading(path, keys_are_texts=keys_are_texts)
    return Document(path, reading.plain(tree), reading.lines)


def _read_text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise SpecError("expected a file, found a folder or a device", where=str(path))
        with path.open("rb") as stream:
            content = stream.read(_BYTES_MAX + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        found = f"expected UTF-8, found the byte {content[error.start]:#04x}"
        raise SpecError(found, where=f"{path}:{line}", remedy="save the file as UTF-8") from None
    if len(content) > _BYTES_MAX:
        most = human_bytes(_BYTES_MAX)
        raise SpecError(f"expected at most {most}, found more", where=str(path), remedy="split the file")
    return text


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


def _tag_of(node: Any) -> str | None:
    """The tag with which a value was written; ruamel keeps some as the value's type."""
    written = getattr(getattr(node, "tag", None), "value", None)
    return str(written) if written is not None else _TAGGED.get(type(node))


class _Reading:
    """Makes plain data of ruamel's tree, and notes the lines. An alias counts each time that it is used."""

    def __init__(self, path: Path, *, keys_are_texts: bool) -> None:
        self.lines: dict[Place, int] = {(): 1}
        self._path = path
        self._keys_are_texts = keys_are_texts
        self._values = 0

    def plain(self, node: Any, *, place: Place = ()) -> Any:
        """The node as dict, list, str, int, float, bool or None. Raises SpecError for anything else."""
        self._values += 1
        if self._values > _VALUES_MAX or len(place) > _DEPTH_MAX:
            found = f"expected at most {_VALUES_MAX:,} values, {_DEPTH_MAX} deep, found more"
            self._refuse(place[:1], found, "write the values out, without aliases in aliases")
        tag = _tag_of(node)
        if tag:
            self._refuse(place, f"expected a value without a tag, found {shown(tag)}", "remove the tag")
        if isinstance(node, CommentedMap):
            return self._mapping(node, place)
        if isinstance(node, CommentedSeq):
            for index, (line, _) in (node.lc.data or {}).items():
                self.lines[(*place, index)] = line + 1
            return [self.plain(value, place=(*place, index)) for index, value in enumerate(node)]
        if isinstance(node, (bool, ScalarBoolean)):
            return bool(node)
        if node is None or isinstance(node, (int, float)):
            return node if node is None else (int if isinstance(node, int) else float)(node)
        return self._text(str(node), place)

    def _mapping(self, node: CommentedMap, place: Place) -> dict[str, Any]:
        for key, (line, *_) in (node.lc.data or {}).items():
            self.lines[(*place, str(key))] = line + 1
        plain: dict[str, Any] = {}
        for key, value in node.items():
            inside = (*place, str(key))
            if self._keys_are_texts and not isinstance(key, str):
                self._refuse(inside, f"expected a text as key, found {key}", "put the key in quotes")
            name = self._text(str(key), inside)
            if name in plain:
                self._refuse(inside, f"key {shown(name)} stands here twice", "remove one of the two")
            plain[name] = self.plain(value, place=inside)
        return plain

    def _text(self, text: str, place: Place) -> str:
        strange = _STRANGE.search(text)
        if strange:
            found = f"expected text without control characters, found {strange[0]!r} in {shown(text)}"
            self._refuse(place, found, "remove the character")
        return text

    def _refuse(self, place: Place, message: str, remedy: str) -> NoReturn:
        where = Document(self._path, None, self.lines).where(place)
        raise SpecError(message, where=where, remedy=remedy)
