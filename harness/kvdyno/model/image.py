"""An engine's image: its name and labels, and whether it may be measured.

The contract between what builds images (`kvdyno.images`) and what runs them (`kvdyno.runner`). An image
holds the driver at `driver_path(engine)`, which is its entry point; it runs as `USER_ID`, has no compiler,
and writes nowhere but to `DATA`, `OUTPUT` and a tmpfs on /tmp, which the runner provides.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdyno.errors import EngineError
from kvdyno.model.project import Project
from kvdyno.model.sources import buildable_engines
from kvdyno.model.versions import read_versions, split_version

#: User and group of the driver in an image.
USER_ID = 10001
#: Where the store's folder and the driver's output folder are mounted.
DATA = "/data"
OUTPUT = "/output"

LABEL_ENGINE = "kvdyno.engine"
#: The engine's own version, as --describe prints it.
LABEL_VERSION = "kvdyno.version"
#: What `version_sha256` found for the tree that the image was built from.
LABEL_SOURCE = "kvdyno.source-sha256"
#: Compiler and flags, as --describe prints them.
LABEL_FLAGS = "kvdyno.build-flags"
#: The id of the image that it was built on.
LABEL_BASE = "kvdyno.base"

REMEDY = "make images"


def image_name(name: str) -> str:
    """The image of an engine, with its tag: its version, or `latest` for the package."""
    engine, version = split_version(name)
    return f"kvdyno-{engine}:{version or 'latest'}"


def driver_path(name: str) -> str:
    """The driver inside the image; also its entry point."""
    return f"/usr/local/bin/kvdyno-{split_version(name)[0]}"


def remedy_for(name: str) -> str:
    """The command that builds its image."""
    return f"{REMEDY} IMAGES={name}" if split_version(name)[1] else REMEDY


def names_of_images(project: Project) -> tuple[str, ...]:
    """All that can have an image: engines, and each listed version of those that have versions."""
    return (*buildable_engines(project), *read_versions(project).names())


def check_image(
    engine: str,
    *,
    labels: Mapping[str, str],
    architecture: str,
    expected_architecture: str,
    expected_source: str,
) -> None:
    """Raises EngineError unless the image is the engine's, of these sources, for this kind of processor.

    `architecture` is the image's, `expected_architecture` the Docker Engine's own.
    """
    name, remedy = image_name(engine), remedy_for(engine)
    expected_engine = split_version(engine)[0]
    if labels.get(LABEL_ENGINE) != expected_engine:
        found = labels.get(LABEL_ENGINE, "none")
        raise EngineError(
            f"expected an image of engine {expected_engine!r}, found the label {LABEL_ENGINE}={found}",
            where=name,
            remedy=remedy,
        )
    check_processors(
        name, architecture=architecture, expected=expected_architecture, remedy=f"{remedy} on this machine"
    )
    found = labels.get(LABEL_SOURCE, "none")
    if found != expected_source:
        raise EngineError(
            f"stale: expected sources {expected_source[:12]}, found an image of {found[:12]}",
            where=name,
            remedy=remedy,
        )


def check_processors(name: str, *, architecture: str, expected: str, remedy: str) -> None:
    """Raises EngineError unless the image is for the Docker Engine's own kind of processor."""
    if architecture != expected:
        raise EngineError(
            f"expected an image for {expected}, found one for {architecture}", where=name, remedy=remedy
        )
