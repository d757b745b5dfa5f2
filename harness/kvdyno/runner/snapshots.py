"""Dataset snapshots: a loaded store, made once, from which every repetition starts.

    <data>/snapshots/<identity>/store/…          the files, read-only
    <data>/snapshots/<identity>/manifest.json    size, time and checksum of each; written last
    <data>/snapshots/<identity>.partial/…        one that is being made, or was left so

A snapshot exists when its manifest does. Files that an engine never changes once written are hard-linked
into a run's store, the others copied; a linked file that a run did change condemns the snapshot. Holes of
sparse files are neither read nor copied.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from kvdyno.errors import HostError
from kvdyno.model.engine import Frozen

from .disk import evict, files_below, read_through, remove_tree, sync_folder, sync_tree
from .extents import Counted, copy_data, data_bytes, data_sha256
from .tally import Tally
from .watch import Progress

OnProgress = Callable[[Progress], None]

_STORE = "store"
_MANIFEST = "manifest.json"
_PARTIAL = ".partial"


class SnapshotFile(Frozen):
    """One file of a snapshot. `path` is relative to the store; `data_bytes` are those in no hole."""

    path: str
    bytes: int
    data_bytes: int
    modified_ns: int
    sha256: str


class Manifest(Frozen):
    """What a complete snapshot holds. `load_run` is the run that made it."""

    schema_version: Literal["kvdyno.snapshot/2"] = "kvdyno.snapshot/2"
    identity: str
    slug: str
    load_run: str
    files: tuple[SnapshotFile, ...]


@dataclass(frozen=True)
class Snapshot:
    """A complete snapshot."""

    folder: Path
    manifest: Manifest

    @property
    def store(self) -> Path:
        """The read-only files."""
        return self.folder / _STORE

    @property
    def bytes(self) -> int:
        """Bytes of data in all files, holes left out."""
        return sum(f.data_bytes for f in self.manifest.files)

    def copied_bytes(self, write_once: Iterable[str]) -> int:
        """Bytes of data in the files that a run gets as copies of its own."""
        globs = tuple(write_once)
        return sum(f.data_bytes for f in self.manifest.files if not _matches(f.path, globs))

    def lay_out(
        self, target: Path, *, write_once: Iterable[str], read_first: bool, progress: OnProgress
    ) -> None:
        """Make `target` a store equal to the snapshot, with nothing of either in the page cache.

        `write_once` are globs of the file names that the engine never changes: those are linked. With
        `read_first` they are read, so that every byte is read or written on the way, and each run finds the
        storage below equally prepared. Raises HostError.
        """
        globs = tuple(write_once)
        total = self.bytes if read_first else self.copied_bytes(globs)
        tally = Tally("copying", total=total, progress=progress)
        try:
            target.mkdir(parents=True)
            # Folders too: an engine may need an empty one.
            for folder in sorted(p for p in self.store.rglob("*") if p.is_dir()):
                (target / folder.relative_to(self.store)).mkdir()
            for file in self.manifest.files:
                source, place = self.store / file.path, target / file.path
                if not _matches(file.path, globs):
                    copy_data(source, place, counted=tally.add)
                    place.chmod(0o644)
                    continue
                if read_first:
                    read_through(source, counted=tally.add)
                place.hardlink_to(source)
            evict(target)
            evict(self.store)
        except OSError as failure:
            raise HostError(
                f"cannot copy a snapshot: {failure.strerror}", where=str(failure.filename or target)
            ) from failure

    def first_difference(self, *, checksums: bool, progress: OnProgress) -> str | None:
        """What differs from the manifest: cheaply by size and time, or by reading every byte."""
        tally = Tally("checking", total=self.bytes, progress=progress)
        for file in self.manifest.files:
            path = self.store / file.path
            try:
                now = path.stat()
            except OSError as failure:
                return f"{path}: {failure.strerror}"
            if now.st_size != file.bytes:
                return f"{path}: expected {file.bytes} bytes, found {now.st_size}"
            if now.st_mtime_ns != file.modified_ns:
                return f"{path}: was modified after the snapshot was made"
            if checksums and data_sha256(path, counted=tally.add) != file.sha256:
                return f"{path}: the checksum differs"
        return None


class Snapshots:
    """The snapshots below one folder. Only one process at a time may use it (the sweep lock sees to that)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._verified: set[str] = set()

    def find(self, identity: str, *, report: Callable[[str], None], progress: OnProgress) -> Snapshot | None:
        """The complete, sound snapshot; what is incomplete or corrupt is removed, and the flaw reported.

        Every byte is checked the first time that this object hands a snapshot out.
        """
        remove_tree(self._folder / (identity + _PARTIAL))
        folder = self._folder / identity
        try:
            manifest = Manifest.model_validate_json((folder / _MANIFEST).read_text("utf-8"))
        except (OSError, UnicodeDecodeError, ValidationError):
            if folder.exists():
                report(f"its snapshot had no usable manifest, and was made again: {folder}")
            remove_tree(folder)
            return None
        snapshot = Snapshot(folder, manifest)
        flaw = snapshot.first_difference(checksums=identity not in self._verified, progress=progress)
        if flaw is not None:
            report(f"its snapshot was corrupt, and was made again: {flaw}")
            self.remove(identity)
            return None
        self._verified.add(identity)
        return snapshot

    def begin(self, identity: str) -> Path:
        """An empty folder for the load to fill. Raises HostError."""
        partial = self._folder / (identity + _PARTIAL)
        remove_tree(partial)
        store = partial / _STORE
        try:
            store.mkdir(parents=True)
        except OSError as failure:
            raise HostError(f"cannot write: {failure.strerror}", where=str(store)) from failure
        return store

    def commit(self, identity: str, *, slug: str, load_run: str, progress: OnProgress) -> Snapshot:
        """Freeze what `begin`'s folder holds: read-only, checksummed, durable, out of the page cache."""
        partial = self._folder / (identity + _PARTIAL)
        store = partial / _STORE
        try:
            paths = tuple(files_below(store))
            tally = Tally("checking", total=sum(map(data_bytes, paths)), progress=progress)
            files = tuple(_freeze(path, store, counted=tally.add) for path in paths)
            manifest = Manifest(identity=identity, slug=slug, load_run=load_run, files=files)
            with (partial / _MANIFEST).open("x", encoding="utf-8") as stream:
                stream.write(manifest.model_dump_json(indent=1) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            evict(store)
            sync_tree(partial)
            remove_tree(self._folder / identity)
            partial.rename(self._folder / identity)
            sync_folder(self._folder)
        except OSError as failure:
            raise HostError(
                f"cannot keep a snapshot: {failure.strerror}", where=str(failure.filename or partial)
            ) from failure
        self._verified.add(identity)
        return Snapshot(self._folder / identity, manifest)

    def abandon(self, identity: str) -> None:
        """Remove what a failed load left."""
        remove_tree(self._folder / (identity + _PARTIAL))

    def remove(self, identity: str) -> None:
        """Remove a snapshot; its manifest first, so that half of it is never taken for the whole."""
        (self._folder / identity / _MANIFEST).unlink(missing_ok=True)
        remove_tree(self._folder / identity)
        self._verified.discard(identity)

    def remove_all(self) -> tuple[str, ...]:
        """Remove every snapshot; returns their identities."""
        identities = sorted(manifest.parent.name for manifest in self._folder.glob(f"*/{_MANIFEST}"))
        for identity in identities:
            self.remove(identity)
        return tuple(identities)

    def remove_partial(self) -> tuple[str, ...]:
        """Remove what killed sweeps left; returns the names."""
        partial = sorted(self._folder.glob("*" + _PARTIAL))
        for folder in partial:
            remove_tree(folder)
        return tuple(p.name for p in partial)


def _matches(path: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(Path(path).name, glob) for glob in globs)


def _freeze(path: Path, store: Path, *, counted: Counted) -> SnapshotFile:
    path.chmod(0o444)
    now = path.stat()
    return SnapshotFile(
        path=str(path.relative_to(store)),
        bytes=now.st_size,
        data_bytes=data_bytes(path),
        modified_ns=now.st_mtime_ns,
        sha256=data_sha256(path, counted=counted),
    )
