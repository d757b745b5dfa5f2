"""The way to this machine's Docker Engine, or to Podman's socket, which speaks the same language."""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import socket
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import docker
import requests
from docker.errors import DockerException
from docker.models.containers import Container

from kvdyno.errors import HostError

from .owner import owner_labels

_UNIX = "unix://"
_SOCKET = f"{_UNIX}/var/run/docker.sock"


def connect(*, timeout_seconds: int = 60) -> docker.DockerClient:
    """A client of the Docker Engine that DOCKER_HOST names, else of the usual socket; it has answered once.

    No single answer may take longer than `timeout_seconds`. Raises HostError when none answers.
    """
    where = address()
    try:
        if where.startswith(_UNIX):
            _probe(where)  # the library would wrap the reason, and leave its socket open
        client = docker.DockerClient(base_url=where, timeout=timeout_seconds)
        client.ping()
    except (DockerException, OSError) as error:
        raise _unreachable(where, error) from error
    return client


def address() -> str:
    """Where the Docker Engine is looked for."""
    return os.environ.get("DOCKER_HOST") or _SOCKET


def answers() -> bool:
    """Whether something listens at a unix socket that this user may open; costs next to nothing."""
    try:
        _probe(address())
    except OSError:
        return False
    return address().startswith(_UNIX)


def _probe(where: str) -> None:
    """Raises OSError unless something listens at the unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(where.removeprefix(_UNIX))


@dataclass(frozen=True)
class Answer:
    """What a command in a container ended with, and wrote."""

    status: int
    stdout: bytes
    stderr: bytes


def run_once(
    client: docker.DockerClient,
    image: str,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: int = 60,
) -> Answer:
    """Run a command in a fresh container, and remove the container.

    Raises APIError when it cannot be started, TimeoutError when it does not end.
    """
    with fresh_container(client, image, command, environment=environment) as container:
        try:
            container.start()
            status = int(container.wait(timeout=timeout_seconds)["StatusCode"])
            # Only now: the log is whole when the container has ended.
            return Answer(status, container.logs(stderr=False), container.logs(stdout=False))
        except (requests.exceptions.Timeout, requests.exceptions.ConnectionError) as error:
            raise TimeoutError(f"no end within {timeout_seconds} s: {' '.join(command)}") from error


@contextlib.contextmanager
def fresh_container(
    client: docker.DockerClient,
    image: str,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Container]:
    """A container without network and rights that has not started; it is removed at the end.

    The container is labelled as this process's: the next sweep removes what a killed process left.
    Raises APIError when it cannot be made.
    """
    container = client.containers.create(
        image,
        entrypoint=list(command),
        environment=dict(environment or {}),
        labels=dict(owner_labels("once")),
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        log_config={"Type": "json-file", "Config": {}},
    )
    try:
        yield container
    finally:
        container.remove(force=True)


def read_file(container: Container, path: str) -> bytes:
    """What a file of the container holds, started or not; links are followed.

    Raises APIError for a path that is not there.
    """
    chunks, _ = container.get_archive(path)
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as packed:
        (entry,) = packed.getmembers()
        if entry.issym():
            return read_file(container, posixpath.join(posixpath.dirname(path), entry.linkname))
        content = packed.extractfile(entry)
        assert content is not None  # a folder's archive has its files as further members
        return content.read()


def _unreachable(where: str, error: BaseException) -> HostError:
    """What to do depends on why."""
    if isinstance(error, PermissionError):
        return HostError(
            "the Docker Engine may not be used by this user",
            where=where,
            remedy='run as root, or: sudo usermod -aG docker "$USER", then log in again',
        )
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return HostError("no Docker Engine answers", where=where, remedy="harness/setup.sh docker")
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return HostError(f"expected a Docker Engine, found: {said}", where=where, remedy="docker info")
