"""A history on disk: a file of lines per host, which only grow. Lines of two branches merge in any order."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.history import HISTORY_SCHEMA, Entry
from kvdyno.model.schema import parse_json, upgraded

from .runs import make_folder

_SUFFIX = ".jsonl"
#: Git keeps the lines of both sides, instead of a conflict at the end of the file.
_ATTRIBUTES = f"*{_SUFFIX} merge=union\n"


class HistoryStore:
    """All entries below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def entries(self) -> tuple[Entry, ...]:
        """Every entry once, in the order of the files' lines.

        Raises StoreError with file and line where one is damaged, or written by a newer kvdyno.
        """
        paths = sorted(self.folder.glob(f"*{_SUFFIX}"))
        return tuple(dict.fromkeys(entry for path in paths for entry in _read(path)))

    def append(self, entries: Sequence[Entry]) -> int:
        """Add those that are not there yet, durably, and return how many they were.

        Raises StoreError; of a host whose file could not be written to the end, nothing is added then.
        """
        known = set(self.entries())
        new = [entry for entry in dict.fromkeys(entries) if entry not in known]
        make_folder(self.folder)
        attributes = self.folder / ".gitattributes"
        if not attributes.exists():
            _append(attributes, _ATTRIBUTES)
        for host in dict.fromkeys(entry.host for entry in new):
            _append(self.folder / f"{host}{_SUFFIX}", _lines(e for e in new if e.host == host))
        return len(new)


def _lines(entries: Iterable[Entry]) -> str:
    documents = (entry.model_dump(exclude_defaults=True) for entry in entries)
    texts = (json.dumps({"schema_version": HISTORY_SCHEMA, **each}, ensure_ascii=False) for each in documents)
    return "".join(f"{text}\n" for text in texts)


def _append(path: Path, text: str) -> None:
    """All of the text, or nothing. A last line without an end, which an editor may leave, gets one."""
    try:
        with path.open("a+b") as stream:
            before = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, before - 1))
            begin = b"" if stream.read(1) in (b"", b"\n") else b"\n"
            try:
                stream.write(begin + text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                os.truncate(path, before)
                raise
    except OSError as failure:
        raise StoreError(
            f"cannot write: {failure.strerror}",
            where=str(path),
            remedy="free some space, or choose a folder that you may write with --history",
        ) from failure


def _read(path: Path) -> Iterator[Entry]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise StoreError(f"cannot be read: {failure}", where=str(path)) from failure
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        document = upgraded(parse_json(line, where=where), known=HISTORY_SCHEMA, where=where)
        try:
            yield Entry.model_validate(document)
        except ValidationError as error:
            mistake = error.errors()[0]
            place = ".".join(str(part) for part in mistake["loc"]) or "the line"
            raise StoreError(
                f"{place}: {mistake['msg'].lower()}",
                where=where,
                remedy="restore the line from git; `git log -p` shows what it was",
            ) from None
