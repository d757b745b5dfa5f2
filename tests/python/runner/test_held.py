"""Whether rates held, from counters that are made up."""

from __future__ import annotations

from kvdyno.model.experiment import DeviceLimits
from kvdyno.runner.held import RateMeter

LIMITS = DeviceLimits(name="slow", write_bytes_per_second=100, write_iops=10, read_iops=10)


class Disk:
    """Counters and a clock, moved by hand."""

    def __init__(self, **counters: float) -> None:
        self.counters = counters
        self.now = 0.0

    def after(self, seconds: float, **grown: float) -> Disk:
        self.now += seconds
        for name, more in grown.items():
            self.counters[name] += more
        return self

    def meter(self) -> RateMeter:
        return RateMeter(LIMITS, lambda: dict(self.counters), clock=lambda: self.now)


def test_the_fastest_window_counts() -> None:
    disk = Disk(disk_write_bytes=1e6, disk_writes=50)
    meter = disk.meter()
    for grown in (180, 500, 0):
        disk.after(2, disk_write_bytes=grown, disk_writes=10)
        meter.tick()
    assert meter.finish() == {
        "write_bytes_per_second": {"limit": 100, "highest": 250, "held": False},
        "write_iops": {"limit": 10, "highest": 5, "held": True},
    }, "reads are absent: nothing counted them"


def test_a_little_more_than_the_limit_is_a_slice_let_through() -> None:
    disk = Disk(io_write_bytes=0)
    meter = disk.meter()
    disk.after(2, io_write_bytes=219)
    meter.tick()
    assert meter.finish()["write_bytes_per_second"]["held"]


def test_what_is_over_before_a_window_is_full_is_not_judged() -> None:
    disk = Disk(io_write_bytes=0)
    meter = disk.meter()
    disk.after(1.9, io_write_bytes=1000)
    meter.tick()
    assert meter.finish() == {}


def test_a_cgroup_that_has_gone_reports_nothing() -> None:
    disk = Disk(io_write_bytes=0)
    meter = disk.meter()
    disk.counters = {}
    disk.after(3)
    assert meter.finish() == {}
