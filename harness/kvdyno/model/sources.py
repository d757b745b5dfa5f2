"""What a driver is built from: the sources that its build sees, and their hash.

Images and drivers on built libraries both carry the hash, and are stale where it differs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Set
from pathlib import Path

from kvdyno.errors import EngineError

from .project import Project
from .words import unknown

DOCKERFILE = Path("containers/Dockerfile")

# Useless to a driver: tests, benchmarks, and what the harness reads from the tree.
_FOLDERS_LEFT_OUT = frozenset({"fuzz", "testing", "versions", "__pycache__"})
_INCLUDED = re.compile(r"include\(\.\./([\w-]+)/")
_FILES_LEFT_OUT = (
    *("*_test.*", "*.md", "*.py"),
    *("presets.yaml", "tuning.yaml", "counters.txt", "versions.yaml", ".*"),
)


def buildable_engines(project: Project) -> tuple[str, ...]:
    """The engines that can be built apart from others: adapters that say which packages they need."""
    return tuple(sorted(path.parent.name for path in project.adapters.glob("*/packages.txt")))


def common_sources(project: Project) -> tuple[Path, ...]:
    """What every driver is built from: files relative to the checkout, in order of path.

    That is all under engines/ but the adapters, and the libraries that have an engine's name.
    """
    engines = project.adapters.parent
    left_out = {project.adapters / name for name in _names(project.adapters)}
    left_out |= {engines / name for name in buildable_engines(project)}
    found = [project.root / DOCKERFILE, project.root / "CMakeLists.txt", *_files(engines, left_out=left_out)]
    return tuple(sorted(path.relative_to(project.root) for path in found))


def own_sources(project: Project, engine: str) -> tuple[Path, ...]:
    """What this engine's driver is built from besides: files relative to the checkout, in order of path.

    That is its adapter, the adapters that this one includes from (`include(../<folder>/...)`), and the
    library of its name where there is one. Raises EngineError when there is no such adapter.
    """
    known = buildable_engines(project)
    if engine not in known:
        raise EngineError(unknown("engine", engine, known), where=str(project.adapters))
    places = (*adapter_folders(project.adapters / engine), project.adapters.parent / engine)
    found = [file for place in places if place.is_dir() for file in _files(place)]
    return tuple(sorted(path.relative_to(project.root) for path in found))


def source_sha256(project: Project, engine: str) -> str:
    """SHA-256, in hexadecimal, over names and contents of the driver's sources; not over their dates.

    Raises EngineError when there is no such adapter, OSError when a source cannot be read.
    """
    digest = hashlib.sha256()
    for path in (*common_sources(project), *own_sources(project, engine)):
        digest.update(path.as_posix().encode() + b"\0")
        digest.update(hashlib.sha256((project.root / path).read_bytes()).digest())
    return digest.hexdigest()


def adapter_folders(adapter: Path, *, before: Set[Path] = frozenset()) -> Set[Path]:
    """An adapter's folder and those that its CMake files include from, near and far."""
    found = before | {adapter}
    for listing in (*adapter.glob("CMakeLists.txt"), *adapter.glob("*.cmake")):
        for name in _INCLUDED.findall(listing.read_text()):
            near = adapter.parent / name
            if near not in found and near.is_dir():
                found = adapter_folders(near, before=found)
    return found


def _names(folder: Path) -> tuple[str, ...]:
    """The folders in a folder."""
    return tuple(path.name for path in folder.iterdir() if path.is_dir())


def _files(folder: Path, *, left_out: Set[Path] = frozenset()) -> Iterator[Path]:
    """The files below a folder that a driver may be built from."""
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in _FOLDERS_LEFT_OUT and path not in left_out:
                yield from _files(path, left_out=left_out)
        elif not any(path.match(pattern) for pattern in _FILES_LEFT_OUT):
            yield path
