"""The base image: what the user names, what is here, what a registry gives, or what this machine makes."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from kvdyno.errors import HostError
from kvdyno.host.docker_engine import connect, run_once
from kvdyno.model.project import Project

#: From a registry, and made without one.
PULLED = "debian:bookworm-slim"
MADE = "kvdyno-base:bookworm"

# A registry that is in reach answers within this time.
_PULL_SILENCE_SECONDS = 20
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Base:
    """The image that others are built on. `suite` is the Debian release in it ("bookworm")."""

    name: str
    id: str
    suite: str


def find_base(project: Project, *, named: str | None = None, say: Callable[[str], None]) -> Base:
    """The base image `named`, else one that is here, else one pulled, else one made; `say` hears which.

    Raises HostError when there is none, with the way to get it.
    """
    client = connect()
    here = base_here(client, named=named)
    if here:
        say(f"base image: {here}, which is here already")
        return _base(client, here)
    wanted = named or PULLED
    trouble = _pull(wanted)
    if trouble is None:
        say(f"base image: {wanted}, pulled")
        return _base(client, wanted)
    if named:
        raise HostError(
            f"the base image cannot be pulled: {trouble}",
            where=named,
            remedy="name one that `docker images` lists, or none, to have one made",
        )
    say(f"base image: {PULLED} cannot be pulled ({trouble}); making {MADE} with debootstrap")
    _make(client, project.root / "containers" / "make-base")
    return _base(client, MADE)


def base_here(client: docker.DockerClient, *, named: str | None = None) -> str | None:
    """The name of the base image that is here: the one `named`, else a usual one; None if there is none."""
    for name in (named,) if named else (PULLED, MADE):
        with contextlib.suppress(ImageNotFound):
            client.images.get(name)
            return name
    return None


def can_make_base() -> bool:
    """Whether debootstrap is here, without which a base can only be pulled."""
    return shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is not None


def _pull(name: str) -> str | None:
    """Pulls an image; returns why that failed, if it did."""
    repository, tag = _with_tag(name)
    api = connect(timeout_seconds=_PULL_SILENCE_SECONDS).api
    try:
        for line in api.pull(repository, tag=tag, stream=True, decode=True):
            if "error" in line:
                return _first_line(line["error"])
    except (DockerException, requests.RequestException) as error:
        return _first_line(getattr(error, "explanation", None) or str(error))
    return None


def _with_tag(name: str) -> tuple[str, str]:
    """ "registry:5000/debian:12" as repository and tag."""
    path, _, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    return f"{path}/{repository}" if path else repository, tag or "latest"


def _make(client: docker.DockerClient, script: Path) -> None:
    """Makes the base without a registry and gives it to the Docker Engine. Raises HostError."""
    command = [str(script)] if os.geteuid() == 0 else ["sudo", "-n", str(script)]
    by_hand = f"as root: {script} | docker import - {MADE}"
    with tempfile.TemporaryFile(dir="/var/tmp") as root:
        try:
            done = subprocess.run(command, stdout=root, stderr=subprocess.PIPE, check=False)
        except OSError as error:
            raise HostError(error.strerror or str(error), where=command[0], remedy=by_hand) from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise HostError(f"no base image was made: {said}", where=str(script), remedy=by_hand)
        root.seek(0)
        repository, tag = _with_tag(MADE)
        blocks = iter(lambda: root.read(_BLOCK_BYTES), b"")
        client.api.import_image_from_stream(blocks, repository=repository, tag=tag)


def _base(client: docker.DockerClient, name: str) -> Base:
    """What the image holds about itself. Raises HostError unless it is like a Debian, for this processor."""
    image = client.images.get(name)
    ours, found = client.version()["Arch"], image.attrs["Architecture"]
    if found != ours:
        raise HostError(
            f"expected a base image for {ours}, found one for {found}",
            where=name,
            remedy=f"docker pull --platform linux/{ours} {name}, or name another one",
        )
    try:
        output = run_once(client, name, ["cat", "/etc/os-release"]).stdout.decode(errors="replace")
    except (DockerException, TimeoutError) as error:
        said = _first_line(getattr(error, "explanation", None) or str(error))
        raise HostError(
            f"the base image cannot be run here: {said}", where=name, remedy="name another one"
        ) from error
    release = dict(line.partition("=")[::2] for line in output.splitlines())
    suite = release.get("VERSION_CODENAME", "").strip('"')
    if not suite:
        raise HostError(
            "expected a Debian with VERSION_CODENAME in /etc/os-release, found none",
            where=name,
            remedy=f"name another base image, such as {PULLED}",
        )
    return Base(name=name, id=str(image.id), suite=suite)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0]
