"""Tools are run alike, their answers read, and what goes wrong with them is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.errors import EngineError, HostError
from kvdyno.model.project import Project
from kvdyno.selftest import agreement

_DB_BENCH = """
cat <<'TEXT'
RocksDB:    version 7.8.3
fillseq      :       4.6 micros/op 216001 ops/sec;  2.3 seconds 500000 operations; 168.1 MB/s
overwrite    :       7.5 micros/op 132002 ops/sec;  3.8 seconds 500000 operations; 103.2 MB/s
readrandom   :      15.9 micros/op 63003 ops/sec;  7.9 seconds 500000 operations;  (500000 of 500000 found)
TEXT
"""


def _script(folder: Path, text: str) -> Path:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Path:
    store = tmp_path / "store"
    store.mkdir()
    return store


def test_db_benchs_answer_is_read(tmp_path: Path, store: Path) -> None:
    asked = tmp_path / "asked"
    bench = agreement.DbBench(_script(tmp_path, f'echo "$1 $2" >>{asked}{_DB_BENCH}'), store=store)
    assert {step: bench.rate(step) for step in bench.steps} == {
        "fill": 216001,
        "get": 63003,
        "overwrite": 132002,
    }
    assert bench.version == "7.8.3"
    assert asked.read_text().splitlines() == [
        "--benchmarks=fillseq,flush,waitforcompaction --use_existing_db=0",
        "--benchmarks=readrandom --use_existing_db=1",
        "--benchmarks=overwrite --use_existing_db=1",
    ]


def test_a_step_without_a_rate_is_named(tmp_path: Path, store: Path) -> None:
    tool = _script(tmp_path, _DB_BENCH.replace("overwrite ", "compact "))
    with pytest.raises(EngineError, match="expected the rate of overwrite"):
        agreement.DbBench(tool, store=store).rate("overwrite")


def test_a_tool_that_fails_or_is_absent_is_named(tmp_path: Path, store: Path) -> None:
    tool = _script(tmp_path, "echo 'open error: no space' >&2; exit 3")
    with pytest.raises(EngineError, match="status 3: open error: no space"):
        agreement.DbBench(tool, store=store).rate("fill")
    with pytest.raises(HostError, match="cannot be run: No such file"):
        agreement.DbBench(tmp_path / "absent", store=store).rate("fill")


def test_upstreams_lines_are_read(tmp_path: Path, store: Path) -> None:
    tool = _script(
        tmp_path, "echo 'Load throughput(ops/sec): 1.5e+05'; echo 'Run throughput(ops/sec): 63000'"
    )
    ycsb = agreement.UpstreamYcsb(tool, engine="rocksdb", store=store)
    assert {step: ycsb.rate(step) for step in ycsb.steps} == {"fill": 150_000, "get": 63_000}


def test_the_driver_runs_the_three_steps(tmp_path: Path, store: Path) -> None:
    binary = Project.find().binaries / "kvdyno-rocksdb"
    output = tmp_path / "output"
    output.mkdir()
    ours = agreement.Driver(binary, engine="rocksdb", store=store, output=output, records=500)
    assert all(ours.rate(step) > 0 for step in ours.steps)
    assert ours.version


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("7.8.3", "7.8.3", True), ("7.8", "7.8.3", True), ("7.8.3", "11.8.1", False), ("", "7.8.3", True)],
)
def test_versions_are_compared_as_far_as_they_are_known(one: str, other: str, same: bool) -> None:
    assert agreement.same_version(one, other) == same
