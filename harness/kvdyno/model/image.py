"""An engine's image: its name and labels, what goes into it, and whether it may be measured.

The contract between what builds images (`kvdyno.images`) and what runs them (`kvdyno.runner`). An image
holds the driver at `driver_path(engine)`, which is its entry point; it runs as `USER_ID`, has no compiler,
and writes nowhere but to `DATA`, `OUTPUT` and a tmpfs on /tmp, which whoever runs it provides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.model.project import Project
from kvdyno.model.words import unknown

#: User and group of the driver in an image.
USER_ID = 10001
#: Where the store's folder and the driver's output folder are mounted.
DATA = "/data"
OUTPUT = "/output"

LABEL_ENGINE = "kvdyno.engine"
#: The engine's own version, as --describe tells it.
LABEL_VERSION = "kvdyno.version"
#: What `source_sha256` said of the tree that the image was built from.
LABEL_SOURCE = "kvdyno.source-sha256"
#: Compiler and flags, as --describe tells them.
LABEL_FLAGS = "kvdyno.build-flags"
#: The id of the image that it was built on.
LABEL_BASE = "kvdyno.base"

DOCKERFILE = Path("containers/Dockerfile")
REMEDY = "make images"

# Of no use to a driver: tests, benchmarks, and what the harness reads from the tree.
_FOLDERS_LEFT_OUT = frozenset({"fuzz", "trust", "stress", "versions", "__pycache__"})
_INCLUDED = re.compile(r"include\(\.\./([\w-]+)/")
_FILES_LEFT_OUT = ("*_test.*", "testing/*.cc", "*.md", "*.py", "presets.yaml", "versions.yaml", ".*")


def image_name(engine: str) -> str:
    """The image of an engine, with its tag."""
    return f"kvdyno-{engine}:latest"


def driver_path(engine: str) -> str:
    """The driver inside the image; also its entry point."""
    return f"/usr/local/bin/kvdyno-{engine}"


def engines_with_images(project: Project) -> tuple[str, ...]:
    """The engines that images can be built of: adapters that say which packages they need."""
    return tuple(sorted(path.parent.name for path in project.adapters.glob("*/packages.txt")))


def common_sources(project: Project) -> tuple[Path, ...]:
    """What every engine's image is built from: files relative to the checkout, in order of path.

    That is all under engines/ but the adapters, and the libraries that have an engine's name.
    """
    engines = project.adapters.parent
    left_out = {project.adapters / name for name in _names(project.adapters)}
    left_out |= {engines / name for name in engines_with_images(project)}
    found = [project.root / DOCKERFILE, project.root / "CMakeLists.txt", *_files(engines, left_out=left_out)]
    return tuple(sorted(path.relative_to(project.root) for path in found))


def own_sources(project: Project, engine: str) -> tuple[Path, ...]:
    """What this engine's image is built from besides: files relative to the checkout, in order of path.

    That is its adapter, the adapters that this one includes from (`include(../<folder>/...)`), and the
    library of its name where there is one. Raises EngineError when there is no such adapter.
    """
    known = engines_with_images(project)
    if engine not in known:
        raise EngineError(unknown("engine", engine, known), where=str(project.adapters))
    places = (*_with_included(project.adapters / engine), project.adapters.parent / engine)
    found = [file for place in places if place.is_dir() for file in _files(place)]
    return tuple(sorted(path.relative_to(project.root) for path in found))


def source_sha256(project: Project, engine: str) -> str:
    """SHA-256, in hexadecimal, over names and contents of the image's sources; not over their dates.

    Raises EngineError when there is no such adapter, OSError when a source cannot be read.
    """
    digest = hashlib.sha256()
    for path in (*common_sources(project), *own_sources(project, engine)):
        digest.update(path.as_posix().encode() + b"\0")
        digest.update(hashlib.sha256((project.root / path).read_bytes()).digest())
    return digest.hexdigest()


def check_image(
    engine: str,
    *,
    labels: Mapping[str, str],
    architecture: str,
    expected_architecture: str,
    expected_source: str,
) -> None:
    """Raises EngineError unless the image is the engine's, of these sources, for this kind of processor.

    `architecture` is what the image says, `expected_architecture` what the Docker Engine says of itself.
    """
    name = image_name(engine)
    if labels.get(LABEL_ENGINE) != engine:
        found = labels.get(LABEL_ENGINE, "none")
        raise EngineError(
            f"expected an image of engine {engine!r}, found the label {LABEL_ENGINE}={found}",
            where=name,
            remedy=REMEDY,
        )
    if architecture != expected_architecture:
        raise EngineError(
            f"expected an image for {expected_architecture}, found one for {architecture}",
            where=name,
            remedy=f"{REMEDY} on this machine",
        )
    found = labels.get(LABEL_SOURCE, "none")
    if found != expected_source:
        raise EngineError(
            f"stale: expected sources {expected_source[:12]}, found an image of {found[:12]}",
            where=name,
            remedy=REMEDY,
        )


def _with_included(adapter: Path, *, before: Set[Path] = frozenset()) -> Set[Path]:
    """An adapter's folder and those that its CMake files include from, near and far."""
    found = before | {adapter}
    for listing in (*adapter.glob("CMakeLists.txt"), *adapter.glob("*.cmake")):
        for name in _INCLUDED.findall(listing.read_text()):
            near = adapter.parent / name
            if near not in found and near.is_dir():
                found = _with_included(near, before=found)
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
