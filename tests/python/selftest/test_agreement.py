"""Tools are run alike, their answers read, and what goes wrong with them is said."""

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


def test_db_benchs_answer_is_read_and_its_store_emptied(tmp_path: Path, store: Path) -> None:
    tool = _script(
        tmp_path, f'for w; do case $w in --db=*) touch "${{w#--db=}}/000001.log";; esac; done{_DB_BENCH}'
    )
    rates = agreement.db_bench(tool, store=store)
    assert rates.version == "7.8.3"
    assert rates.operations_per_second == {"fill": 216001, "overwrite": 132002, "get": 63003}
    assert list(store.iterdir()) == []


def test_a_step_without_a_rate_is_named(tmp_path: Path, store: Path) -> None:
    tool = _script(tmp_path, _DB_BENCH.replace("overwrite ", "compact "))
    with pytest.raises(EngineError, match="found none of overwrite"):
        agreement.db_bench(tool, store=store)


def test_a_tool_that_fails_or_is_absent_is_named(tmp_path: Path, store: Path) -> None:
    tool = _script(tmp_path, "echo 'open error: no space' >&2; exit 3")
    with pytest.raises(EngineError, match="status 3: open error: no space"):
        agreement.db_bench(tool, store=store)
    with pytest.raises(HostError, match="cannot be run: No such file"):
        agreement.db_bench(tmp_path / "absent", store=store)


def test_upstreams_lines_are_read(tmp_path: Path, store: Path) -> None:
    tool = _script(
        tmp_path, "echo 'Load throughput(ops/sec): 1.5e+05'; echo 'Run throughput(ops/sec): 63000'"
    )
    rates = agreement.upstream_ycsb(tool, engine="rocksdb", store=store)
    assert rates.operations_per_second == {"fill": 150_000, "get": 63_000}


def test_the_driver_runs_the_three_steps(tmp_path: Path, store: Path) -> None:
    binary = Project.find().binaries / "kvdyno-rocksdb"
    output = tmp_path / "output"
    output.mkdir()
    rates = agreement.driver(binary, engine="rocksdb", store=store, output=output, records=500)
    assert set(rates.operations_per_second) == set(agreement.STEPS)
    assert all(rate > 0 for rate in rates.operations_per_second.values())
    assert list(store.iterdir()) == []


def test_gets_are_drawn_anew(tmp_path: Path, store: Path) -> None:
    binary, asked = Project.find().binaries / "kvdyno-rocksdb", tmp_path / "asked"
    output = tmp_path / "output"
    output.mkdir()
    watched = _script(tmp_path, f'echo "$@" >>{asked}\nexec {binary} "$@"')
    agreement.driver(watched, engine="rocksdb", store=store, output=output, records=500)
    puts, gets = asked.read_text().splitlines()
    assert "mix.seed=" not in puts
    assert "mix.seed=2" in gets


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("7.8.3", "7.8.3", True), ("7.8", "7.8.3", True), ("7.8.3", "11.8.1", False), ("", "7.8.3", True)],
)
def test_versions_are_compared_as_far_as_they_are_told(one: str, other: str, same: bool) -> None:
    sides = [agreement.Rates("a", one, {}), agreement.Rates("b", other, {})]
    assert agreement.same_version(*sides) == same
