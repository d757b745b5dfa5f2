"""What a self-test measures of disk and memory, and what it does where the disk refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kvdyno.runner import take_host_gauges
from kvdyno.runner.gauges import Effort
from kvdyno.runner.host_gauges import memory_copy

from .conftest import MIB

SMALL = Effort(reads=64, read_seconds=0.1, file_bytes=4 * MIB, write_seconds=0.1)
DISK = {
    *("disk.read_4k_p50_us", "disk.read_4k_p99_us", "disk.write_mib_per_second"),
    *("disk.read_4k_depth16_per_second", "disk.read_mib_per_second"),
    *("disk.fsync_p50_us", "disk.fsync_p99_us"),
}


@pytest.mark.usefixtures("direct")
def test_disk_and_memory_are_measured_and_nothing_stays(tmp_path: Path) -> None:
    values, flaws = take_host_gauges(tmp_path / "not" / "there", effort=SMALL)
    assert flaws == []
    assert set(values) == DISK | {"cpu.loop_ms", "memory.copy_mib_per_second"}
    assert all(value is not None and value > 0 for value in values.values())
    assert values["disk.read_4k_p50_us"] <= values["disk.read_4k_p99_us"]
    assert values["disk.fsync_p50_us"] <= values["disk.fsync_p99_us"]
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSPC])
def test_a_disk_that_refuses_leaves_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    real = os.open

    def refuse(path: Path, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(code, os.strerror(code), str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    values, flaws = take_host_gauges(tmp_path, effort=SMALL)
    assert {name for name, value in values.items() if value is None} == DISK
    assert values["memory.copy_mib_per_second"]
    assert len(flaws) == 5
    assert all(os.strerror(code) in flaw for flaw in flaws)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.usefixtures("direct")
def test_reads_that_fail_half_way_are_a_flaw_of_theirs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.preadv

    def fail(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        if len(buffers[0]) == MIB:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", fail)
    values, (flaw,) = take_host_gauges(tmp_path, effort=SMALL)
    assert "sequential reads cannot be measured: Input/output error" in flaw
    assert {name for name, value in values.items() if value is None} == {"disk.read_mib_per_second"}


def test_copies_count_bytes_read_and_written_of_the_fastest() -> None:
    moments = iter([0.0, 4.0, 10.0, 12.0, 20.0, 23.0, 30.0, 33.0, 40.0, 45.0])
    assert memory_copy(size=MIB, clock=lambda: next(moments)) == 1.0
