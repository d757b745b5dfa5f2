"""A sweep in containers, from the experiment to stored records; the engine is a shell script."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker import DockerClient
from fakes.containers import NAME, add_adapter, make_image
from fakes.drivers import NAME as FAKE
from fakes.drivers import build_fake
from fakes.projects import make_project

from kvdyno import pipeline
from kvdyno.errors import EngineError, UsageError
from kvdyno.host.owner import LABEL_OWNER
from kvdyno.model.image import image_name
from kvdyno.model.project import Project
from kvdyno.model.sources import source_sha256
from kvdyno.pipeline import locking

from .test_sweep import Diary

pytestmark = pytest.mark.docker

EXPERIMENT = f"""\
title: A test
engines: [{NAME}]
grid: {{workload: [a], dataset: [256MiB]}}
cap: 4GiB
repetitions: 2
"""
REQUEST = pipeline.Request(experiment="test", runner="docker")
CAPPED = pipeline.SweepSettings()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: DockerClient) -> Project:
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "lock",))
    project = make_project(tmp_path, experiment=EXPERIMENT)
    add_adapter(project)
    make_image(client, source=source_sha256(project, NAME))
    return project


def test_runs_are_measured_once_for_each_image(project: Project, client: DockerClient) -> None:
    _, whole = pipeline.make_plan(project, REQUEST)
    diary = Diary()
    first = pipeline.sweep(project, whole, how=CAPPED, observer=diary)
    assert diary.confined.startswith("docker: ")
    assert {record.runner.name for record in first.records} == {"docker"}
    assert [record.status for record in first.records] == ["ok", "ok"]
    again = pipeline.sweep(project, whole, how=CAPPED, observer=Diary())
    assert (again.measured, again.reused) == (0, 2)

    make_image(client, source=source_sha256(project, NAME))
    _, rebuilt = pipeline.make_plan(project, REQUEST)
    assert {p.identity for p in rebuilt.points}.isdisjoint({p.identity for p in whole.points})
    assert pipeline.reusable(project, rebuilt, how=CAPPED) == {}


def test_what_was_planned_is_what_runs_though_the_tag_moves(project: Project, client: DockerClient) -> None:
    _, whole = pipeline.make_plan(project, REQUEST)
    planned = whole.points[0].engine.image
    moved = make_image(client, source=source_sha256(project, NAME))
    assert moved != planned
    result = pipeline.sweep(project, whole, how=CAPPED, observer=Diary())
    assert {record.runner.details["image"] for record in result.records} == {planned}


def test_an_experiment_that_names_runners_has_both_in_one_sweep(project: Project) -> None:
    build_fake(project.binaries)
    file = project.experiments / "test.yaml"
    file.write_text(file.read_text().replace(f"[{NAME}]", f"[{FAKE}, {{engine: {NAME}, runner: docker}}]"))
    _, whole = pipeline.make_plan(project, pipeline.Request(experiment="test"))
    result = pipeline.sweep(project, whole, how=pipeline.SweepSettings(uncapped=True), observer=Diary())
    runners = {(record.point.engine, record.runner.name, record.status) for record in result.records}
    assert runners == {(FAKE, "local", "ok"), (NAME, "docker", "ok")}
    cautions = pipeline.analyse(project, whole, records=result.records).cautions
    assert not [caution.message for caution in cautions if "different runners" in caution.message]


def test_an_engine_without_an_image_is_named(project: Project) -> None:
    (project.adapters / "rocksdb").mkdir()
    (project.adapters / "rocksdb" / "CMakeLists.txt").touch()
    file = project.experiments / "test.yaml"
    file.write_text(file.read_text().replace(NAME, "rocksdb"))
    with pytest.raises(EngineError, match="'rocksdb' is not built") as raised:
        pipeline.make_plan(project, REQUEST)
    assert str(raised.value.remedy).startswith("kvdyno images build --experiment ")


def test_a_report_needs_neither_runner_nor_image(project: Project, client: DockerClient) -> None:
    """In a clone that uses Docker alone, and in one that has nothing but the records."""
    _, whole = pipeline.make_plan(project, REQUEST)
    pipeline.sweep(project, whole, how=CAPPED, observer=Diary())
    unnamed = pipeline.Request(experiment="test")
    assert len(pipeline.find_recorded(project, unnamed).records) == 2
    (project.adapters / NAME / "adapter.cc").write_text("// another version\n")
    assert len(pipeline.find_recorded(project, REQUEST, runner="docker").records) == 2
    client.images.remove(image_name(NAME), force=True)
    assert len(pipeline.find_recorded(project, REQUEST, runner="docker").records) == 2
    with pytest.raises(EngineError, match="no engine is built"):
        pipeline.find_recorded(project, unnamed, runner="local")


def test_an_upstream_binary_is_refused(project: Project) -> None:
    ycsb = project.root / "ycsb"
    ycsb.write_text("#!/bin/sh\n")
    ycsb.chmod(0o755)
    file = project.experiments / "test.yaml"
    text = file.read_text().replace(f"[{NAME}]", "[{engine: leveldb, external: ycsb}]")
    file.write_text(text + "phases: {measure: {operations: 1000}}\n")
    with pytest.raises(UsageError, match="cannot be run by docker"):
        pipeline.make_plan(project, REQUEST)


def test_a_local_sweep_removes_containers_that_a_killed_one_left(
    project: Project, client: DockerClient
) -> None:
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    labels = {LABEL_OWNER: f"kvdyno-dead-ns{namespace}-4194305-77"}
    image = make_image(client, source=source_sha256(project, NAME))
    name = client.containers.create(image, labels=labels).name
    assert name in pipeline.clean(project, snapshots=False)
    assert not client.api.containers(all=True)
