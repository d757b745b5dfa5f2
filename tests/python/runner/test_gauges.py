"""Gauges: what is measured, what may not be, and that a run finds the page cache as it was."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.model.point import Point
from kvdyno.model.project import Project
from kvdyno.model.schema import validate
from kvdyno.runner import gauges as module
from kvdyno.runner import take_gauges
from kvdyno.runner.gauges import BRIEF, Gauges, cpu_loop

from .conftest import MIB, Execute

DISK = {"disk.read_4k_p50_us", "disk.read_4k_p99_us", "disk.write_mib_per_second"}
STORE = {"store.read_4k_p50_us", "store.read_4k_p99_us"}


SMALL = replace(BRIEF, file_bytes=2 * MIB)


@pytest.mark.usefixtures("direct")
def test_disk_store_and_cpu_are_measured(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "deep").mkdir(parents=True)
    (store / "deep" / "table").write_bytes(bytes(MIB))
    (store / "tiny").write_bytes(b"less than a block")
    gauges = Gauges(tmp_path / "gauges", effort=SMALL)
    values, flaws = gauges.take(store)
    assert flaws == []
    assert set(values) == {"cpu.loop_ms"} | DISK | STORE
    assert all(value is not None and value > 0 for value in values.values())
    assert [path.name for path in (tmp_path / "gauges").iterdir()] == ["read"], "what was written is removed"
    gauges.remove()
    assert not (tmp_path / "gauges").exists()


@pytest.mark.usefixtures("direct")
def test_the_file_that_is_read_is_made_once(tmp_path: Path) -> None:
    gauges = Gauges(tmp_path, effort=SMALL)
    gauges.take()
    before = (tmp_path / "read").stat()
    values, _ = gauges.take(tmp_path / "empty")
    assert (tmp_path / "read").stat().st_mtime_ns == before.st_mtime_ns
    assert not STORE & set(values), "a store without files has none"


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSPC, errno.EACCES])
def test_what_may_not_be_measured_is_none_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "table").write_bytes(bytes(MIB))
    real = os.open

    def refuse(path: Path, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(code, os.strerror(code), str(path))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    values, flaws = Gauges(tmp_path / "gauges", effort=SMALL).take(store)
    assert values["cpu.loop_ms"]
    assert {name for name, value in values.items() if value is None} == DISK | STORE
    assert len(flaws) == 3
    assert all(os.strerror(code) in flaw for flaw in flaws)


@pytest.mark.usefixtures("direct")
def test_a_disk_that_fills_keeps_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(descriptor: int, size: int, *, until: float) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "_write_all", fill)
    values, flaws = Gauges(tmp_path / "gauges", effort=SMALL).take()
    assert (values["disk.read_4k_p50_us"], values["disk.write_mib_per_second"]) == (None, None)
    assert len(flaws) == 2
    assert list((tmp_path / "gauges").iterdir()) == []


def test_the_best_of_three_counts() -> None:
    moments = iter([0.0, 3.0, 10.0, 11.0, 20.0, 25.0])
    assert cpu_loop(lambda: next(moments)) == 1.0


@pytest.mark.usefixtures("direct")
def test_slow_disks_are_not_read_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    monkeypatch.setattr(module, "_timed_read", lambda path, offset: reads.append(offset) or 0.01)
    values, _ = Gauges(tmp_path, effort=replace(SMALL, read_seconds=-1)).take()
    assert len(reads) == 1
    assert values["disk.read_4k_p50_us"] == 10_000


def test_a_doctor_leaves_nothing(tmp_path: Path) -> None:
    values, _ = take_gauges(tmp_path / "not" / "there")
    assert "cpu.loop_ms" in values
    assert list(tmp_path.iterdir()) == []


def test_records_have_gauges_and_their_flaws(
    execute: Execute, loaded_point: Point, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Gauges, what: str, files: object) -> object:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(Gauges, "_reads", refuse)
    record = execute(loaded_point)
    assert record.status == "ok"
    assert record.gauges["cpu.loop_ms"]
    assert record.gauges["disk.read_4k_p50_us"] is None
    assert any("4 KiB reads cannot be measured: Invalid argument" in text for text in record.warnings)
    validate(record.model_dump(mode="json"), schema="record", where="record")


def test_a_store_is_read_where_it_holds_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read in a hole reaches no disk, and would look fast."""
    store = tmp_path / "store"
    store.mkdir()
    with (store / "map").open("wb") as stream:
        stream.seek(1 << 35)
        stream.write(b"x" * (64 << 10))
        stream.truncate(1 << 40)
    (store / "empty").touch()
    os.truncate(store / "empty", 1 << 40)
    read: list[tuple[str, int]] = []

    def timed(path: Path, *, offset: int) -> float:
        read.append((path.name, offset - (1 << 35)))
        return 0.001

    monkeypatch.setattr(module, "_timed_read", timed)
    gauges = Gauges(tmp_path / "own", effort=SMALL)
    gauges.take(store)
    gauges.remove()
    of_the_store = [(name, place) for name, place in read if name in ("map", "empty")]
    assert of_the_store
    assert {name for name, _ in of_the_store} == {"map"}
    assert all(0 <= place < 64 << 10 for _, place in of_the_store)
