"""Engines in images: found by their labels, and refused when they are not what the checkout would build."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker import DockerClient
from fakes.containers import NAME, add_adapter, make_image
from fakes.projects import make_project

from kvdyno import catalog
from kvdyno.errors import EngineError, HostError, UsageError
from kvdyno.host.libraries import version_sha256
from kvdyno.model.engine import Preset
from kvdyno.model.image import driver_path, image_name
from kvdyno.model.project import Project
from kvdyno.model.sources import source_sha256

_VERSIONS = f"""\
shell:
  engines: [{NAME}]
  target: shell
  library: libshell.so
  headers: include
  versions:
    "1.0":
      archive: {{registry: crates, name: shell-sys, version: 0.1.0}}
      sha256: "{"0" * 64}"
      cpu_minutes: 1
      disk: 1MiB
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = make_project(tmp_path)
    add_adapter(project)
    return project


@pytest.mark.docker
class TestImages:
    def test_an_image_of_these_sources_is_an_engine(self, client: DockerClient, project: Project) -> None:
        image = make_image(client, source=source_sha256(project, NAME))
        engine = catalog.discover(project, runner="docker")[NAME]
        assert (engine.image, engine.binary_sha256) == (image, image.removeprefix("sha256:"))
        assert (engine.runner, engine.binary) == ("docker", Path(driver_path(NAME)))
        assert engine.presets == {"default": Preset(summary="as is")}
        assert catalog.is_current(engine)
        assert not client.api.containers(all=True)

    def test_a_stale_one_is_refused(self, client: DockerClient, project: Project) -> None:
        make_image(client, source=source_sha256(project, NAME))
        (project.adapters / NAME / "adapter.cc").write_text("// another version\n")
        with pytest.raises(EngineError, match="stale: expected sources") as raised:
            catalog.discover(project, runner="docker")[NAME]
        assert (raised.value.where, raised.value.remedy) == (image_name(NAME), "make images")

    def test_a_stale_one_is_no_trouble_to_others(self, client: DockerClient, project: Project) -> None:
        add_adapter(project, name="other")
        make_image(client, source=source_sha256(project, NAME))
        make_image(client, name="other", source="0" * 64)
        found = catalog.discover(project, runner="docker")
        assert set(found) == {NAME, "other"}
        assert found[NAME].name == NAME
        with pytest.raises(EngineError, match="stale: expected sources"):
            found["other"]

    def test_one_for_other_processors_is_refused(
        self, client: DockerClient, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_image(client, source=source_sha256(project, NAME))
        monkeypatch.setattr(DockerClient, "version", lambda self: {"Arch": "riscv64"})
        with pytest.raises(EngineError, match="expected an image for riscv64, found one for"):
            catalog.discover(project, runner="docker")[NAME]

    def test_one_that_does_not_describe_itself_is_refused(
        self, client: DockerClient, project: Project
    ) -> None:
        make_image(client, source=source_sha256(project, NAME), script="#!/bin/sh\nexit 7\n")
        with pytest.raises(EngineError, match="expected a description, found status 7"):
            catalog.discover(project, runner="docker")[NAME]

    def test_versions_have_images_of_their_own(self, client: DockerClient, project: Project) -> None:
        (project.adapters.parent / "versions.yaml").write_text(_VERSIONS)
        make_image(client, source=source_sha256(project, NAME))
        versioned = f"{NAME}@1.0"
        made = make_image(client, name=versioned, source=version_sha256(project, versioned))
        found = catalog.discover(project, runner="docker")
        assert list(found) == [NAME, versioned, f"{NAME}@system"]
        engine = found[versioned]
        assert (engine.name, engine.built_version, engine.image) == (NAME, "1.0", made)
        assert found[NAME].image != made

    def test_a_version_of_another_archive_is_stale(self, client: DockerClient, project: Project) -> None:
        versions = project.adapters.parent / "versions.yaml"
        versions.write_text(_VERSIONS)
        make_image(client, name=f"{NAME}@1.0", source=version_sha256(project, f"{NAME}@1.0"))
        versions.write_text(_VERSIONS.replace("0" * 64, "1" * 64))
        with pytest.raises(EngineError, match="stale: expected sources") as raised:
            catalog.discover(project, runner="docker")[f"{NAME}@1.0"]
        assert raised.value.remedy == f"make images IMAGES={NAME}@1.0"

    def test_any_image_with_a_driver_can_be_named(self, client: DockerClient, project: Project) -> None:
        made = make_image(client, source="elsewhere")
        client.images.get(made).tag("elsewhere/shell", "before")
        for reference in ("elsewhere/shell:before", made):
            engine = catalog.engine_of_image(project, reference)
            assert (engine.name, engine.image, engine.runner) == (NAME, made, "docker")
        client.images.remove("elsewhere/shell:before")
        with pytest.raises(UsageError, match="expected an image of this machine") as raised:
            catalog.engine_of_image(project, "elsewhere/shell:before")
        assert raised.value.where == "elsewhere/shell:before"

    def test_one_without_a_driver_cannot(
        self, client: DockerClient, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = make_image(client)
        monkeypatch.setattr("docker.models.images.Image.labels", {})
        with pytest.raises(EngineError, match="expected an image with a driver"):
            catalog.engine_of_image(project, made)

    def test_none_at_all(self, client: DockerClient, project: Project) -> None:
        client.images.remove(make_image(client), force=True)
        with pytest.raises(EngineError, match="no engine has an image") as raised:
            catalog.discover(project, runner="docker")
        assert raised.value.remedy == "make images"


def test_no_docker_engine_at_all(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(HostError):
        catalog.discover(project, runner="docker")
