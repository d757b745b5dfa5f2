"""An archive: from its registry, checked against its SHA-256, unpacked."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from kvdyno.errors import EngineError, HostError
from kvdyno.model.units import distinct_sizes
from kvdyno.model.versions import Archive, Version

from .registries import fetch

#: Made last in a folder of unpacked sources.
_COMPLETE = ".unpacked"


def get_archive(version: Version, *, folder: Path, say: Callable[[str], None]) -> Path:
    """The archive in `folder`, fetched if it is not there; its checksum is right.

    Raises EngineError when the registry gives another file, HostError when it cannot be reached.
    """
    kept = folder / version.archive.file
    if kept.is_file() and _sha256(kept) == version.sha256:
        return kept
    say(f"fetching {version.archive.file}")
    fetched = fetch(version.archive, scratch=folder / "scratch")
    found = _sha256(fetched)
    if found != version.sha256:
        raise EngineError(
            f"expected an archive with SHA-256 {version.sha256}, found {found}",
            where=str(fetched),
            remedy="delete the file and try again; if the registry replaced the archive, "
            "engines/versions.yaml needs the new checksum",
        )
    folder.mkdir(parents=True, exist_ok=True)
    partial = kept.with_name(kept.name + ".part")
    shutil.copyfile(fetched, partial)
    partial.replace(kept)
    return kept


def unpack(archive: Path, *, spec: Archive, folder: Path) -> Path:
    """The engine's sources, unpacked below `folder` unless they are there already.

    Raises EngineError when the archive holds no such folder, HostError when it cannot be unpacked.
    """
    marker = folder / _COMPLETE
    if not marker.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            with tarfile.open(archive) as packed:
                extract(packed, into=folder)
        except (tarfile.TarError, EOFError) as error:
            raise EngineError(f"cannot be unpacked: {error}", where=str(archive)) from error
        marker.touch()
    (top,) = (path for path in folder.iterdir() if path.is_dir())
    sources = top / spec.folder
    if not (sources / "CMakeLists.txt").is_file():
        raise EngineError(f"expected {spec.folder}/CMakeLists.txt in it, found none", where=str(archive))
    return sources


def extract(packed: tarfile.TarFile, *, into: Path) -> None:
    """All of an archive that is trusted. Python before 3.11.4 has no filters, later ones ask for one."""
    if hasattr(tarfile, "data_filter"):
        packed.extractall(into, filter="data")
    else:
        packed.extractall(into)


def demand_space(folder: Path, *, needed_bytes: int) -> None:
    """Raises HostError unless the disk under `folder` has that much left."""
    folder.mkdir(parents=True, exist_ok=True)
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if free < needed_bytes:
        raise HostError(
            "expected {} of free disk, found {}".format(*distinct_sizes(needed_bytes, free)),
            where=str(folder),
            remedy="free some, or set KVDYNO_DATA to a folder on another disk",
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
