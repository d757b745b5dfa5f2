"""Builds one engine's image, asks its driver what it is, and labels the image with the answer."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from kvdyno.errors import EngineError
from kvdyno.host.docker_engine import run_once
from kvdyno.host.libraries import version_sha256
from kvdyno.model import image as contract
from kvdyno.model.engine import EngineDescription
from kvdyno.model.project import Project
from kvdyno.model.schema import parse_json, validate
from kvdyno.model.sources import DOCKERFILE, common_sources, own_sources
from kvdyno.model.versions import split_version

from .base import Base
from .context import pack_context
from .library import library_part

#: An engine's image beyond this holds something that it should not.
SIZE_BYTES_MAX = 150_000_000

_LOG_LINES = 20


def build_engine(
    client: docker.DockerClient,
    project: Project,
    engine: str,
    *,
    base: Base,
    say: Callable[[str], None],
    archive: Path | None = None,
) -> str:
    """Builds the engine's image from the present sources; its id. `say` hears each line of the build.

    `archive` is that of the version which `engine` names, if any. What it replaces is removed, unless a
    container still uses it. Raises EngineError when the engine is unknown, does not build or cannot describe
    itself, or when the image is too large.
    """
    name = contract.image_name(engine)
    source = version_sha256(project, engine)
    adapter, _ = split_version(engine)
    before = _image_id(client, name)
    unlabelled = run_build(
        client,
        say=say,
        fileobj=pack_context(
            project,
            {"common": common_sources(project), "engine": own_sources(project, adapter)},
            suite=base.suite,
            made=library_part(project, engine, archive=archive),
        ),
        custom_context=True,
        dockerfile=f"common/{DOCKERFILE.as_posix()}",
        buildargs={"BASE_IMAGE": base.name, "ENGINE": adapter},
        network_mode="host",  # where this machine's apt configuration is right, a proxy on localhost too
    )
    _check_size(client, unlabelled, name=name)
    description = _describe(client, unlabelled, engine=engine)
    finished = run_build(
        client,
        say=say,
        fileobj=_finish(unlabelled, engine=engine, labels=_labels(description, source=source, base=base)),
        tag=name,
    )
    if before and before != finished:
        _remove(client, before)
    return finished


def run_build(
    client: docker.DockerClient,
    *,
    say: Callable[[str], None],
    of: Path = DOCKERFILE,
    **arguments: Any,
) -> str:
    """Runs one build with docker-py's `arguments`; the image's id. `of` is the file that errors name.

    Raises EngineError with the end of the log.
    """
    log: list[str] = []
    built = ""
    try:
        for entry in client.api.build(rm=True, forcerm=True, decode=True, **arguments):
            for line in str(entry.get("stream") or entry.get("error") or "").splitlines():
                log.append(line)
                say(line)
            if "error" in entry:
                raise _not_built(log, of)
            built = entry.get("aux", {}).get("ID", built)
    except (DockerException, requests.RequestException) as error:
        raise _not_built([*log, str(error)], of) from error
    return built


def _not_built(log: list[str], dockerfile: Path) -> EngineError:
    return EngineError(
        "no image was built; the build ended with:\n"
        + "\n".join(f"    {line}" for line in log[-_LOG_LINES:]),
        where=dockerfile.as_posix(),
        remedy="see the log above; --verbose prints all of it",
    )


def _describe(client: docker.DockerClient, image: str, *, engine: str) -> EngineDescription:
    where = f"{contract.image_name(engine)} --describe"
    command = [contract.driver_path(engine), "--describe"]
    try:
        answer = run_once(client, image, command)
    except (DockerException, TimeoutError) as error:
        raise EngineError(f"the driver does not run in its image: {error}", where=where) from error
    if answer.status != 0:
        said = answer.stderr.decode(errors="replace").strip()
        raise EngineError(
            f"the driver does not run in its image: status {answer.status}: {said}", where=where
        )
    document = parse_json(answer.stdout, where=where, error=EngineError)
    validate(document, schema="describe", where=where, error=EngineError)
    return EngineDescription.model_validate(document)


def _finish(image: str, *, engine: str, labels: Mapping[str, str]) -> io.BytesIO:
    """A Dockerfile that adds entry point and labels, in one instruction each: every one costs a container."""
    texts = [f"{json.dumps(name)}={json.dumps(text, ensure_ascii=False)}" for name, text in labels.items()]
    label = " ".join(texts).replace("$", "\\$")
    entry = json.dumps([contract.driver_path(engine)])
    return io.BytesIO(f"FROM {image}\nENTRYPOINT {entry}\nLABEL {label}\n".encode())


def _labels(description: EngineDescription, *, source: str, base: Base) -> Mapping[str, str]:
    """Nothing that changes from build to build of the same sources: neither date nor host."""
    build = description.build
    return {
        contract.LABEL_ENGINE: description.engine.name,
        contract.LABEL_VERSION: description.engine.version,
        contract.LABEL_SOURCE: source,
        contract.LABEL_FLAGS: f"{build.compiler} {build.flags}",
        contract.LABEL_BASE: base.id,
        "org.opencontainers.image.title": f"kvdyno driver for {description.engine.name}",
        "org.opencontainers.image.version": description.engine.version,
        "org.opencontainers.image.description": description.engine.summary,
        "org.opencontainers.image.base.name": base.name,
    }


def _image_id(client: docker.DockerClient, name: str) -> str | None:
    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        return None


def _remove(client: docker.DockerClient, image: str) -> None:
    try:
        client.images.remove(image)
    except DockerException:
        return  # in use; Docker's own pruning finds it later


def _check_size(client: docker.DockerClient, image: str, *, name: str) -> None:
    size = int(client.images.get(image).attrs["Size"])
    if size > SIZE_BYTES_MAX:
        raise EngineError(
            f"expected at most {SIZE_BYTES_MAX / 1e6:.0f} MB, found {size / 1e6:.0f} MB",
            where=name,
            remedy=f"docker history {image} shows what is in it; is the base image a slim one?",
        )
