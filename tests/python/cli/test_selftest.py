"""`kvdyno selftest` from the command line to the file that it keeps, here and in containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient
from fakes.containers import make_driver_image

from kvdyno.host.libraries import version_sha256
from kvdyno.model.image import image_name
from kvdyno.model.project import Project
from kvdyno.pipeline import selftest as parts
from kvdyno.runner import host_id

from .conftest import BINARIES, Checkout

TWINS = """\
title: Twins
engines:
  - memory
  - {engine: memory, label: memory-b, twin_of: memory}
baseline: memory
grid: {workload: [c], dataset: [256MiB]}
cap: 2GiB
repetitions: 3
"""
DRIVER = """\
title: Driver overhead
engines: [noop]
grid: {workload: [c, a], dataset: [256MiB], threads: [1, 2]}
cap: 2GiB
phases: {measure: {operations: 64e6}}
"""
GAUGES = {
    *("cpu.loop_ms", "memory.copy_mib_per_second"),
    *("disk.read_4k_p50_us", "disk.read_4k_p99_us", "disk.read_4k_depth16_per_second"),
    *("disk.read_mib_per_second", "disk.write_mib_per_second", "disk.fsync_p50_us", "disk.fsync_p99_us"),
}


@pytest.fixture
def twins(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Small enough for a test, on a machine that others may use."""
    monkeypatch.setattr(parts, "BUSY_CPUS_MAX", float("inf"))
    checkout.experiment("selftest", TWINS)
    checkout.experiment("driver-overhead", DRIVER)
    return checkout


@pytest.fixture
def images(twins: Checkout, client: DockerClient) -> dict[str, str]:
    """The built drivers of both engines in images of the checkout's sources; their ids."""
    (twins.root / "containers").mkdir()
    for file in ("CMakeLists.txt", "containers/Dockerfile"):
        (twins.root / file).touch()
    here = Project.find(start=twins.root)
    return {
        engine: make_driver_image(
            client, BINARIES / f"kvdyno-{engine}", engine=engine, source=version_sha256(here, engine)
        )
        for engine in ("memory", "noop")
    }


def _kept(checkout: Checkout) -> dict[str, Any]:
    folder = checkout.root / "results" / "hosts" / host_id()
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def _checked(found: dict[str, Any]) -> None:
    """What every self-test of these experiments holds, wherever it ran."""
    assert set(found["gauges"]) == GAUGES
    assert found["gauges"]["memory.copy_mib_per_second"] > 0
    assert {(cost["workload"], cost["threads"]) for cost in found["driver"]} == {
        *(("c", 1), ("c", 2), ("a", 1), ("a", 2))
    }
    for cost in found["driver"]:
        assert cost["runs"] == 2
        assert 0 < cost["lowest_ns"] <= cost["median_ns"] <= cost["highest_ns"]
    assert {each["metric"] for each in found["twins"]} >= {"throughput"}


@pytest.mark.usefixtures("capped")
def test_noise_disk_memory_and_driver_are_kept_and_shown(twins: Checkout) -> None:
    answer = twins.kvdyno("selftest", "--no-tools", "--json")
    assert answer.status == 0, answer.err
    kept = _kept(twins)
    assert list(kept) == ["noise.json"]
    found = kept["noise.json"]
    assert (found["runner"], found["images"]) == ("local", {})
    _checked(found)
    assert answer.json["noise"] == found
    again = twins.kvdyno("selftest", "--no-tools")
    assert again.status == 0, again.err
    for said in ("memory, copied by one thread", "4 KiB written and synced", "The driver alone"):
        assert said in again.out
    report = twins.kvdyno("report", "selftest")
    assert "noise of host" not in report.out + report.err, "it is known now"


@pytest.mark.docker
def test_twins_and_the_driver_run_in_containers(
    twins: Checkout, client: DockerClient, images: dict[str, str]
) -> None:
    answer = twins.kvdyno("selftest", "--runner", "docker", "--json")
    assert answer.status == 0, answer.err
    kept = _kept(twins)
    assert list(kept) == ["noise-docker.json"]
    found = kept["noise-docker.json"]
    assert found["runner"] == "docker"
    assert found["images"] == {"memory": images["memory"], "memory-b": images["memory"]}
    assert {cost["image"] for cost in found["driver"]} == {images["noop"]}
    _checked(found)
    records = [json.loads(path.read_text()) for path in twins.records()]
    assert {record["runner"]["name"] for record in records} == {"docker"}
    assert answer.json["tools"] == []
    assert not client.api.containers(all=True)


@pytest.mark.docker
def test_an_image_that_is_missing_is_named_before_anything_runs(
    twins: Checkout, client: DockerClient, images: dict[str, str]
) -> None:
    client.images.remove(image_name("noop"), force=True)
    answer = twins.kvdyno("selftest", "--runner", "docker")
    assert answer.status == 4
    assert "'noop' is not built" in answer.err
    assert "kvdyno images build --experiment driver-overhead --engines noop" in " ".join(answer.err.split())
    assert twins.records() == []


def test_without_a_docker_engine_the_remedy_is_named(twins: Checkout, tmp_path: Path) -> None:
    answer = twins.kvdyno("selftest", "--runner", "docker", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert answer.status == 5
    assert "no Docker Engine answers" in answer.err
    assert "remedy: harness/setup.sh docker" in answer.err


@pytest.mark.parametrize(
    ("option", "named"),
    [(["--tools"], "--tools"), (["--db-bench", "x"], "--db-bench"), (["--ycsb", "x"], "--ycsb")],
)
def test_tools_are_none_of_an_images(twins: Checkout, option: list[str], named: str) -> None:
    answer = twins.kvdyno("selftest", "--runner", "docker", *option)
    assert answer.status == 2
    assert f"{named}: expected the local runner: images hold no other tools" in " ".join(answer.err.split())


def test_a_machine_that_others_use_is_refused(twins: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BUSY_CPUS_MAX", -1.0)
    answer = twins.kvdyno("selftest", "--no-tools")
    assert answer.status == 6
    assert "other processes keep" in answer.err
    assert twins.records() == []
