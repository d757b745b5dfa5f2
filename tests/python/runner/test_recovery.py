"""A run of two processes, with a fake driver: the first is killed, the second opens what it left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.model.experiment import Recovery
from kvdyno.model.point import Point
from kvdyno.model.record import Record
from kvdyno.model.schema import validate

from .conftest import Execute


@pytest.fixture
def killed_point(loaded_point: Point) -> Point:
    properties = {"fake": "be killed", "kill.operations": "7", "operationcount": "10", "sync": "true"}
    return replace(
        loaded_point, properties=properties, phases=("measure",), recovery=Recovery(watch_seconds=3)
    )


def reason(record: Record) -> str:
    validate(record.model_dump(mode="json"), schema="record", where="record")
    assert record.failure is not None
    return record.failure.reason


def test_the_record_keeps_both_processes(execute: Execute, killed_point: Point, tmp_path: Path) -> None:
    record = execute(killed_point)
    assert record.status == "ok", record.failure
    assert record.phase("measure") is not None
    killed = record.runner.details["killed"]
    assert killed["seconds"] > 0
    assert [each["phase"] for each in killed["phases"]] == ["measure"]
    assert record.files["killed_log"] == "killed/driver.log"
    assert record.files["killed_properties"] == "killed/point.properties"
    assert not (tmp_path / "run-0" / "killed" / "acknowledged.bin").exists(), "large, and of no more use"
    validate(json.loads(record.model_dump_json()), schema="record", where="record")


def test_the_second_process_gets_the_mix_without_the_kill(
    execute: Execute, killed_point: Point, tmp_path: Path
) -> None:
    execute(killed_point)
    first, second = (
        dict(line.split("=", 1) for line in (tmp_path / "run-0" / name).read_text().splitlines())
        for name in ("killed/point.properties", "point.properties")
    )
    assert first["kill.operations"] == "7"
    assert "kill.operations" not in second
    assert second["measure.seconds"] == "3"
    assert second["operationcount"] == second["warmup.seconds"] == "0"
    assert first["sync"] == second["sync"] == "true"


@pytest.mark.parametrize("cache", ["cold", "snapshot-read", "warm"])
def test_the_second_process_finds_the_caches_that_the_policy_states(
    execute: Execute, killed_point: Point, cache: str
) -> None:
    record = execute(killed_point, cache=cache)
    assert record.status == "ok", record.failure
    assert ("caches_dropped" in record.runner.details["killed"]) == (cache == "cold")


def test_a_phase_that_ends_before_the_kill_is_a_failed_run(execute: Execute, killed_point: Point) -> None:
    record = execute(killed_point, properties={"fake": ""})
    assert record.status == "failed"
    assert "ended before the moment of the kill" in reason(record)


def test_a_crash_before_the_kill_is_that_crash(execute: Execute, killed_point: Point) -> None:
    record = execute(killed_point, properties={"fake": "crash"})
    assert record.status == "crash"
    assert reason(record).startswith("before the kill: ended by SIGSEGV")


@pytest.mark.parametrize(
    ("fake", "status", "found"),
    [
        ("wrong data", "wrong_data", "expected stamp 1, found 2"),
        ("full", "disk_full", "No space left on device"),
        ("crash", "crash", "SIGSEGV"),
        ("be killed", "failed", "SIGKILL"),
        ("no outcome", "failed", "it left no outcome.json"),
    ],
)
def test_a_reopening_that_fails_is_a_failed_run_with_its_reason(
    execute: Execute, killed_point: Point, fake: str, status: str, found: str
) -> None:
    record = execute(killed_point, properties={"fake.reopened": fake})
    assert record.status == status
    assert found in reason(record)
    assert "killed" in record.runner.details


def test_a_reopening_that_hangs_ends_with_the_timeout(execute: Execute, killed_point: Point) -> None:
    record = execute(killed_point, properties={"fake.reopened": "hang"}, timeout_seconds=1.0)
    assert record.status == "timeout"
    assert "still running after 1 s" in reason(record)


def test_a_kill_for_lack_of_memory_is_not_the_kill_that_was_asked_for(
    execute: Execute, killed_point: Point, capped: None
) -> None:
    record = execute(killed_point, properties={"fake": "eat", "fake.bytes": str(200 << 20)})
    assert record.status == "out_of_memory"
    assert reason(record).startswith("before the kill: ")
