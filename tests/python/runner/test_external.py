"""Upstream binaries: what they print becomes an outcome with this project's names and units."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.host.external import external_engine
from kvdyno.model.point import Point
from kvdyno.model.schema import validate
from kvdyno.runner.external import parse_phases, read_io

from .conftest import Execute, fake_engine


def status(seconds: int, *operations: str) -> str:
    return f"2024-01-01 00:00:{seconds:02} {seconds} sec: 30 operations; {' '.join(operations)}\n"


def summary(phase: str, *, seconds: str, operations: str, rate: str) -> str:
    return (
        f"{phase} runtime(sec): {seconds}\n"
        f"{phase} operations(ops): {operations}\n"
        f"{phase} throughput(ops/sec): {rate}\n"
    )


HISTOGRAM_FORM = (
    status(0)
    + status(10, "[READ: Count=7 Max=9.00 Min=9.00 Avg=9.00 90=9.00 99=9.00 99.9=9.00 99.99=9.00]")
    + status(
        12,
        "[READ: Count=20 Max=912.38 Min=1.50 Avg=4.25 90=5.00 99=6.00 99.9=70.00 99.99=800.00]",
        "[UPDATE: Count=9 Max=2.00 Min=1.00 Avg=1.50 90=1.60 99=1.70 99.9=1.80 99.99=1.90]",
        "[READ-FAILED: Count=1 Max=3.00 Min=3.00 Avg=3.00 90=3.00 99=3.00 99.9=3.00 99.99=3.00]",
    )
    + summary("Run", seconds="12.5", operations="30", rate="2.4")
)
BASIC_FORM = (
    summary("Load", seconds="2", operations="100", rate="50")
    + status(1, "[INSERT: Count=8 Max=3.00 Min=1.00 Avg=2.00 | Period Count=8 Period Avg=7.00]")
    + summary("Run", seconds="1", operations="8", rate="8e+00")
)
IO = {"rchar": 1, "wchar": 2, "syscr": 3, "syscw": 4, "read_bytes": 5, "write_bytes": 6}


def test_percentiles_are_in_nanoseconds_and_the_last_count() -> None:
    phase, span = parse_phases(HISTOGRAM_FORM, started_at=5.0, io=IO)
    assert (span.name, span.covers, span.metrics) == ("run", ("measure",), phase.metrics)
    assert (phase.name, phase.seconds, phase.started_at) == ("measure", 12.5, 5.0)
    value = {name: (metric.value, metric.unit) for name, metric in phase.metrics.items()}
    assert value["throughput"] == (2.4, "op/s")
    assert value["operations"] == (30, "op")
    assert value["read.operations"] == (20, "op")
    assert value["read.failed"] == (1, "op")
    assert value["read.latency.max"] == (912380, "ns")
    assert value["read.latency.mean"] == (4250, "ns")
    assert value["read.latency.p99.99"] == (800000, "ns")
    assert value["update.latency.p90"] == (1600, "ns")
    assert value["io.write_bytes"] == (6, "byte")
    assert value["io.syscr"] == (3, "call")


def test_the_basic_form_has_phases_apart_and_no_period() -> None:
    load, build, measure, run = parse_phases(BASIC_FORM, started_at=5.0, io=IO)
    assert (build.name, run.name) == ("build", "run")
    assert (load.name, load.metrics["throughput"].value) == ("load", 50)
    assert (measure.name, measure.started_at) == ("measure", 7.0)
    assert measure.metrics["insert.latency.mean"].value == 2000
    assert "insert.operations" not in load.metrics
    assert "io.rchar" not in measure.metrics, "the process's counters belong to neither alone"


def test_what_is_unknown_of_a_build_is_not_held_against_it(tmp_path: Path) -> None:
    binary = tmp_path / "ycsb"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    description = external_engine(binary, name="leveldb").description
    assert description.build.type == ""
    assert "how it was built is not known" in description.engine.caveats


def test_own_counters_can_be_read_and_the_dead_have_none() -> None:
    assert read_io(os.getpid())["rchar"] > 0
    assert read_io(2**22 + 1) == {}


@pytest.fixture
def upstream(tmp_path: Path, point: Point) -> Point:
    """A stand-in that writes into its store, waits to be sampled, and prints the histogram form."""
    binary = tmp_path / "ycsb"
    (tmp_path / "printed").write_text(HISTOGRAM_FORM)
    binary.write_text(
        "#!/bin/bash\n"
        f'echo "$@" > {tmp_path}/flags\n'
        'while [ "$1" ]; do case "$1" in *.dbname=*) store="${1#*=}";; esac; shift; done\n'
        'head -c 200000 /dev/zero > "$store/data"\n'
        'for i in {1..2000}; do printf %0100d 0; done > "$store/own"\n'
        "sleep 0.5\n"
        f"cat {tmp_path}/printed\n"
        f"exit $(cat {tmp_path}/status)\n"
    )
    binary.chmod(0o755)
    (tmp_path / "status").write_text("0")
    engine = fake_engine(binary, external=True)
    properties = {"operationcount": "30", "threadcount": "3"}
    return replace(point, engine=engine, phases=("load", "measure"), properties=properties)


def test_an_upstream_binary_runs_to_a_valid_record(execute: Execute, upstream: Point, tmp_path: Path) -> None:
    record = execute(upstream)
    assert record.status == "ok"
    validate(record.model_dump(mode="json"), schema="record", where="record")
    phase = record.phase("measure")
    assert phase is not None
    assert phase.metrics["io.wchar"].value >= 200_000
    flags = (tmp_path / "flags").read_text()
    assert flags.startswith("-load -run -db fake -P ")
    assert flags.strip().endswith("-threads 3 -s")


def test_an_upstream_binary_that_fails_has_the_reason(
    execute: Execute, upstream: Point, tmp_path: Path
) -> None:
    (tmp_path / "printed").write_text("Unknown database name fake\n")
    (tmp_path / "status").write_text("2")
    record = execute(upstream)
    assert record.status == "failed"
    assert record.failure is not None
    assert "Unknown database name fake" in record.failure.reason


def test_success_without_a_summary_is_a_failure(execute: Execute, upstream: Point, tmp_path: Path) -> None:
    (tmp_path / "printed").write_text("Usage: ycsb [options]\n")
    record = execute(upstream)
    assert record.status == "failed"
    assert record.failure is not None
    assert "throughput(ops/sec)" in record.failure.reason
