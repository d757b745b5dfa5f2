"""Building and listing images from the command line, against a real Engine and a driver that is a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker import DockerClient
from fakes.projects import make_project
from images.fixtures import ENGINE, derive, make_base, source
from images.fixtures import make_checkout as make_sources

from kvdyno.model.project import Project

from .conftest import Checkout

BASE = "fixture-base:cli"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_sources(make_project(tmp_path / "sources"))


@pytest.fixture
def sources(project: Project) -> Checkout:
    return Checkout(project.root)


@pytest.fixture
def base(client: DockerClient) -> str:
    made = make_base(client)
    derive(client, f"FROM {made.id}\nRUN echo VERSION_CODENAME=bookworm > /etc/os-release\n", tag=BASE)
    return BASE


def test_without_an_engine_the_remedy_is_named(sources: Checkout, tmp_path: Path) -> None:
    answer = sources.kvdyno("images", "list", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert answer.status == 5
    assert "no Docker Engine answers" in answer.err
    assert "remedy: harness/setup.sh docker" in answer.err


def test_doctor_reports_once_that_there_is_no_engine(sources: Checkout, tmp_path: Path) -> None:
    answer = sources.kvdyno("doctor", "--runner", "docker", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert answer.status == 5
    assert answer.out.count("no Docker Engine answers") == 1
    assert "not fit to measure: Docker Engine\n  remedy: harness/setup.sh docker\n" in answer.err


@pytest.mark.docker
def test_doctor_looks_at_the_engine_its_cap_and_its_images(sources: Checkout, base: str) -> None:
    doctor = ("doctor", "--runner", "docker", "--json")
    before = {each["what"]: each for each in sources.kvdyno(*doctor).json}
    assert before["memory cap"]["level"] == before["Docker Engine"]["level"] == "ok"
    assert {"base image", "Docker seccomp"} <= before.keys()
    assert sources.kvdyno("images", "build", "--base", base).status == 0
    after = {each["what"]: each for each in sources.kvdyno(*doctor).json}
    assert (after["engines"]["level"], after["engines"]["found"]) == ("ok", ENGINE)


@pytest.mark.docker
def test_what_is_missing_or_stale_is_built(sources: Checkout, project: Project, base: str) -> None:
    build = ("images", "build", "--base", base)
    first = sources.kvdyno(*build)
    assert first.status == 0, first.err
    assert f"base image: {base}, which is here already" in first.out
    assert f"kvdyno-{ENGINE}:latest: built in" in first.out
    assert f"kvdyno-{ENGINE}:latest: is up to date" in sources.kvdyno(*build).out
    source(project).write_text("// changed\n")
    (listed,) = sources.kvdyno("images", "list", "--json").json
    assert listed["trouble"].startswith("stale: ")
    assert "built in" in sources.kvdyno(*build).out


@pytest.mark.docker
def test_another_base_makes_another_image(sources: Checkout, client: DockerClient, base: str) -> None:
    assert "built in" in sources.kvdyno("images", "build", "--base", base).out
    derive(client, f"FROM {base}\nRUN echo other > /etc/other\n", tag="fixture-base:other")
    assert "built in" in sources.kvdyno("images", "build", "--base", "fixture-base:other").out


@pytest.mark.docker
def test_a_base_that_is_nowhere_is_named(sources: Checkout, client: DockerClient) -> None:
    answer = sources.kvdyno("images", "build", "--base", "127.0.0.1:1/nosuch:1")
    assert answer.status == 5
    assert "127.0.0.1:1/nosuch:1: the base image cannot be pulled" in answer.err
    assert "remedy: name one that" in answer.err


@pytest.mark.docker
def test_an_experiment_names_the_engines_to_build(sources: Checkout, project: Project, base: str) -> None:
    text = (project.experiments / "test.yaml").read_text()
    (project.experiments / "test.yaml").write_text(text.replace("[rocksdb, leveldb]", f"[{ENGINE}]"))
    answer = sources.kvdyno("images", "build", "--experiment", "test", "--base", base)
    assert answer.status == 0, answer.err
    assert f"kvdyno-{ENGINE}:latest: built" in answer.out
    unknown = sources.kvdyno("images", "build", "--experiment", "tset")
    assert unknown.status == 2
    assert "did you mean 'test'" in unknown.err
    some = text.replace("[rocksdb, leveldb]", f"[{ENGINE}, leveldb]")
    (project.experiments / "test.yaml").write_text(some)
    part = sources.kvdyno("images", "build", "--experiment", "test", "--engines", ENGINE, "--base", base)
    assert (part.status, "leveldb" in part.out) == (0, False), part.err


@pytest.mark.docker
def test_an_unknown_engine_is_named(sources: Checkout, base: str) -> None:
    answer = sources.kvdyno("images", "build", "--engines", "nosuch", "--base", base)
    assert (answer.status, "nosuch" in answer.err) == (4, True)


@pytest.mark.docker
def test_a_failed_build_prints_its_log(sources: Checkout, project: Project, base: str) -> None:
    dockerfile = project.root / "containers/Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN echo no such header; exit 7\n")
    answer = sources.kvdyno("images", "build", "--base", base)
    assert answer.status == 4
    assert "no such header" in answer.err
