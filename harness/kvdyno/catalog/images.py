"""Engines that have an image."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kvdyno.errors import EngineError, UsageError
from kvdyno.host.libraries import version_sha256
from kvdyno.model.engine import Engine
from kvdyno.model.image import (
    LABEL_ENGINE,
    REMEDY,
    check_image,
    check_processors,
    driver_path,
    image_name,
)
from kvdyno.model.metrics import read_counters
from kvdyno.model.project import Project
from kvdyno.model.versions import split_version

from .describing import DESCRIBE_SECONDS, no_description, parse_description
from .presets import read_presets

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.images import Image


class ImageEngines(Mapping[str, Engine]):
    """Those of the named engines that have an image; each is checked and described when first asked for."""

    def __init__(self, project: Project, names: Iterable[str]) -> None:
        from kvdyno.host.docker_engine import connect  # its library takes its time to import

        self._project = project
        self._connect = connect
        self._engines: dict[str, Engine] = {}
        with contextlib.closing(connect()) as client:
            self._names = [name for name in names if _has_image(client, name)]

    def __getitem__(self, name: str) -> Engine:
        """The engine. Raises KeyError, and EngineError when its image may not be measured."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._engines:
            with contextlib.closing(self._connect()) as client:
                self._engines[name] = _image_engine(client, self._project, name)
        return self._engines[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in the order given."""
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
    """The engine in its image. Raises EngineError if it has other sources, or is for other processors."""
    image = client.images.get(image_name(name))
    check_image(
        name,
        labels=image.labels,
        architecture=image.attrs["Architecture"],
        expected_architecture=client.version()["Arch"],
        expected_source=version_sha256(project, name),
    )
    where = f"{image_name(name)} --describe"
    return _engine_in(client, project, image, name=name, where=where)


def engine_of_image(project: Project, reference: str) -> Engine:
    """The engine in an image of this machine, by the image's name or id, whatever sources it was built of.

    Raises UsageError for an unknown image; EngineError for one that has no driver, that cannot describe
    itself, or that is for other processors; HostError when no Docker Engine answers.
    """
    from docker.errors import APIError, ImageNotFound

    from kvdyno.host.docker_engine import connect  # its library takes its time to import

    with contextlib.closing(connect()) as client:
        try:
            image = client.images.get(reference)
        except ImageNotFound as missing:
            raise UsageError(
                "expected an image of this machine, found none of that name",
                where=reference,
                remedy="docker image ls lists them; kvdyno images build makes an engine's",
            ) from missing
        except APIError as failure:
            raise UsageError(
                f"expected an image's name or id: {failure.explanation}", where=reference
            ) from failure
        name = image.labels.get(LABEL_ENGINE)
        if not name:
            raise EngineError(
                f"expected an image with a driver, found no label {LABEL_ENGINE}",
                where=reference,
                remedy="kvdyno images build makes images with drivers, here or elsewhere",
            )
        check_processors(
            reference,
            architecture=image.attrs["Architecture"],
            expected=client.version()["Arch"],
            remedy="build it on a machine like this one",
        )
        return _engine_in(client, project, image, name=name, where=f"{reference} --describe")


def _engine_in(client: DockerClient, project: Project, image: Image, *, name: str, where: str) -> Engine:
    image_id = str(image.id)
    description = parse_description(_describe_in(client, image_id, where=where), where=where)
    engine, version = split_version(name)
    return Engine(
        name=engine,
        binary=Path(driver_path(name)),
        binary_sha256=image_id.removeprefix("sha256:"),
        description=description,
        presets=read_presets(project.adapters / engine / "presets.yaml", description=description),
        counters=read_counters(project.adapters, engine),
        image=image_id,
        built_version=version or "",
    )


def _describe_in(client: DockerClient, image_id: str, *, where: str) -> bytes:
    """What the image's driver answers."""
    from docker.errors import APIError

    from kvdyno.host.docker_engine import run_once

    command = [*client.images.get(image_id).attrs["Config"]["Entrypoint"], "--describe"]
    try:
        answer = run_once(client, image_id, command, timeout_seconds=DESCRIBE_SECONDS)
    except (APIError, TimeoutError) as failure:
        said = getattr(failure, "explanation", None) or failure
        raise EngineError(f"cannot be run: {said}", where=where, remedy=REMEDY) from failure
    if answer.status != 0:
        raise no_description(f"status {answer.status}", answer.stderr, where=where)
    return answer.stdout
