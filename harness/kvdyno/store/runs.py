"""Records on disk: a folder a run, append-only.

    <root>/<slug>-<identity, 12 digits>/<run id>/record.json    written last, at once or not at all
                                                 outcome.json, driver.log, latency.hlog, series.csv, ...

A run folder without a record belongs to a run in progress, or to one whose harness was killed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.point import Run
from kvdyno.model.project import blocking_file
from kvdyno.model.record import RECORD_SCHEMA, RECORD_STEPS, Record
from kvdyno.model.schema import parse_json, upgraded, validate

RECORD = "record.json"

_IDENTITY_DIGITS = 12
_TEMPORARY = ".record.json.new"
#: How many records are kept in memory, at about a third of a megabyte each.
_KEPT = 1024

# What `begin` calls folders. A results folder may hold others, which are none of the store's business.
_POINT_FOLDER = re.compile(rf".+-[0-9a-f]{{{_IDENTITY_DIGITS}}}")
_RUN_FOLDER = re.compile(r"\d{8}T\d{6}Z-r\d+-[0-9a-f]{6}")


@dataclass(frozen=True)
class CorruptRecord:
    """A record that cannot be read: kept where it is, and spoken of, never silently passed over."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """Where, and what is wrong."""
        return f"{self.path}: {self.reason}"


class RunStore:
    """All records below `root`. Many may read; one sweep writes (SweepLock sees to that)."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def begin(self, run: Run) -> Path:
        """A new, empty folder for a run; its name is the run's id. Raises StoreError."""
        point = run.point
        started = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        run_id = f"{started}-r{run.repetition}-{secrets.token_hex(3)}"
        run_dir = self.root / f"{point.slug}-{point.identity[:_IDENTITY_DIGITS]}" / run_id
        try:
            run_dir.mkdir(parents=True)
        except OSError as failure:
            raise _cannot_write(failure, run_dir) from failure
        return run_dir

    def commit(self, record: Record, *, run_dir: Path) -> None:
        """Make the record durable: afterwards it is there whole, or (after a StoreError) not at all."""
        path = run_dir / RECORD
        validate(record.model_dump(mode="json"), schema="record", where=str(path))
        temporary = run_dir / _TEMPORARY
        try:
            for name in record.files.values():
                _sync(run_dir / name)
            with temporary.open("x", encoding="utf-8") as stream:
                stream.write(record.model_dump_json(indent=1) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            # A link, unlike a rename, refuses to take the place of an earlier record.
            path.hardlink_to(temporary)
            temporary.unlink()
            for folder in (run_dir, run_dir.parent, self.root):
                _sync(folder)
        except OSError as failure:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise _cannot_write(failure, path) from failure

    def records(
        self,
        *,
        identities: Collection[str] | None = None,
        slugs: Collection[str] = (),
        host_id: str | None = None,
    ) -> Iterator[Record]:
        """Readable records in order of start, of these points and this host if given.

        With `identities`, `slugs` adds the points that were called so. What cannot be read is in
        `corrupt_records`.
        """
        for record in self.read(identities=identities, slugs=slugs)[0]:
            wanted = identities is None or record.point.identity in identities or record.point.slug in slugs
            if wanted and host_id in (None, record.environment.host_id):
                yield record

    def corrupt_records(self, *, identities: Collection[str] | None = None) -> tuple[CorruptRecord, ...]:
        """The records that cannot be read."""
        return self.read(identities=identities)[1]

    def read(
        self, *, identities: Collection[str] | None = None, slugs: Collection[str] = ()
    ) -> tuple[tuple[Record, ...], tuple[CorruptRecord, ...]]:
        """Readable records in order of start, and those that cannot be read.

        Identities, if given, leave out most points, not all that begin alike; `slugs` are as in `records`.
        """
        found = [read_record(path) for path in self._paths(identities, slugs)]
        readable = sorted((r for r in found if isinstance(r, Record)), key=lambda r: (r.started_at, r.run_id))
        return tuple(readable), tuple(r for r in found if isinstance(r, CorruptRecord))

    def count(self, *, identities: Collection[str]) -> int:
        """How many records there are of points whose identities begin so; none is read."""
        return sum(1 for _ in self._paths(identities))

    def run_dir(self, record: Record) -> Path:
        """Where the record's files are: under slug and identity that the point had when it was measured.

        Raises StoreError when they are gone.
        """
        found = next(self.root.glob(f"*/{record.run_id}"), None)
        if found is None:
            raise StoreError(f"expected the folder of run {record.run_id}, found none", where=str(self.root))
        return found

    def abandoned(self) -> tuple[Path, ...]:
        """Run folders without a record. Call it under the sweep lock: a run in progress has none yet."""
        return tuple(sorted(p for p in self.root.glob("*/*") if _is_begun(p) and not (p / RECORD).exists()))

    def clean(self) -> tuple[Path, ...]:
        """Remove abandoned run folders, and return them. Call it under the sweep lock."""
        abandoned = self.abandoned()
        for run_dir in abandoned:
            try:
                shutil.rmtree(run_dir)
                if not any(run_dir.parent.iterdir()):
                    run_dir.parent.rmdir()
            except OSError as failure:
                raise _cannot_write(failure, run_dir) from failure
        return abandoned

    def _paths(self, identities: Collection[str] | None, slugs: Collection[str] = ()) -> Iterator[Path]:
        """The files of all records, in a fixed order; if identities are given, at least of these points, and
        of those that were called so."""
        if identities is None:
            yield from sorted(self.root.glob(f"*/*/{RECORD}"))
            return
        starts = {identity[:_IDENTITY_DIGITS] for identity in identities}
        for folder in sorted(self.root.glob("*-*")):
            slug, start = folder.name[: -_IDENTITY_DIGITS - 1], folder.name[-_IDENTITY_DIGITS:]
            if start in starts or slug in slugs:
                yield from sorted(folder.glob(f"*/{RECORD}"))


def _is_begun(path: Path) -> bool:
    """Whether `begin` made the folder, by its name and its parent's."""
    named = _RUN_FOLDER.fullmatch(path.name) and _POINT_FOLDER.fullmatch(path.parent.name)
    return bool(named) and path.is_dir() and not (path.is_symlink() or path.parent.is_symlink())


def read_record(path: Path) -> Record | CorruptRecord:
    """The record in its present form, whichever version of it the file has. A file that has not changed is
    read once: a search looks up its default's records for every try.
    """
    try:
        status = path.stat()
        return _read(path, (status.st_ino, status.st_ctime_ns, status.st_size))
    except OSError as failure:
        return CorruptRecord(path, failure.strerror or str(failure))


@functools.lru_cache(maxsize=_KEPT)
def _read(path: Path, _state: tuple[int, int, int], /) -> Record | CorruptRecord:
    """The file's record. `_state` makes another file at this path, or a changed one, another key. Raises
    OSError, which is not kept: the next read may succeed.
    """
    try:
        document = upgraded(
            parse_json(path.read_bytes(), where=str(path)),
            known=RECORD_SCHEMA,
            steps=RECORD_STEPS,
            where=str(path),
        )
        # The schema, 25 times slower than the model, was applied when the record was written.
        record = Record.model_validate(document)
    except StoreError as failure:
        return CorruptRecord(path, failure.message)
    except ValidationError as failure:
        return CorruptRecord(path, str(failure))
    if record.schema_version != RECORD_SCHEMA:
        return CorruptRecord(path, f"expected {RECORD_SCHEMA}, found {record.schema_version}")
    return record


def make_folder(folder: Path) -> None:
    """Make a folder that can be written, with those above it. Raises StoreError, naming what is there."""
    if blocking := blocking_file(folder):
        raise StoreError(
            f"expected a folder at {blocking}, found a file",
            where=str(folder),
            remedy="choose another folder with --results",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as failure:
        raise _cannot_write(failure, folder) from failure


def _cannot_write(failure: OSError, path: Path) -> StoreError:
    full = failure.errno in (errno.ENOSPC, errno.EDQUOT)
    return StoreError(
        f"cannot write: {failure.strerror}",
        where=str(failure.filename or path),
        remedy="free some space" if full else "choose a folder that you may write with --results",
    )


def _sync(path: Path) -> None:
    """Make a file or a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
