"""A sweep over hosts without a scheduler: what a job delivers, which records count. The engine is a fake."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno import pipeline
from kvdyno.cluster import Unit, deal, units_of
from kvdyno.errors import StoreError, UsageError
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.pipeline.reuse import blocks
from kvdyno.store import RunStore, deliver, finished

from .conftest import SWEEP_ID, keys, put_on_five_hosts
from .test_sweep import Diary


def measured_runs(project: Project) -> list[str]:
    return [r.run_id for r in RunStore(project.runs).read()[0] if ".load" not in r.point.slug]


def test_a_job_delivers_each_run_and_measures_none_twice(project: Project, whole: Plan) -> None:
    first = pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    assert first.measured == 8
    delivered = measured_runs(project)
    assert len(delivered) == 8
    assert finished(project.data / "outbox") == (), "what was delivered is not kept twice"
    assert list((project.results / ".incoming").iterdir()) == []
    again = pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    assert (again.measured, again.reused) == (0, 8)
    assert measured_runs(project) == delivered


def test_a_job_that_another_host_measured_too_counts_once(
    project: Project, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    for path in project.runs.glob("*/*/record.json"):
        record = json.loads(path.read_text())
        record["environment"]["host_id"] = "b" * 12
        record["run_id"] = record["run_id"][:-6] + "abcdef"
        twin = path.parent.with_name(record["run_id"])
        shutil.copytree(path.parent, twin)
        (twin / "record.json").write_text(json.dumps(record))
    assert len(measured_runs(project)) == 16
    chosen = pipeline.stored(project, whole, uncapped=True)
    assert len(chosen) == 8
    for block in blocks(whole):
        assert len({chosen[run.name].environment.host_id for run in block}) == 1


def test_the_status_names_a_host_that_is_slower_than_the_others(project: Project, whole: Plan) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    put_on_five_hosts(project)
    (status,) = pipeline.status_of(project, SWEEP_ID)
    assert len(status.hosts) == 5
    (slow,) = status.outliers
    assert (slow.host_id, slow.gauge, slow.value, slow.normal) == ("4" * 12, "cpu.loop_ms", 9.0, 5.0)


def test_a_half_measured_block_of_another_host_is_measured_whole(project: Project, whole: Plan) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    first = whole.runs[0]
    for path in project.runs.glob("*/*/record.json"):
        record = json.loads(path.read_text())
        if record["point"]["identity"] == first.point.identity and record["repetition"] == 1:
            record["environment"]["host_id"] = "b" * 12
            path.write_text(json.dumps(record))
    again = pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    assert again.measured == 2


def test_delivering_twice_changes_nothing_and_another_run_is_refused(
    project: Project, whole: Plan, tmp_path: Path
) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    run_dir = finished(project.results)[0]
    target = tmp_path / "target"
    for _ in range(2):
        deliver(run_dir, source=project.results, target=target, sender="a")
    assert len(finished(target)) == 1
    (finished(target)[0] / "record.json").write_text("{}")
    with pytest.raises(StoreError, match="another run has this id"):
        deliver(run_dir, source=project.results, target=target, sender="a")


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_runs_that_a_full_shared_disk_refuses_are_kept_and_delivered_later(
    project: Project, whole: Plan, full_disk: Path
) -> None:
    shared = replace(project, results=full_disk)
    shutil.copytree(project.sweeps, shared.sweeps)
    with pytest.raises(StoreError, match="cannot deliver"):
        pipeline.run_points(shared, SWEEP_ID, keys(whole), observer=Diary())
    assert list((full_disk / ".incoming").iterdir()) == [], "half a run is not left"
    kept = finished(project.data / "outbox")
    assert kept
    subprocess.run(["mount", "-o", "remount,size=64m", str(full_disk)], check=True)
    again = pipeline.run_points(shared, SWEEP_ID, keys(whole), observer=Diary())
    assert len(measured_runs(shared)) == 8 + again.measured
    assert finished(project.data / "outbox") == ()
    assert again.measured <= 2, "at most the block that was cut in two"


def test_a_key_that_the_plan_lacks_is_refused_with_the_reason(project: Project, whole: Plan) -> None:
    with pytest.raises(UsageError, match=r"no run 0123456789ab\.r1 in the plan"):
        pipeline.run_points(project, SWEEP_ID, ["0123456789ab.r1"], observer=Diary())
    with pytest.raises(UsageError, match="no sweep 'x' was submitted"):
        pipeline.run_points(project, "x", keys(whole), observer=Diary())


def test_claims_along_an_axis_keep_its_blocks_on_one_host(whole: Plan) -> None:
    apart = units_of(blocks(whole), along=frozenset())
    together = units_of(blocks(whole), along=frozenset({"workload"}))
    assert [len(unit.runs) for unit in apart] == [2, 2, 2, 2]
    assert [len(unit.runs) for unit in together] == [4, 4]
    assert all(len({run.repetition for run in unit.runs}) == 1 for unit in together)


@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
def test_hands_hold_every_unit_once(whole: Plan, jobs: int) -> None:
    units = units_of(blocks(whole), along=frozenset())
    hands = deal(units, jobs=jobs)
    dealt: list[Unit] = [unit for hand in hands for unit in hand]
    assert len(hands) == jobs
    assert {id(unit) for unit in dealt} == {id(unit) for unit in units}
    assert len(dealt) == len(units)
