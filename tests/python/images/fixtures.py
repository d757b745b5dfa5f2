"""A checkout that images can be built from in a moment: its one engine is a shell script in its base."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from docker import DockerClient
from fakes.containers import NAME, add_adapter, make_image

from kvdyno.images import Base
from kvdyno.model.project import Project

ENGINE = NAME

#: The driver is in the base; a build adds what it was built from, and what it got of the host.
DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY common/ /source/
COPY engine/ /source/
COPY host/ /host/
USER 10001:10001
"""

_HOST_CONFIG = '#!/bin/sh\nmkdir -p "$1/etc/apt" && echo "for $2" > "$1/etc/apt/sources.list"\n'


def make_checkout(project: Project) -> Project:
    """Adds the engine, its Dockerfile and a stand-in for containers/host-config."""
    add_adapter(project)
    (project.root / "engines/packages.txt").write_text("g++\n")
    (project.root / "containers/Dockerfile").write_text(DOCKERFILE)
    script = project.root / "containers/host-config"
    script.write_text(_HOST_CONFIG)
    script.chmod(0o755)
    return project


def make_base(client: DockerClient, name: str = "fixture-base:bookworm") -> Base:
    """An image with a shell and the driver, and a release to name."""
    shell = make_image(client)
    derive(client, f"FROM {shell}\nLABEL kvdyno.engine= kvdyno.source-sha256=\n", tag=name)
    return Base(name=name, id=str(client.images.get(name).id), suite="bookworm")


def derive(client: DockerClient, dockerfile: str, *, tag: str) -> str:
    """Build an image of a few lines; returns its id."""
    image, _ = client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag, rm=True)
    return str(image.id)


def load_empty(client: DockerClient, *, tag: str, architecture: str, labels: Mapping[str, str]) -> None:
    """An image without content, labelled as for such processors."""
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Labels": dict(labels)},
        "rootfs": {"type": "layers", "diff_ids": []},
    }
    manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": []}]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, document in (("config.json", config), ("manifest.json", manifest)):
            content = json.dumps(document).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    client.images.load(packed.getvalue())


def source(project: Project) -> Path:
    """One of the engine's sources."""
    return project.adapters / ENGINE / "adapter.cc"
