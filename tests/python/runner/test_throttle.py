"""Disks held to a rate, and what cgroups count: against imitated files, then against the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.model.experiment import DeviceLimits
from kvdyno.model.point import Point
from kvdyno.model.schema import validate
from kvdyno.runner import choose_warden
from kvdyno.runner.throttle import Throttle, apply, read_usage, throttle_for

from .conftest import MIB, Execute

LIMITS = DeviceLimits(name="slow", read_bytes_per_second=1000, write_iops=20)
SLOW_WRITES = DeviceLimits(name="slow", write_bytes_per_second=MIB)


def test_rules_speak_every_language() -> None:
    throttle = Throttle(path="/dev/sda", numbers="8:0", limits=LIMITS)
    assert throttle.binds
    assert throttle.v1() == {
        "blkio.throttle.read_bps_device": "8:0 1000",
        "blkio.throttle.write_iops_device": "8:0 20",
    }
    assert throttle.v2() == {"io.max": "8:0 rbps=1000 wiops=20"}
    assert throttle.systemd() == [
        "-p",
        "IOReadBandwidthMax=/dev/sda 1000",
        "-p",
        "IOWriteIOPSMax=/dev/sda 20",
    ]
    assert throttle.docker(v2=True) == {
        "device_read_bps": [{"Path": "/dev/sda", "Rate": 1000}],
        "device_write_iops": [{"Path": "/dev/sda", "Rate": 20}],
    }


def test_without_limits_v1_gets_one_that_never_binds_and_v2_none() -> None:
    throttle = Throttle(path="/dev/sda", numbers="8:0")
    assert not throttle.binds
    assert list(throttle.v1()) == ["blkio.throttle.read_bps_device"]
    assert (throttle.v2(), throttle.systemd(), throttle.docker(v2=True)) == ({}, [], {})
    assert list(throttle.docker(v2=False)) == ["device_read_bps"]


def machine(root: Path, numbers: str = "8:1") -> Path:
    """One with a partition of /dev/sda at /."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(f"1 1 {numbers} / / rw - ext4 /dev/sda1 rw\n")
    partition = root / "sys/devices/sda/sda1"
    partition.mkdir(parents=True)
    (partition.parent / "queue").mkdir()
    (partition.parent / "dev").write_text("8:0\n")
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/8:1").symlink_to(partition)
    return root


def test_the_rule_is_for_the_whole_disk(tmp_path: Path) -> None:
    throttle = throttle_for(Path("/data"), LIMITS, root=machine(tmp_path))
    assert throttle == Throttle(path="/dev/sda", numbers="8:0", limits=LIMITS)


def test_no_disk_is_an_error_only_if_one_is_to_be_slow(tmp_path: Path) -> None:
    root = machine(tmp_path, numbers="0:44")
    assert throttle_for(Path("/data"), None, root=root) is None
    with pytest.raises(HostError, match="no disk to limit"):
        throttle_for(Path("/data"), LIMITS, root=root)


def test_a_rule_that_the_kernel_refuses_is_an_error_only_if_it_is_needed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    apply({"io.max": "8:0 rbps=1"}, gone, needed=False)
    with pytest.raises(HostError, match="the disk cannot be limited"):
        apply({"io.max": "8:0 rbps=1"}, gone, needed=True)


def test_uncapped_runs_cannot_have_a_slow_disk() -> None:
    warden = choose_warden("test", uncapped=True)
    with (
        pytest.raises(HostError, match="cannot be limited"),
        warden.cage(cap_bytes=0, throttle=Throttle(path="/dev/sda", numbers="8:0", limits=LIMITS)),
    ):
        pass


def test_counters_of_both_versions_are_read(tmp_path: Path) -> None:
    (tmp_path / "memory.stat").write_text("total_cache 20\ntotal_rss 10\n")
    counted = "8:0 Read 300\n8:0 Write 40\n8:0 Total 340\n8:16 Read 5\nTotal 345\n"
    (tmp_path / "blkio.throttle.io_service_bytes").write_text(counted)
    expected = {"anonymous_bytes": 10, "page_cache_bytes": 20, "io_read_bytes": 305, "io_write_bytes": 40}
    assert read_usage(tmp_path, tmp_path) == expected
    (tmp_path / "memory.stat").write_text("anon 10\nfile 20\n")
    (tmp_path / "io.stat").write_text("8:0 rbytes=300 wbytes=40 rios=1\n8:16 rbytes=5\n")
    assert read_usage(tmp_path, tmp_path) == expected
    assert read_usage(tmp_path / "gone", tmp_path / "gone") == {}
    assert read_usage(None, None) == {}


@pytest.mark.usefixtures("capped")
def test_a_slow_disk_is_slow_and_is_counted(execute: Execute, point: Point, tmp_path: Path) -> None:
    """The lower bound holds on any machine: what the rule lets through at once is far less."""
    try:
        throttle_for(tmp_path, SLOW_WRITES)
    except HostError as error:
        pytest.skip(str(error))
    record = execute(point, properties={"fake": "write", "fake.bytes": str(4 * MIB)}, device=SLOW_WRITES)
    assert record.status == "ok"
    validate(record.model_dump(mode="json"), schema="record", where="record")
    details = record.runner.details
    assert details["seconds"] > 0.5
    assert details["device_binds"]
    assert record.point.device == SLOW_WRITES
    phases = {each["phase"]: each for each in details["phases"]}
    assert list(phases) == ["load", "drain"]
    written = [each.get("io_write_bytes", each.get("disk_write_bytes")) for each in phases.values()]
    assert sum(written) >= 4 * MIB
    assert phases["drain"]["anonymous_bytes"] > 0
