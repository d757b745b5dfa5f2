"""Bundles on disk: written whole or not at all, and checked before anything is taken from one."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.bundle import BUNDLE_SCHEMA, LIST, STORED, Bundle, BundledFile
from kvdyno.model.schema import parse_json, upgraded
from kvdyno.model.sweep import SWEEP_SCHEMA

from .delivery import is_there
from .runs import RECORD, CorruptRecord, read_record

_PIECE_BYTES = 1 << 20
_LIST_BYTES_MAX = 16 << 20


def bundled(members: Mapping[str, Path]) -> Mapping[str, BundledFile]:
    """Sizes and checksums of files, by their names in a bundle. Raises StoreError."""
    return {name: _measured(path) for name, path in members.items()}


def write_bundle(path: Path, bundle: Bundle, members: Mapping[str, Path]) -> None:
    """Write the list and its members. Raises StoreError; nothing is left then."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        with tarfile.open(temporary, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            document = bundle.model_dump_json(indent=1).encode()
            head = tarfile.TarInfo(LIST)
            head.size = len(document)
            archive.addfile(head, io.BytesIO(document))
            for name, source in members.items():
                archive.add(source, arcname=name, recursive=False, filter=_plain)
        temporary.rename(path)
    except OSError as failure:
        temporary.unlink(missing_ok=True)
        raise StoreError(
            f"cannot write: {failure.strerror or failure}",
            where=str(failure.filename or path),
            remedy="free some space, or choose another place with --output",
        ) from failure


def take_bundle(path: Path, *, results: Path) -> tuple[Bundle, int]:
    """Put a bundle's records and sweeps below `results`; return its list and how many runs were new.

    What is there already stays. Raises StoreError, having taken nothing, if the file is no bundle, if a
    member is missing or not what the list has, if a record or a sweep cannot be read here, or if a run of
    the same id is there with another record.
    """
    with _unpacked(path, results) as (bundle, folder):
        runs = sorted(run for run in (folder / "runs").glob("*/*") if run.is_dir())
        new = [run for run in runs if not is_there(run, results / run.relative_to(folder))]
        sweeps = sorted((folder / "sweeps").glob("*.json"))
        for run in new:
            _check(run / RECORD, where=f"{path}: {run.relative_to(folder)}")
        for sweep in sweeps:
            where = f"{path}: {sweep.relative_to(folder)}"
            upgraded(parse_json(sweep.read_bytes(), where=where), known=SWEEP_SCHEMA, where=where)
        for run in new:
            _move(run, results / run.relative_to(folder))
        for sweep in sweeps:
            target = results / "sweeps" / sweep.name
            if not target.exists():
                _move(sweep, target)
        return bundle, len(new)


@contextmanager
def _unpacked(path: Path, results: Path) -> Iterator[tuple[Bundle, Path]]:
    """The bundle's list, and a folder beside the results with what of it is stored."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        with (
            tarfile.open(path, "r:gz") as archive,
            tempfile.TemporaryDirectory(prefix=".import-", dir=results) as folder,
        ):
            bundle = _read_list(archive, path)
            _unpack(archive, bundle, Path(folder), path)
            yield bundle, Path(folder)
    except (tarfile.TarError, EOFError) as failure:
        raise StoreError(f"expected a bundle of `kvdyno export`: {failure}", where=str(path)) from failure
    except OSError as failure:
        raise StoreError(
            f"cannot import: {failure.strerror or failure}", where=str(failure.filename or path)
        ) from failure


def _read_list(archive: tarfile.TarFile, path: Path) -> Bundle:
    first = archive.next()
    if first is None or first.name != LIST or not first.isfile() or first.size > _LIST_BYTES_MAX:
        raise StoreError(f"expected {LIST} as its first member", where=str(path))
    stream = archive.extractfile(first)
    assert stream  # it is a file
    document = upgraded(parse_json(stream.read(), where=str(path)), known=BUNDLE_SCHEMA, where=str(path))
    try:
        return Bundle.model_validate(document)
    except ValidationError as failure:
        raise StoreError(f"expected the list of a {BUNDLE_SCHEMA}: {failure}", where=str(path)) from failure


def _unpack(archive: tarfile.TarFile, bundle: Bundle, folder: Path, path: Path) -> None:
    """Write the members that are stored; compare all with the list."""
    found = set()
    while (member := archive.next()) is not None:
        listed = bundle.files.get(member.name)
        if listed is None or not member.isfile() or ".." in PurePosixPath(member.name).parts:
            raise StoreError(f"{member.name} is not in its list", where=str(path))
        target = folder / member.name if STORED.fullmatch(member.name) else None
        if member.size != listed.bytes or _copy(archive, member, target) != listed.sha256:
            raise StoreError(f"{member.name} is not what the list has: the file is damaged", where=str(path))
        found.add(member.name)
    if missing := sorted(set(bundle.files) - found):
        raise StoreError(f"{missing[0]} is missing: the file was cut", where=str(path))


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path | None) -> str:
    """The member's SHA-256; its bytes go to `target`, if any."""
    digest = hashlib.sha256()
    stream = archive.extractfile(member)
    assert stream  # it is a file
    if target:
        target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") if target else io.BytesIO() as output:
        while piece := stream.read(_PIECE_BYTES):
            digest.update(piece)
            if target:
                output.write(piece)
    return digest.hexdigest()


def _check(path: Path, *, where: str) -> None:
    if isinstance(found := read_record(path), CorruptRecord):
        raise StoreError(found.reason, where=where, remedy="update kvdyno, or export the runs again")


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)


def _measured(path: Path) -> BundledFile:
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
        return BundledFile(bytes=path.stat().st_size, sha256=digest.hexdigest())
    except OSError as failure:
        raise StoreError(f"cannot read: {failure.strerror}", where=str(path)) from failure


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the names of people and machines."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member
