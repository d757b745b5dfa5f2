"""Judgements on facts: each flaw is found, and has a remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from kvdyno.doctor import Finding, Gauges, examine
from kvdyno.errors import EngineError, HostError
from kvdyno.model.engine import RunnerName
from kvdyno.model.project import Project
from kvdyno.model.record import Environment

GIB = 1 << 30
GOOD: dict[str, object] = {
    "disk.file_system": "ext4",
    "disk.device": "sda",
    "disk.free_bytes": 100 * GIB,
    "disk.read_ahead_kb": 128,
    "memory.available_bytes": 8 * GIB,
    "memory.swap_bytes": 0,
    "memory.huge_pages": "madvise",
    "cpu.governor": "performance",
    "cpu.turbo": False,
    "load.cpus_busy": 0.02,
    "os.clock_source": "tsc",
    "os.open_files_max": 65536,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/bin/kvdyno-memory").touch()
    return Project(root=tmp_path, results=tmp_path / "results", data=tmp_path / "data")


DOCKER: dict[str, object] = {
    "docker.engine": "Docker Engine 20.10",
    "docker.address": "unix:///var/run/docker.sock",
    "docker.cgroup_version": "2",
    "docker.storage_driver": "overlay2",
    "docker.seccomp": "default",
    "docker.memory_limit": True,
    "docker.swap_limit": True,
    "images.base": "debian:bookworm-slim",
    "images.debootstrap": True,
}
NO_BASE = DOCKER | {"images.base": None}
NO_DOCKER = HostError("no Docker Engine answers", where="unix:///x", remedy="harness/setup.sh docker")


GAUGES: Gauges = (
    {
        "disk.read_4k_p50_us": 80.4,
        "disk.read_4k_p99_us": 200.0,
        "disk.write_mib_per_second": 900.0,
        "cpu.loop_ms": 2.5,
    },
    (),
)
COUNTERS = dict.fromkeys(("steal", "disk", "pressure", "swap", "thermal"), True)


def findings(
    project: Project,
    facts: dict[str, object],
    confinement: str | HostError = "cgroup v1",
    *,
    engines: Collection[str] | EngineError = ("memory",),
    docker: Mapping[str, object] | HostError = DOCKER,
    gauges: Gauges = GAUGES,
    counters: Mapping[str, bool] = COUNTERS,
    restored: Sequence[str] = (),
    runner: RunnerName = "local",
) -> dict[str, Finding]:
    found = examine(
        project,
        environment=Environment(host_id="x", facts=facts),
        confinement=confinement,
        engines=engines,
        docker=docker,
        gauges=gauges,
        counters=counters,
        restored=restored,
        runner=runner,
    )
    return {f.what: f for f in found}


def test_a_good_machine_has_nothing_to_remedy(project: Project) -> None:
    found = findings(project, GOOD)
    assert {f.level for f in found.values()} == {"ok"}
    assert not any(f.remedy for f in found.values())
    assert found["engines"].found == "memory"


@pytest.mark.parametrize(
    ("fact", "value", "what", "level", "remedy"),
    [
        ("disk.file_system", "tmpfs", "file system", "bad", "KVDYNO_DATA"),
        ("disk.file_system", "nfs4", "file system", "warn", "KVDYNO_DATA"),
        ("disk.free_bytes", GIB // 2, "disk space", "bad", "clean"),
        ("disk.free_bytes", 5 * GIB, "disk space", "warn", "clean"),
        ("disk.read_ahead_kb", 8192, "readahead", "warn", "blockdev --setra 256 /dev/sda"),
        ("memory.available_bytes", GIB // 4, "memory", "warn", "close"),
        ("memory.swap_bytes", GIB, "swap", "warn", "swapoff"),
        ("memory.huge_pages", "always", "huge pages", "warn", "madvise"),
        ("cpu.governor", "powersave", "CPU governor", "warn", "performance"),
        ("cpu.turbo", True, "CPU turbo", "warn", "no_turbo"),
        ("load.cpus_busy", 1.5, "other load", "warn", "top"),
        ("os.clock_source", "hpet", "clock", "warn", "tsc"),
        ("os.open_files_max", 1024, "open files", "warn", "ulimit"),
    ],
)
def test_each_flaw_is_found_alone(
    project: Project, fact: str, value: object, what: str, level: str, remedy: str
) -> None:
    found = findings(project, {**GOOD, fact: value})
    assert [f.what for f in found.values() if f.level != "ok"] == [what]
    assert found[what].level == level
    assert remedy in found[what].remedy


def test_gauges_are_shown_and_what_has_none_is_explained(project: Project) -> None:
    shown = findings(project, GOOD)["gauges"].found
    assert shown == (
        "4 KiB reads in 80 us, 99th percentile 200 us, sequential writes at 900 MiB/s, CPU loop in 2.50 ms"
    )
    refused = ({**GAUGES[0], "disk.write_mib_per_second": None}, ["gauge: a sequential write: no space"])
    found = findings(project, GOOD, gauges=refused)["gauges"]
    assert found.level == "warn"
    assert "no space" in found.found
    assert "MiB/s" not in found.found
    assert "KVDYNO_DATA" in found.remedy


def test_counters_that_the_kernel_lacks_are_named(project: Project) -> None:
    found = findings(project, GOOD, counters={**COUNTERS, "pressure": False, "thermal": False})
    assert found["kernel counters"].found == "not visible here: pressure (PSI), thermal throttling"
    assert findings(project, GOOD)["kernel counters"].found == "all visible"


def test_what_was_put_back_is_reported(project: Project) -> None:
    found = findings(project, GOOD, restored=("the setting of /sys/x",))
    assert "/sys/x" in found["put back"].found
    assert "put back" not in findings(project, GOOD)


def test_no_cap_is_bad_and_hands_the_remedy_on(project: Project) -> None:
    refusal = HostError("cgroups may not be made here", where="/sys/fs/cgroup", remedy="run as root")
    found = findings(project, GOOD, refusal)["memory cap"]
    assert (found.level, found.remedy) == ("bad", "run as root")
    assert "/sys/fs/cgroup" in found.found


def test_no_engine_is_bad(project: Project) -> None:
    refusal = EngineError("no engine is built", where="build/bin", remedy="make build")
    found = findings(project, GOOD, engines=refusal)["engines"]
    assert (found.level, found.remedy) == ("bad", "make build")


@pytest.mark.parametrize(
    ("docker", "what", "level", "remedy"),
    [
        (NO_DOCKER, "Docker Engine", "bad", "harness/setup.sh docker"),
        (DOCKER | {"docker.memory_limit": False}, "Docker cap", "bad", "cgroup_enable=memory"),
        (DOCKER | {"docker.swap_limit": False}, "Docker cap", "warn", "swapoff -a"),
        (DOCKER | {"docker.storage_driver": "vfs"}, "Docker storage", "warn", "overlay2"),
        (NO_BASE | {"images.debootstrap": False}, "base image", "warn", "apt-get install debootstrap"),
    ],
)
def test_a_flaw_of_docker_is_as_bad_as_docker_is_needed(
    project: Project, docker: Mapping[str, object] | HostError, what: str, level: str, remedy: str
) -> None:
    facts = GOOD | {"memory.swap_bytes": GIB}
    found = findings(project, facts, docker=docker, runner="docker")[what]
    assert found.level == level
    assert remedy in found.remedy
    assert findings(project, facts, docker=docker)[what].level == "ok"


def test_the_engine_that_is_missing_is_reported_once(project: Project) -> None:
    refused = EngineError(NO_DOCKER.message)
    found = findings(project, GOOD, NO_DOCKER, engines=refused, docker=NO_DOCKER, runner="docker")
    assert [each.what for each in found.values() if each.level != "ok"] == ["Docker Engine"]
    assert {"memory cap", "engines"} <= findings(project, GOOD, docker=NO_DOCKER).keys()


def test_the_cgroup_version_is_reported(project: Project) -> None:
    assert "cgroup v2" in findings(project, GOOD)["Docker Engine"].found


def test_a_base_that_can_be_made_is_no_flaw(project: Project) -> None:
    found = findings(project, GOOD, docker=NO_BASE, runner="docker")["base image"]
    assert (found.level, found.remedy) == ("ok", "")
    assert "debootstrap" in found.found


def test_seccomp_is_reported(project: Project) -> None:
    assert "io_uring" in findings(project, GOOD)["Docker seccomp"].found


def test_what_the_kernel_hides_is_no_flaw(project: Project) -> None:
    hidden = {name: None for name in GOOD if not name.startswith("disk.f")}
    found = findings(project, {**GOOD, **hidden})
    assert {f.level for f in found.values()} == {"ok"}
