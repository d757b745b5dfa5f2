"""What self-tests found is kept for each runner apart, and read again or refused with the remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.noise import make_noise
from fakes_records import SIZES, Fake, Sweep, fake_sweep

from kvdyno import pipeline
from kvdyno.errors import StoreError
from kvdyno.model.noise import DriverCost
from kvdyno.model.project import Project
from kvdyno.pipeline.noise import host_noise, published_noise, store_noise

HOST = "host-5d2c"
FOUND = make_noise("rocksdb", "A", sd_log=0.05, host_id=HOST, facts={"os.kernel": "6.1"})
IN_CONTAINERS = FOUND.model_copy(
    update={
        "runner": "docker",
        "images": {"rocksdb": "sha256:12", "rocksdb-b": "sha256:12"},
        "gauges": {"disk.read_4k_p50_us": 90.5, "disk.fsync_p50_us": None},
        "driver": (DriverCost(workload="c", threads=2, runs=3, median_ns=51, lowest_ns=50, highest_ns=57),),
    }
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path, results=tmp_path / "results", data=tmp_path / "data")


def _path(project: Project, name: str = "noise.json") -> Path:
    folder = project.hosts / HOST
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def test_each_runner_has_a_file(project: Project) -> None:
    assert host_noise(project, HOST, runner="local") is None
    store_noise(project, FOUND)
    assert host_noise(project, HOST, runner="docker") is None
    store_noise(project, IN_CONTAINERS)
    assert host_noise(project, HOST, runner="local") == FOUND
    assert host_noise(project, HOST, runner="docker") == IN_CONTAINERS
    assert {path.name for path in (project.hosts / HOST).iterdir()} == {"noise.json", "noise-docker.json"}


def test_of_several_published_self_tests_of_a_host_the_last_counts(tmp_path: Path) -> None:
    later = FOUND.model_copy(update={"measured_at": "2026-11-29T08:00:00Z"})
    for name, found in (("a", later), ("b", FOUND), ("c", IN_CONTAINERS)):
        file = "noise-docker.json" if found.runner == "docker" else "noise.json"
        origin = {"schema_version": "kvdyno.origin/1", "question": "How noisy?", "command": "kvdyno selftest"}
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(found.model_dump_json())
        (tmp_path / name / "origin.yaml").write_text(json.dumps({**origin, "seeded": True, "files": [file]}))
    assert published_noise(tmp_path) == {(HOST, "local"): later, (HOST, "docker"): IN_CONTAINERS}


def test_an_earlier_file_without_the_newer_fields_is_read(project: Project) -> None:
    document = FOUND.model_dump()
    for name in ("runner", "images", "gauges", "driver"):
        del document[name]
    _path(project).write_text(json.dumps(document))
    assert host_noise(project, HOST, runner="local") == FOUND


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "expected JSON, found"),
        (b'{"host_id": "ho', "expected JSON, found"),
        (b"\xff\xfe\x00", "expected JSON, found"),
        (b"[]", "the file: input should be a valid dictionary"),
        (b"{}", "host_id: field required"),
    ],
)
@pytest.mark.parametrize(
    ("runner", "name", "command"),
    [
        ("local", "noise.json", "kvdyno selftest"),
        ("docker", "noise-docker.json", "kvdyno selftest --runner docker"),
    ],
)
def test_a_damaged_file_is_named_with_the_remedy(
    project: Project, content: bytes, said: str, runner: str, name: str, command: str
) -> None:
    _path(project, name).write_bytes(content)
    with pytest.raises(StoreError) as caught:
        host_noise(project, HOST, runner=runner)
    assert said in caught.value.message
    assert caught.value.where == str(_path(project, name))
    assert caught.value.remedy == f"measure it again: {command}"


def test_a_newer_file_is_refused_by_its_version(project: Project) -> None:
    _path(project).write_text(FOUND.model_copy(update={"schema_version": "kvdyno.noise/2"}).model_dump_json())
    with pytest.raises(StoreError, match="noise/2: a newer kvdyno wrote it") as caught:
        host_noise(project, HOST, runner="local")
    assert caught.value.remedy == "update kvdyno"


def test_a_file_that_may_not_be_read_is_no_absent_one(project: Project) -> None:
    _path(project).mkdir()
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        host_noise(project, HOST, runner="local")


def _sweep(folder: Path, *, runner: str) -> Sweep:
    sweep = fake_sweep(Fake(folder, repetitions=3, workloads=("A",), sizes=SIZES[:1], files=False))
    facts = sweep.records[0].runner.model_copy(update={"name": runner})
    records = tuple(record.model_copy(update={"runner": facts}) for record in sweep.records)
    return Sweep(sweep.experiment, sweep.plan, records, sweep.run_dirs)


@pytest.mark.parametrize(("runner", "other"), [("local", "docker"), ("docker", "local")])
def test_reports_take_the_noise_of_the_runner_that_measured(
    project: Project, tmp_path: Path, runner: str, other: str
) -> None:
    sweep = _sweep(tmp_path / "runs", runner=runner)
    for record in sweep.records:
        (project.runs / "point" / record.run_id).mkdir(parents=True)
    store_noise(project, FOUND.model_copy(update={"runner": other}))
    (floor,) = pipeline.analyse(project, sweep.plan, records=sweep.records).noise
    assert (floor.runner, floor.measured_at) == (runner, "")
    store_noise(project, FOUND.model_copy(update={"runner": runner}))
    (floor,) = pipeline.analyse(project, sweep.plan, records=sweep.records).noise
    assert floor.effects.keys() == {"A"}
