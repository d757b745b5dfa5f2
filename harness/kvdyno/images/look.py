"""Which engines have images, and whether these may be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import docker
from docker.errors import ImageNotFound

from kvdyno.errors import EngineError
from kvdyno.host.libraries import version_sha256
from kvdyno.model import image as contract
from kvdyno.model.project import Project
from kvdyno.model.versions import split_version


@dataclass(frozen=True)
class ImageState:
    """One engine's image. `trouble` is why it may not be measured; empty if it may.

    The rest comes from the image's labels, empty where there is none.
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
    """The images of `engines`; without any, of all that have one, and of packages that could.

    Names are resolved: "rocksdb" is the package, whatever the default. Raises EngineError for an unknown one.
    """
    architecture = client.version()["Arch"]
    names = engines or contract.names_of_images(project)
    states = (_state(client, project, name, architecture=architecture) for name in names)
    return tuple(state for state in states if engines or state.id or not split_version(state.engine)[1])


def _state(client: docker.DockerClient, project: Project, engine: str, *, architecture: str) -> ImageState:
    expected_source = version_sha256(project, engine)
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
