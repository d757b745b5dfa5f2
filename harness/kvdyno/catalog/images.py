"""Engines that have an image."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kvdyno.errors import EngineError
from kvdyno.model.engine import Engine
from kvdyno.model.image import (
    REMEDY,
    check_image,
    driver_path,
    engines_with_images,
    image_name,
    source_sha256,
)
from kvdyno.model.project import Project

from .describing import DESCRIBE_SECONDS, no_description, parse_description
from .presets import read_presets

if TYPE_CHECKING:
    from docker import DockerClient


class ImageEngines(Mapping[str, Engine]):
    """Engines that have an image; each is checked and described when it is first asked for."""

    def __init__(self, project: Project) -> None:
        from kvdyno.model.docker_engine import address, connect  # their library takes its time to import

        self._project = project
        self._connect = connect
        self._engines: dict[str, Engine] = {}
        with contextlib.closing(connect()) as client:
            self._names = [name for name in engines_with_images(project) if _has_image(client, name)]
        if not self._names:
            raise EngineError(
                "no engine has an image: expected kvdyno-<engine>:latest", where=address(), remedy=REMEDY
            )

    def __getitem__(self, name: str) -> Engine:
        """The engine. Raises KeyError, and EngineError when its image may not be measured."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._engines:
            with contextlib.closing(self._connect()) as client:
                self._engines[name] = _image_engine(client, self._project, name)
        return self._engines[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in alphabetical order."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many have an image."""
        return len(self._names)


def _has_image(client: DockerClient, name: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(image_name(name))
    except ImageNotFound:
        return False
    return True


def _image_engine(client: DockerClient, project: Project, name: str) -> Engine:
    """The engine in its image. Raises EngineError when that is of other sources, or for other processors."""
    image = client.images.get(image_name(name))
    check_image(
        name,
        labels=image.labels,
        architecture=image.attrs["Architecture"],
        expected_architecture=client.version()["Arch"],
        expected_source=source_sha256(project, name),
    )
    image_id = str(image.id)
    where = f"{image_name(name)} --describe"
    description = parse_description(_describe_in(client, image_id, where=where), where=where)
    return Engine(
        name=name,
        binary=Path(driver_path(name)),
        binary_sha256=image_id.removeprefix("sha256:"),
        description=description,
        presets=read_presets(project.adapters / name / "presets.yaml", description=description),
        image=image_id,
    )


def _describe_in(client: DockerClient, image_id: str, *, where: str) -> bytes:
    """What the image's driver answers."""
    from docker.errors import APIError

    from kvdyno.model.docker_engine import run_once

    command = [*client.images.get(image_id).attrs["Config"]["Entrypoint"], "--describe"]
    try:
        answer = run_once(client, image_id, command, timeout_seconds=DESCRIBE_SECONDS)
    except (APIError, TimeoutError) as failure:
        said = getattr(failure, "explanation", None) or failure
        raise EngineError(f"cannot be run: {said}", where=where, remedy=REMEDY) from failure
    if answer.status != 0:
        raise no_description(f"status {answer.status}", answer.stderr, where=where)
    return answer.stdout
