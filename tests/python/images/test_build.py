"""Building against a real Engine, from a checkout whose driver is a shell script."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from docker import DockerClient
from fakes.projects import make_project

from kvdyno import catalog
from kvdyno.errors import EngineError
from kvdyno.host.docker_engine import run_once
from kvdyno.images import Base, build_engine, image_states
from kvdyno.images import build as build_module
from kvdyno.model import image as contract
from kvdyno.model import sources
from kvdyno.model.project import Project

from .fixtures import ENGINE, load_empty, make_base, make_checkout, source

pytestmark = pytest.mark.docker


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_checkout(make_project(tmp_path / "checkout"))


@pytest.fixture
def base(client: DockerClient) -> Base:
    return make_base(client)


@pytest.fixture
def build(client: DockerClient, project: Project, base: Base) -> Callable[[], str]:
    return lambda: build_engine(client, project, ENGINE, base=base, say=lambda line: None)


def trouble(client: DockerClient, project: Project) -> str:
    (state,) = image_states(client, project)
    return state.trouble


def test_an_image_is_labelled_with_what_it_is(
    client: DockerClient, project: Project, base: Base, build: Callable[[], str]
) -> None:
    assert trouble(client, project) != ""
    made = build()
    (state,) = image_states(client, project)
    assert (state.trouble, state.id, state.version, state.base) == ("", made, "1.0", base.id)
    image = client.images.get(contract.image_name(ENGINE))
    assert image.attrs["Config"]["Entrypoint"] == [contract.driver_path(ENGINE)]
    assert image.attrs["Config"]["User"] == "10001:10001"
    assert image.labels[contract.LABEL_SOURCE] == sources.source_sha256(project, ENGINE)
    assert image.labels[contract.LABEL_FLAGS] == "none "
    assert image.labels["org.opencontainers.image.base.name"] == base.name


def test_labels_may_hold_anything(
    client: DockerClient, project: Project, build: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = 'a "quoted" $HOME \\ ü'
    plain = build_module._labels
    monkeypatch.setattr(build_module, "_labels", lambda *args, **kw: {**plain(*args, **kw), "test": said})
    build()
    assert client.images.get(contract.image_name(ENGINE)).labels["test"] == said


def test_the_same_sources_give_the_same_image(project: Project, build: Callable[[], str]) -> None:
    first = build()
    os.utime(source(project), (1, 1))
    assert build() == first


def test_a_stale_image_is_seen_and_built_again(
    client: DockerClient, project: Project, build: Callable[[], str]
) -> None:
    first = build()
    source(project).write_text("// changed\n")
    assert trouble(client, project).startswith("stale: expected sources")
    second = build()
    assert trouble(client, project) == ""
    assert second != first
    assert first not in {image.id for image in client.images.list()}


def test_a_stale_image_is_not_measured(
    client: DockerClient, project: Project, build: Callable[[], str]
) -> None:
    build()
    assert list(catalog.discover(project, runner="docker")) == [ENGINE]
    source(project).write_text("// changed\n")
    with pytest.raises(EngineError, match=r"kvdyno-shelldb:latest: stale.*\n.*make images"):
        catalog.discover(project, runner="docker")[ENGINE]


def test_an_image_of_another_architecture_is_refused(client: DockerClient, project: Project) -> None:
    labels = {
        contract.LABEL_ENGINE: ENGINE,
        contract.LABEL_SOURCE: sources.source_sha256(project, ENGINE),
    }
    load_empty(client, tag=contract.image_name(ENGINE), architecture="s390x", labels=labels)
    ours = client.version()["Arch"]
    assert trouble(client, project) == f"expected an image for {ours}, found one for s390x"


def test_a_build_that_fails_prints_the_end_of_its_log(project: Project, build: Callable[[], str]) -> None:
    dockerfile = project.root / sources.DOCKERFILE
    dockerfile.write_text(dockerfile.read_text() + "RUN echo no such header >&2; exit 7\n")
    with pytest.raises(EngineError, match=r"containers/Dockerfile: no image was built[\s\S]*exit 7"):
        build()


def test_a_driver_that_does_not_run_is_no_image(
    client: DockerClient, project: Project, build: Callable[[], str]
) -> None:
    dockerfile = project.root / sources.DOCKERFILE
    dockerfile.write_text(
        dockerfile.read_text() + "COPY host/etc/apt/sources.list /usr/local/bin/kvdyno-shelldb\n"
    )
    with pytest.raises(EngineError, match="the driver does not run in its image"):
        build()


def test_an_image_that_holds_too_much_does_not_become_the_engines(
    client: DockerClient, project: Project, build: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_module, "SIZE_BYTES_MAX", 1000)
    with pytest.raises(EngineError, match=r"expected at most 0 MB, found \d+ MB\n.*docker history"):
        build()
    assert trouble(client, project) != ""


def test_an_unknown_engine(client: DockerClient, project: Project, base: Base) -> None:
    with pytest.raises(EngineError, match="nosuch"):
        build_engine(client, project, "nosuch", base=base, say=lambda line: None)


def test_only_the_builder_sees_the_host(client: DockerClient, build: Callable[[], str]) -> None:
    """The fixture's image keeps what the real one drops: so it is known to arrive."""
    made = build()
    assert run_once(client, made, ["cat", "/host/etc/apt/sources.list"]).stdout == b"for bookworm\n"
