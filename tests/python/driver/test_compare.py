"""The workloads of RocksDB's own protocol run for real, tiny and verified."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kvdyno.model.axes import FLAG_PROPERTIES
from kvdyno.model.project import Project
from kvdyno.model.properties import read_properties

from .test_contract import BINARIES, Properties, drive

PROJECT = Project.find(start=Path(__file__))
ROCKSDB = PROJECT.binaries / "kvdyno-rocksdb"
LEVELDB = PROJECT.binaries / "kvdyno-leveldb"
TINY: Properties = {"recordcount": 3000, "verify": "true"}
#: What each test of the mix did.
DONE = {
    "readrandom": "read",
    "multireadrandom": "multiread",
    "fwdrange": "scan",
    "revrange": "reversescan",
    "readwhilewriting": "read",
    "fwdrangewhilewriting": "scan",
    "revrangewhilewriting": "reversescan",
    "overwrite": "update",
}


def workload(test: str) -> Mapping[str, object]:
    path = PROJECT.workloads / f"compare-{test}.properties"
    properties = {name: value.text for name, value in read_properties(path).items()}
    return {name: text for name, text in properties.items() if name not in FLAG_PROPERTIES}


@pytest.mark.parametrize("binary", [ROCKSDB, LEVELDB], ids=lambda path: path.name)
@pytest.mark.parametrize("test", DONE)
def test_the_mix_of_each_test_runs(test: str, binary: Path, tmp_path: Path) -> None:
    if binary not in BINARIES:
        pytest.skip(f"{binary.name} is not built")
    properties = {**workload(test), **TINY, "operationcount": 0, "measure.seconds": 0.3}
    left = drive(tmp_path, properties, "-load", "-run", binary=binary)
    assert left.status == 0, left.err
    measured = left.metrics("measure")
    operation = DONE[test]
    assert measured[f"{operation}.operations"] == measured["operations"] > 0
    assert measured[f"{operation}.not_found"] == 0
    if operation in ("multiread", "scan", "reversescan"):
        rows = measured[f"{operation}.rows"] / measured["operations"]
        assert rows == 10 if operation == "multiread" else 9 < rows <= 10
    beside = measured.get("background.write_rate", 0.0)
    assert (beside > 0) == test.endswith("whilewriting")
    assert beside < 1.5 * (2 << 20)


def test_a_fill_skips_the_log(tmp_path: Path) -> None:
    if ROCKSDB not in BINARIES:
        pytest.skip("kvdyno-rocksdb is not built")
    for name in ("logged", "bare"):
        (tmp_path / name).mkdir()
    logged = {**workload("fillseq"), **TINY, "log": "true"}
    whole = drive(tmp_path / "logged", logged, "-load", binary=ROCKSDB).metrics("build")
    left = drive(tmp_path / "bare", {**workload("fillseq"), **TINY}, "-load", binary=ROCKSDB)
    assert left.status == 0, left.err
    assert left.outcome["engine"]["durability"]["process"] == "lost"
    saved = whole["io.wchar"] - left.metrics("build")["io.wchar"]
    assert saved >= 3000 * 420, "each record is written once less"


def test_an_engine_that_needs_its_log_refuses_the_fill(tmp_path: Path) -> None:
    if LEVELDB not in BINARIES:
        pytest.skip("kvdyno-leveldb is not built")
    left = drive(tmp_path, {**workload("fillseq"), **TINY}, "-load", binary=LEVELDB)
    assert left.status == 1
    assert "expected an engine that can write without its log, got leveldb" in left.err
