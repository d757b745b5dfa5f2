"""Counters of imitated kernels, of kernels that offer none, and of phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kvdyno.runner.kernel import device_below, offered_counters, read_machine, read_pressure
from kvdyno.runner.throttle import read_usage
from kvdyno.runner.watch import Accountant, Progress

PRESSURE = (
    "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
)
FILES = {
    "proc/self/mountinfo": "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
    "proc/stat": "cpu  100 0 100 700 100 0 0 250 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
    "proc/vmstat": "pswpout 9\npswpin 7\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n",
    "proc/pressure/memory": PRESSURE.format(2000000, 1000000),
    "proc/pressure/io": PRESSURE.format(500000, 250000),
    "sys/dev/block/8:1/stat": " 10 1 16 5 20 2 32 6 0 1500 2500 0 0 0 0 0 0\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "2\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "3\n",
    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "4\n",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_all_that_a_kernel_counts_is_read_in_base_units(machine: Path) -> None:
    assert device_below(Path("/data"), root=machine) == "8:1"
    assert read_machine(device="8:1", root=machine) == {
        "steal_seconds": 2.5,
        "disk_reads": 10,
        "disk_read_bytes": 16 * 512,
        "disk_writes": 20,
        "disk_write_bytes": 32 * 512,
        "disk_busy_seconds": 1.5,
        "disk_queue_seconds": 2.5,
        "pressure_cpu_some_seconds": 3.0,
        "pressure_memory_some_seconds": 2.0,
        "pressure_memory_full_seconds": 1.0,
        "pressure_io_some_seconds": 0.5,
        "pressure_io_full_seconds": 0.25,
        "swap_ins": 7,
        "throttlings": 9,
    }
    assert all(offered_counters(Path("/data"), root=machine).values())


def test_what_a_kernel_does_not_offer_is_left_out(machine: Path) -> None:
    for name in FILES:
        if name != "proc/self/mountinfo":
            (machine / name).unlink()
    assert device_below(Path("/data"), root=machine) is None
    assert read_machine(device=None, root=machine) == {}
    assert not any(offered_counters(Path("/data"), root=machine).values())


def test_a_cgroup_has_pressure_and_dirty_pages_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "io.pressure").write_text(PRESSURE.format(4000000, 0))
    (tmp_path / "memory.stat").write_text("anon 1\nfile 2\nfile_dirty 30\nfile_writeback 4\n")
    assert read_pressure(tmp_path, name="{}.pressure", prefix="own") == {
        "own_io_some_seconds": 4.0,
        "own_io_full_seconds": 0.0,
    }
    usage = read_usage(tmp_path, None)
    assert usage["own_pressure_io_some_seconds"] == 4.0
    assert usage["dirty_bytes"] == 34
    (tmp_path / "memory.stat").write_text("dirty 1\ntotal_dirty 0\ntotal_writeback 0\n")
    assert read_usage(tmp_path, None)["dirty_bytes"] == 0, "none is known, which is not the same as unknown"


class CountingCage:
    """A cage whose counters grow by one at each look; memory is a level."""

    def __init__(self) -> None:
        self.looks = 0

    def usage(self) -> dict[str, float]:
        self.looks += 1
        return {"io_write_bytes": self.looks * 100, "dirty_bytes": 5 * self.looks}


def line(phase: str) -> Progress:
    return Progress(phase=phase, elapsed=0, fraction=None, operations=0, rate=0, unit="op/s")


def test_phases_get_differences_from_the_start_on() -> None:
    steal: Iterator[float] = iter([10.0, 11.0, 13.0, 16.0])

    def machine() -> Mapping[str, float]:
        return {"steal_seconds": next(steal)}

    accountant = Accountant(CountingCage(), lambda line: None, machine=machine)  # type: ignore[arg-type]
    for phase in ("warmup", "warmup", "measure"):
        accountant.deliver(line(phase))
    warmup, measure = (account.as_details() for account in accountant.accounts())
    assert warmup["phase"], measure["phase"] == ("warmup", "measure")
    assert (warmup["steal_seconds"], measure["steal_seconds"]) == (3, 3), "since before the driver started"
    assert (warmup["io_write_bytes"], measure["io_write_bytes"]) == (200, 100), "a cage begins at zero"
    assert (warmup["dirty_bytes"], measure["dirty_bytes"]) == (10, 15), "levels are not subtracted"
    assert 0 <= float(str(measure["seconds"])) < 60
