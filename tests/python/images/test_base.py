"""Finding a base image: here, pulled, made; and every way in which there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import DockerClient
from fakes.containers import make_image
from fakes.projects import make_project

from kvdyno.errors import HostError
from kvdyno.images import base as base_module
from kvdyno.images import find_base
from kvdyno.model.project import Project

from .fixtures import derive, load_empty

pytestmark = pytest.mark.docker

MADE = "fixture-made:bookworm"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path)
    (tmp_path / "containers").mkdir()
    return made


@pytest.fixture(autouse=True)
def names(client: DockerClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Names that no registry has, so that nothing here depends on what is in reach or was made before."""
    monkeypatch.setattr(base_module, "PULLED", "127.0.0.1:1/fixture-pulled:slim")
    monkeypatch.setattr(base_module, "MADE", MADE)
    yield
    for tag in [tag for image in client.images.list() for tag in image.tags if "fixture-" in tag]:
        client.images.remove(tag)  # by name: an image that others were built on goes with the last of them


def add_script(project: Project, text: str) -> None:
    script = project.root / "containers/make-base"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)


def a_debian(client: DockerClient, name: str, *, release: str = "VERSION_CODENAME=trixie") -> None:
    shell = make_image(client)
    derive(client, f"FROM {shell}\nENTRYPOINT []\nRUN echo '{release}' > /etc/os-release\n", tag=name)


def test_one_that_is_here_is_taken(client: DockerClient, project: Project) -> None:
    a_debian(client, MADE)
    heard: list[str] = []
    found = find_base(project, say=heard.append)
    assert (found.name, found.suite, found.id) == (MADE, "trixie", client.images.get(MADE).id)
    assert heard == [f"base image: {MADE}, which is here already"]


def test_the_named_one_goes_first(client: DockerClient, project: Project) -> None:
    a_debian(client, MADE)
    a_debian(client, "fixture-mine:1", release="VERSION_CODENAME=forky")
    assert find_base(project, named="fixture-mine:1", say=lambda line: None).suite == "forky"


def test_without_a_registry_one_is_made(client: DockerClient, project: Project, tmp_path: Path) -> None:
    a_debian(client, MADE)
    container = client.containers.create(MADE, ["sh"])
    (tmp_path / "root.tar").write_bytes(b"".join(container.export()))
    container.remove()
    client.images.remove(MADE)
    add_script(project, f"cat {tmp_path}/root.tar")
    heard: list[str] = []
    assert find_base(project, say=heard.append).name == MADE
    assert "cannot be pulled" in heard[0]
    assert f"making {MADE} with debootstrap" in heard[0]


def test_a_named_one_is_not_replaced(project: Project) -> None:
    add_script(project, "exit 1")
    with pytest.raises(
        HostError, match=r"127.0.0.1:1/nosuch:1: the base image cannot be pulled: .+\n.*remedy"
    ):
        find_base(project, named="127.0.0.1:1/nosuch:1", say=lambda line: None)


def test_none_can_be_made(project: Project) -> None:
    add_script(project, "echo no mirror in reach >&2; exit 1")
    with pytest.raises(HostError, match=r"no base image was made: no mirror in reach\n.*docker import -"):
        find_base(project, say=lambda line: None)


def test_a_user_without_sudo_learns_what_root_must_do(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_script(project, "exit 0")
    monkeypatch.setattr(base_module.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"sudo: No such file or directory\n.*as root: .*make-base \| docker"):
        find_base(project, say=lambda line: None)


def test_one_of_another_architecture_is_refused(client: DockerClient, project: Project) -> None:
    load_empty(client, tag="fixture-mine:1", architecture="s390x", labels={})
    ours = client.version()["Arch"]
    with pytest.raises(HostError, match=f"expected a base image for {ours}, found one for s390x") as raised:
        find_base(project, named="fixture-mine:1", say=lambda line: None)
    assert f"docker pull --platform linux/{ours}" in str(raised.value.remedy)


def test_one_without_a_release_is_refused(client: DockerClient, project: Project) -> None:
    a_debian(client, "fixture-mine:1", release="NAME=other")
    with pytest.raises(HostError, match=r"expected a Debian with VERSION_CODENAME"):
        find_base(project, named="fixture-mine:1", say=lambda line: None)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("debian", ("debian", "latest")),
        ("debian:12", ("debian", "12")),
        ("host:5000/team/debian:12", ("host:5000/team/debian", "12")),
        ("host:5000/debian", ("host:5000/debian", "latest")),
    ],
)
def test_tags_are_distinguished_from_ports(name: str, parts: tuple[str, str]) -> None:
    assert base_module._with_tag(name) == parts
