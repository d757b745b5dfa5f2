"""Imitated disks against the kernel: write-back is held, nothing stays behind, refusals have remedies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.model.experiment import DeviceLimits
from kvdyno.model.point import Point, Run
from kvdyno.model.project import Project
from kvdyno.runner import Runner, choose_warden
from kvdyno.runner import imitation as module
from kvdyno.runner.cage import BINDS_ALONE, wait_until
from kvdyno.runner.hierarchy import controller_mounts
from kvdyno.runner.imitation import Imitation, demand_accounted_write_back, devices_below, release
from kvdyno.runner.throttle import Throttle, held_at_root

from .conftest import MIB, Execute, Sink, can_cap, is_dead
from .test_killed import start_harness

SLOW = DeviceLimits(name="slow", write_bytes_per_second=8 * MIB)


@pytest.fixture
def imitation(tmp_path: Path) -> Imitation:
    """Skips where no disk can be imitated; there, the refusal is what is tested elsewhere."""
    made = Imitation(tmp_path / "imitated")
    try:
        made.demand()
    except HostError as refusal:
        pytest.skip(str(refusal))
    return made


@pytest.fixture
def on_v1(imitation: Imitation) -> None:
    """Skips where a cgroup's own limits hold write-back."""
    if not can_cap() or choose_warden("trial").binds_write_back:
        pytest.skip("limits bind write-back here without an imitated disk")


def rules_left() -> list[str]:
    """The rules of `SLOW` at the root; tests of other files, which run beside these, use other rates."""
    groups, _ = controller_mounts("blkio")
    assert groups
    rules = (groups / "blkio.throttle.write_bps_device").read_text().splitlines()
    return [rule for rule in rules if rule.endswith(f" {SLOW.write_bytes_per_second}")]


def test_a_disk_holds_files_and_leaves_nothing(imitation: Imitation, tmp_path: Path) -> None:
    with imitation.disk(size=100 * MIB) as store:
        (store / "file").write_bytes(bytes(MIB))
        assert store.is_mount() is False
        assert store.parent.is_mount()
        assert len(devices_below(tmp_path)) == 1
    assert not devices_below(tmp_path)
    assert not (tmp_path / "imitated").exists()
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.usefixtures("on_v1")
def test_a_run_that_never_syncs_is_held_all_the_same(
    execute: Execute, loaded_point: Point, tmp_path: Path
) -> None:
    """The store outgrows the cap several times, so that most of it must be written back in the run."""
    properties = {"fake": "cache", "fake.bytes": str(24 * MIB)}
    record = execute(loaded_point, properties=properties, device=SLOW, cap_bytes=64 * MIB)
    assert record.status == "ok", record.failure
    details = record.runner.details
    assert details["device_binds"] == BINDS_ALONE
    assert details["device_held"]["write_bytes_per_second"]["held"]
    assert details["device_held"]["write_bytes_per_second"]["limit"] == 8 * MIB
    assert details["seconds"] > 0.9 * 24 / 8
    assert details["snapshot"]["copied_bytes"] == details["snapshot"]["bytes"], "no links across disks"
    assert not devices_below(tmp_path)
    assert not rules_left()


@pytest.mark.usefixtures("on_v1")
def test_limits_of_reads_alone_need_no_disk_of_their_own(execute: Execute, point: Point) -> None:
    record = execute(point, device=DeviceLimits(name="slow", read_bytes_per_second=MIB))
    assert record.runner.details["device_binds"] != BINDS_ALONE


@pytest.mark.usefixtures("on_v1")
def test_kill_9_leaves_a_disk_that_the_next_sweep_takes_away(
    project: Project, sink: Sink, point: Point, tmp_path: Path
) -> None:
    pid_file = tmp_path / "driver.pid"
    hanging = replace(point, properties={"fake": "hang", "fake.pid": str(pid_file)}, device=SLOW)
    with start_harness(tmp_path, (project, Run(hanging, 1), False, ["local"])) as harness:
        wait_until(pid_file.exists, seconds=60, failure="the driver does not start")
        harness.kill()
        assert harness.stdout
        harness.stdout.close()
    driver = int(pid_file.read_text())
    wait_until(lambda: is_dead(driver), seconds=20, failure="the driver outlives its harness")
    assert devices_below(tmp_path)
    assert rules_left()
    with Runner(project, sweep_id="next", loads=sink):
        assert not devices_below(tmp_path)
        assert not rules_left()
        assert not list((project.data / "work").glob("*/*"))


def test_write_back_that_escapes_is_refused(
    imitation: Imitation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_write_back", lambda path, numbers: (0.01, 8 * MIB))
    with pytest.raises(HostError, match=r"wrote 8 MiB back in 0\.01 s") as refusal:
        Imitation(tmp_path / "other").demand()
    assert "--exclude device=<name>" in str(refusal.value)
    assert not devices_below(tmp_path)


@pytest.mark.parametrize("missing", ["mkfs.ext4", "losetup", "mount"])
def test_a_missing_tool_is_refused_with_a_remedy(
    imitation: Imitation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    real = module._run

    def run(*command: str) -> str:
        return real("/no/such/tool") if command[0] == missing else real(*command)

    monkeypatch.setattr(module, "_run", run)
    with pytest.raises(HostError, match="no disk can be imitated"):
        Imitation(tmp_path / "other").demand()
    monkeypatch.undo()
    release(tmp_path)
    assert not devices_below(tmp_path)


def test_without_a_controller_nothing_is_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "controller_mounts", lambda controller: (None, None))
    with pytest.raises(HostError, match="no blkio controller"):
        Imitation(tmp_path / "imitated").demand()
    assert not (tmp_path / "imitated").exists()


@pytest.mark.usefixtures("capped")
def test_devices_are_refused_before_anything_is_loaded(
    project: Project, sink: Sink, loaded_point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise HostError("cannot be held")

    monkeypatch.setattr(Imitation, "demand", refuse)
    monkeypatch.setattr("kvdyno.runner.runner.demand_accounted_write_back", refuse)
    run = Run(replace(loaded_point, device=SLOW), 1)
    with (
        Runner(project, sweep_id="test", loads=sink) as runner,
        pytest.raises(HostError, match="cannot be held"),
    ):
        runner.prepare([(1, run)], progress=lambda line: None)
    assert not sink.records


def test_uncapped_sweeps_refuse_devices_at_once(project: Project, sink: Sink, point: Point) -> None:
    with (
        Runner(project, sweep_id="test", loads=sink, uncapped=True) as runner,
        pytest.raises(HostError, match="nothing is confined"),
    ):
        runner.prepare([(1, Run(replace(point, device=SLOW), 1))], progress=lambda line: None)


@pytest.mark.parametrize(("kind", "refused"), [("ext4", False), ("fuseblk", True)])
def test_v2_needs_a_file_system_that_accounts_write_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, refused: bool
) -> None:
    monkeypatch.setattr(module, "mount_of", lambda folder: type("Mount", (), {"type": kind}))
    if refused:
        with pytest.raises(HostError, match="does not say whose pages"):
            demand_accounted_write_back(tmp_path)
    else:
        demand_accounted_write_back(tmp_path)


def test_rules_at_the_root_replace_older_ones_and_go(tmp_path: Path) -> None:
    throttle = Throttle("/dev/loop0", "7:0", limits=DeviceLimits(write_iops=20), alone=True)
    written = tmp_path / "blkio.throttle.write_iops_device"
    with held_at_root(throttle, tmp_path):
        assert written.read_text() == "7:0 20"
        assert (tmp_path / "blkio.throttle.read_bps_device").read_text() == "7:0 0"
    assert written.read_text() == "7:0 0"
    with (
        pytest.raises(HostError, match="cannot be limited"),
        held_at_root(throttle, tmp_path / "gone"),
    ):
        pytest.fail("it began")


def test_a_device_that_another_detaches_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "store"
    for name, file in {"loop0": tmp_path / "other", "loop1": below / "disk"}.items():
        (tmp_path / "sys/block" / name / "loop").mkdir(parents=True)
        (tmp_path / "sys/block" / name / "loop/backing_file").write_text(f"{file}\n")
    read = Path.read_text

    def detaching(path: Path) -> str:
        if "loop0" in path.parts:
            path.unlink()
        return read(path)

    monkeypatch.setattr(Path, "read_text", detaching)
    assert [device.name for device in devices_below(below, root=tmp_path)] == ["loop1"]
