"""Which engines have images, and whether these may be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import docker
from docker.errors import ImageNotFound

from kvdyno.errors import EngineError
from kvdyno.model import image as contract
from kvdyno.model.project import Project


@dataclass(frozen=True)
class ImageState:
    """One engine's image. `trouble` says why it may not be measured; empty if it may.

    The rest is what the image says of itself, empty where there is none.
    """

    engine: str
    trouble: str
    id: str = ""
    version: str = ""
    base: str = ""
    size_bytes: int = 0


def image_states(
    client: docker.DockerClient, project: Project, engines: Sequence[str] = ()
) -> tuple[ImageState, ...]:
    """The images of `engines`, or of all that can have one. Raises EngineError for an unknown engine."""
    architecture = client.version()["Arch"]
    chosen = engines or contract.engines_with_images(project)
    return tuple(_state(client, project, engine, architecture=architecture) for engine in chosen)


def _state(client: docker.DockerClient, project: Project, engine: str, *, architecture: str) -> ImageState:
    expected_source = contract.source_sha256(project, engine)
    try:
        image = client.images.get(contract.image_name(engine))
    except ImageNotFound:
        return ImageState(engine=engine, trouble="no image")
    trouble = ""
    try:
        contract.check_image(
            engine,
            labels=image.labels,
            architecture=image.attrs["Architecture"],
            expected_architecture=architecture,
            expected_source=expected_source,
        )
    except EngineError as error:
        trouble = error.message
    return ImageState(
        engine=engine,
        trouble=trouble,
        id=str(image.id),
        version=image.labels.get(contract.LABEL_VERSION, ""),
        base=image.labels.get(contract.LABEL_BASE, ""),
        size_bytes=image.attrs["Size"],
    )
