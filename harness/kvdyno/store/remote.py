"""A results folder behind a URL, on any file system that fsspec opens: s3://, gs://, sftp://, file://.

Runs go both ways whole or not at all: `record.json` makes a run finished, so it is sent last, and what is
fetched is staged beside the records and delivered as from a folder here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec

from kvdyno.errors import StoreError, UsageError

from .delivery import INCOMING, finished
from .runs import RECORD, CorruptRecord
from .syncing import Synced, bring

_RUN_DEPTH = 4  # runs/<point>/<run>/record.json
_REMEDY = "look at the URL, its credentials and the network; the same command again goes on where it stopped"
#: What is asked of a file system, in words.
_CALLS = {
    "info": "look at",
    "find": "list",
    "cat_file": "read",
    "get_file": "fetch",
    "makedirs": "make the folder",
    "put_file": "send",
}


def is_url(source: str) -> bool:
    """Whether it names a place behind a protocol, and not a folder."""
    return "://" in source


def fetch(url: str, *, target: Path, sender: str) -> Synced:
    """Bring the finished runs of the results folder at `url`, and its sweeps, into `target`, as `bring` does.

    Only what is not here is fetched, a run at a time. Raises what `bring` raises, and StoreError if the file
    system fails: the same call again goes on.
    """
    there = _Remote(url)
    staging = target / INCOMING / f"{sender}-fetched"
    found = Synced(0, 0, ())
    try:
        with there.reported():
            records = there.records()
            if not records and not there.exists("runs"):
                raise UsageError(f"expected a results folder, found no runs/ in {url}")
            for record in records:
                found += _fetch_run(there, record, target=target, staging=staging, sender=sender)
            shutil.rmtree(staging, ignore_errors=True)
            there.get(there.files("sweeps"), staging)
        (staging / "runs").mkdir(parents=True, exist_ok=True)
        return found + bring(staging, target=target, sender=sender)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _fetch_run(there: _Remote, record: PurePosixPath, *, target: Path, staging: Path, sender: str) -> Synced:
    ours = target / record
    if ours.is_file():
        if ours.read_bytes() == there.read(record):
            return Synced(0, 1, ())
        return Synced(0, 0, (CorruptRecord(ours, f"another run has this id in {there.url}"),))
    shutil.rmtree(staging, ignore_errors=True)
    there.get(there.files(str(record.parent)), staging)
    return bring(staging, target=target, sender=sender)


def send(source: Path, *, url: str) -> Synced:
    """Send the finished runs of the results folder `source`, and its sweeps, to the results folder at `url`,
    which need not exist. What is there stays; what has the id of another is refused.

    Raises StoreError if the file system fails: the same call again goes on.
    """
    there = _Remote(url)
    found = Synced(0, 0, ())
    with there.reported():
        known = set(there.records())
        for run_dir in finished(source):
            record = PurePosixPath((run_dir / RECORD).relative_to(source).as_posix())
            if record in known:
                found += _compared(there, record, run_dir / RECORD)
                continue
            files = sorted(path for path in run_dir.rglob("*") if path.is_file() and path.name != RECORD)
            for path in (*files, run_dir / RECORD):
                there.put(path, path.relative_to(source).as_posix())
            found += Synced(1, 0, ())
        sweeps = set(there.files("sweeps"))
        for path in sorted((source / "sweeps").glob("*.json")):
            place = PurePosixPath("sweeps") / path.name
            if place not in sweeps:
                there.put(path, str(place))
            else:
                found += Synced(0, 0, _compared(there, place, path).refused)
    return found


def _compared(there: _Remote, place: PurePosixPath, ours: Path) -> Synced:
    if there.read(place) == ours.read_bytes():
        return Synced(0, 1, ())
    return Synced(0, 0, (CorruptRecord(ours, f"another one has this id in {there.url}"),))


class _Remote:
    """The file system of a URL, with paths relative to the URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self.system, self.root = _opened(url)
        except ImportError as lack:
            raise UsageError(
                f"cannot open {url}: expected a package for {url.partition('://')[0]}://, found none: {lack}",
                remedy="install it with .venv/bin/pip install",
            ) from lack
        except ValueError as unknown:
            raise UsageError(
                f"cannot open {url}: {unknown}",
                remedy="name a URL of fsspec, such as s3://bucket/results or file:///results",
            ) from unknown
        except Exception as failure:
            raise self._failure("open it", failure) from failure

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Failures of the file system as StoreError."""
        try:
            yield
        except OSError as failure:
            raise StoreError(
                f"cannot read or write {failure.filename or self.url}: {failure.strerror or failure}",
                where=self.url,
                remedy=_REMEDY,
            ) from failure

    def _ask(self, call: str, *arguments: Any, **named: Any) -> Any:
        """What a call of the file system returns. Backends raise errors of their own, without a common root;
        those of the operating system are `reported`, as are those of files here.
        """
        try:
            return getattr(self.system, call)(*arguments, **named)
        except OSError:
            raise
        except Exception as failure:
            raise self._failure(f"{_CALLS[call]} {arguments[0]}", failure) from failure

    def _failure(self, what: str, failure: Exception) -> StoreError:
        reason = f"{type(failure).__name__}: {failure}".removesuffix(": ")
        return StoreError(f"cannot {what}: {reason}", where=self.url, remedy=_REMEDY)

    def path(self, relative: str) -> str:
        return f"{self.root}/{relative}"

    def exists(self, folder: str) -> bool:
        try:
            self._ask("info", self.path(folder))
        except FileNotFoundError:
            return False
        return True

    def files(self, folder: str) -> list[PurePosixPath]:
        """All files below a folder; none if it does not exist. Names that lead out of it are left out."""
        below = self._ask("find", self.path(folder))
        names = (PurePosixPath(str(each)[len(self.root) :].lstrip("/")) for each in below)
        return sorted(name for name in names if ".." not in name.parts)

    def records(self) -> list[PurePosixPath]:
        """The records of finished runs."""
        return [each for each in self.files("runs") if each.name == RECORD and len(each.parts) == _RUN_DEPTH]

    def read(self, place: PurePosixPath) -> bytes:
        return bytes(self._ask("cat_file", self.path(str(place))))

    def get(self, places: list[PurePosixPath], folder: Path) -> None:
        for place in places:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            self._ask("get_file", self.path(str(place)), str(folder / place))

    def put(self, path: Path, place: str) -> None:
        target = self.path(place)
        self._ask("makedirs", target.rpartition("/")[0], exist_ok=True)
        self._ask("put_file", str(path), target)


def _opened(url: str) -> tuple[Any, str]:
    system, root = fsspec.core.url_to_fs(url)
    system.invalidate_cache()  # listings of an earlier call
    return system, str(root).rstrip("/")
