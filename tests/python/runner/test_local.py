"""The local runner from end to end, with a fake driver: every way a run can end is a record."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.groups import groups_like

from kvdyno.errors import HostError, Interrupted
from kvdyno.model.point import Point, Run
from kvdyno.model.project import Project
from kvdyno.model.schema import validate
from kvdyno.runner import Progress, Runner, choose_warden, remove_leftovers
from kvdyno.runner import draft as draft_module
from kvdyno.runner import snapshots as snapshots_module

from .conftest import MIB, Execute, Sink, dead_name, is_dead


def cgroups_of_ours() -> list[str]:
    """The warden's own, and systemd's scopes, wherever they are mounted."""
    return [path.name for path in groups_like(f"kvdyno-*-{os.getpid()}-*")]


def test_a_good_run_is_a_valid_record(execute: Execute, point: Point, project: Project) -> None:
    record = execute(point)
    assert record.status == "ok"
    assert record.failure is None
    assert record.phase("measure") is not None
    assert record.files == {"log": "driver.log", "properties": "point.properties", "outcome": "outcome.json"}
    assert record.run_id == "run-0"
    assert record.environment.facts["disk.file_system"]
    validate(record.model_dump(mode="json"), schema="record", where="record")
    assert not list((project.data / "work").glob("*/store")), "the store is removed"
    assert not cgroups_of_ours()


@pytest.mark.parametrize(
    ("fake", "status", "said"),
    [
        ("crash", "crash", "SIGSEGV"),
        ("wrong data", "wrong_data", "expected stamp 1, found 2"),
        ("unsupported", "unsupported", "hash tables have no order"),
        ("full", "disk_full", "No space left on device"),
        ("half an outcome", "failed", "outcome"),
        ("strange outcome", "failed", "required property"),
        ("no outcome", "failed", "it left no outcome.json"),
    ],
)
def test_bad_endings_are_failures_with_reasons(
    execute: Execute, point: Point, fake: str, status: str, said: str
) -> None:
    record = execute(point, properties={"fake": fake})
    assert record.status == status
    assert record.failure is not None
    assert said in record.failure.reason
    validate(record.model_dump(mode="json"), schema="record", where="record")


def test_a_crash_keeps_the_end_of_the_log(execute: Execute, point: Point) -> None:
    record = execute(point, properties={"fake": "crash"})
    assert record.failure is not None
    assert record.failure.signal == "SIGSEGV"
    assert "about to crash" in record.failure.log_tail


def test_the_shells_environment_stays_outside(
    execute: Execute, point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    record = execute(point, properties={"fake": "print the environment"})
    assert record.failure is not None
    environment = json.loads(record.failure.log_tail)
    assert "MALLOC_ARENA_MAX" not in environment
    assert environment["XDG_RUNTIME_DIR"] == "/run/user/1", "systemd-run --user needs it"


def test_a_binary_that_does_not_start_is_a_failure(execute: Execute, point: Point, tmp_path: Path) -> None:
    gone = replace(point.engine, binary=tmp_path / "gone")
    record = execute(point, engine=gone)
    assert record.status == "failed"
    assert record.failure is not None
    assert "could not be started" in record.failure.reason


def test_a_hanging_driver_times_out(execute: Execute, point: Point) -> None:
    record = execute(point, properties={"fake": "hang"}, timeout_seconds=0.5)
    assert record.status == "timeout"
    assert record.failure is not None
    assert "0.5 s" in record.failure.reason


@pytest.mark.usefixtures("capped")
def test_a_child_in_a_session_of_its_own_does_not_survive(
    execute: Execute, point: Point, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    record = execute(point, properties={"fake": "leave a child", "fake.pid": str(pid_file)})
    assert record.status == "ok"
    assert is_dead(int(pid_file.read_text()))


@pytest.mark.usefixtures("capped")
class TestCaps:
    def test_eating_more_than_the_cap_is_out_of_memory(self, execute: Execute, point: Point) -> None:
        record = execute(point, properties={"fake": "eat", "fake.bytes": str(128 * MIB)})
        assert record.status == "out_of_memory"
        assert record.failure is not None
        assert "cap of 64 MiB" in record.failure.reason
        assert not cgroups_of_ours()

    def test_a_killed_child_counts_though_the_driver_ends_well(self, execute: Execute, point: Point) -> None:
        record = execute(point, properties={"fake": "eat in a child", "fake.bytes": str(128 * MIB)})
        assert record.outcome is not None
        assert record.outcome.status == "ok"
        assert record.status == "out_of_memory"

    def test_page_cache_that_fills_the_cap_is_no_failure(self, execute: Execute, point: Point) -> None:
        record = execute(point, properties={"fake": "cache", "fake.bytes": str(128 * MIB)})
        assert record.status == "ok"
        peak = record.runner.details["peak_bytes"]
        assert 60 * MIB < peak <= 64 * MIB, "page cache is charged inside, and the cap binds"

    def test_less_than_the_cap_fits(self, execute: Execute, point: Point) -> None:
        record = execute(point, properties={"fake": "eat", "fake.bytes": str(32 * MIB)})
        assert record.status == "ok"
        assert record.runner.details["peak_bytes"] > 32 * MIB

    def test_a_cap_too_small_for_the_driver_is_reported(self, execute: Execute, point: Point) -> None:
        record = execute(point, cap_bytes=MIB)
        assert record.status == "out_of_memory"
        assert record.failure is not None
        assert "too small for the driver itself" in record.failure.reason


def test_uncapped_runs_say_so(project: Project, sink: Sink, point: Point, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    with Runner(project, sweep_id="test", loads=sink, uncapped=True) as runner:
        record = runner.execute(Run(point, 1), run_dir=run_dir, order=0, progress=lambda line: None)
    assert record.status == "ok"
    assert not record.runner.capped
    assert any("without a memory cap" in warning for warning in record.warnings)


def test_progress_is_passed_on_and_babble_passed_over(runner: Runner, point: Point, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    seen: list[Progress] = []
    babbling = replace(point, properties={"fake": "babble"})
    record = runner.execute(Run(babbling, 1), run_dir=run_dir, order=0, progress=seen.append)
    assert record.status == "ok"
    assert [line.phase for line in seen] == ["load"]


def test_ctrl_c_ends_the_driver_and_cleans_up(
    runner: Runner, project: Project, point: Point, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()

    def interrupt(line: Progress) -> None:
        raise KeyboardInterrupt

    hanging = replace(point, properties={"fake": "hang on"})
    with pytest.raises(Interrupted):
        runner.execute(Run(hanging, 1), run_dir=run_dir, order=0, progress=interrupt)
    assert not list((project.data / "work").glob("*/store"))
    assert not cgroups_of_ours()


def test_lack_of_space_is_a_result_with_numbers(
    execute: Execute, point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_module, "free_bytes", lambda folder: 10 * MIB)
    record = execute(point, expected_disk_bytes=100 * MIB)
    assert record.status == "disk_full"
    assert record.failure is not None
    assert "found 10 MiB" in record.failure.reason
    assert "remedy" in record.failure.reason


def test_a_disk_that_fills_while_copying_is_a_result(
    execute: Execute, loaded_point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path, *, counted: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(snapshots_module, "copy_data", full)
    record = execute(loaded_point)
    assert record.status == "disk_full"
    assert record.failure is not None
    assert "No space left on device" in record.failure.reason


def test_data_in_memory_is_refused(project: Project, sink: Sink) -> None:
    in_memory = replace(project, data=Path("/dev/shm/kvdyno-test"))
    try:
        with (
            pytest.raises(HostError, match="KVDYNO_DATA"),
            Runner(in_memory, sweep_id="test", loads=sink, uncapped=True),
        ):
            pass
    finally:
        in_memory.data.rmdir()


def test_a_cpu_that_is_not_there_is_refused(project: Project, sink: Sink) -> None:
    with (
        pytest.raises(HostError, match="CPU 4096"),
        Runner(project, sweep_id="test", loads=sink, uncapped=True, cpus=(4096,)),
    ):
        pass


class TestSnapshots:
    def test_the_load_runs_once_and_has_a_record(
        self, execute: Execute, loaded_point: Point, sink: Sink, project: Project
    ) -> None:
        first, second = execute(loaded_point), execute(loaded_point)
        assert [first.status, second.status] == ["ok", "ok"]
        [load] = sink.records
        assert load.point.slug == "fake.5KB.load"
        assert load.point.identity == "d" * 64
        assert load.point.phases == ("load", "settle")
        snapshot = project.data / "snapshots" / ("d" * 64) / "store"
        assert (snapshot / "sub" / "journal").read_bytes() == b"journal\n", "runs change copies only"
        assert second.runner.details["snapshot"]["copied_bytes"] == len(b"journal\n")

    def test_a_run_that_changes_a_linked_file_condemns_the_snapshot(
        self, execute: Execute, loaded_point: Point, sink: Sink
    ) -> None:
        record = execute(loaded_point, properties={"fake": "change a linked file"})
        assert any("changed a file of its snapshot" in warning for warning in record.warnings)
        execute(loaded_point)
        assert len(sink.records) == 2, "the next run loads again"

    def test_a_failed_load_fails_its_points_and_is_not_tried_again(
        self, execute: Execute, loaded_point: Point, sink: Sink
    ) -> None:
        assert loaded_point.dataset
        failing = replace(loaded_point.dataset, properties={"fake.load": "crash"})
        records = [execute(loaded_point, dataset=failing) for _ in range(2)]
        assert [r.status for r in records] == ["crash", "crash"]
        assert [r.status for r in sink.records] == ["crash"]
        assert records[0].failure is not None
        assert "dataset could not be loaded" in records[0].failure.reason

    def test_a_load_that_failed_for_the_hosts_sake_has_a_second_chance(
        self, execute: Execute, loaded_point: Point, sink: Sink
    ) -> None:
        assert loaded_point.dataset
        failing = replace(loaded_point.dataset, properties={"fake.load": "leave a link"})
        records = [execute(loaded_point, dataset=failing) for _ in range(3)]
        assert [r.status for r in records] == ["failed"] * 3
        assert [r.status for r in sink.records] == ["failed"] * 2, "a second, and no third"

    def test_force_makes_it_again(
        self, runner: Runner, execute: Execute, loaded_point: Point, sink: Sink, tmp_path: Path
    ) -> None:
        execute(loaded_point)
        for count in range(2):
            run_dir = tmp_path / f"forced-{count}"
            run_dir.mkdir()
            runner.execute(
                Run(loaded_point, 1),
                run_dir=run_dir,
                order=0,
                progress=lambda line: None,
                force_snapshot=True,
            )
        assert len(sink.records) == 2, "once more, not once each"

    def test_a_store_with_links_is_refused(
        self, execute: Execute, loaded_point: Point, sink: Sink, project: Project
    ) -> None:
        assert loaded_point.dataset
        linking = replace(loaded_point.dataset, properties={"fake.load": "leave a link"})
        record = execute(loaded_point, dataset=linking)
        assert [r.status for r in sink.records] == ["failed"]
        assert record.failure is not None
        assert "CURRENT: expected files and folders only" in record.failure.reason
        assert not list((project.data / "snapshots").glob("*"))

    def test_all_are_made_before_the_first_run(
        self, runner: Runner, execute: Execute, loaded_point: Point, point: Point, sink: Sink
    ) -> None:
        assert loaded_point.dataset
        failing = replace(loaded_point.dataset, identity="e" * 64, properties={"fake.load": "crash"})
        runs = [
            Run(point, 1),
            Run(loaded_point, 1),
            Run(replace(loaded_point, dataset=failing), 1),
            Run(loaded_point, 2),
        ]
        runner.prepare(list(enumerate(runs, 1)), progress=lambda line: None)
        assert [(r.point.identity[0], r.status, r.order) for r in sink.records] == [
            ("d", "ok", 2),
            ("e", "crash", 3),
        ]
        assert execute(loaded_point).status == "ok"
        assert execute(loaded_point, dataset=failing).status == "crash"
        assert len(sink.records) == 2, "nothing is loaded again"

    def test_those_that_nothing_needs_are_removed(
        self, runner: Runner, execute: Execute, loaded_point: Point, project: Project, sink: Sink
    ) -> None:
        assert loaded_point.dataset
        execute(loaded_point)
        runner.remove_snapshots([loaded_point.dataset.identity, "e" * 64])
        assert not list((project.data / "snapshots").glob("*"))
        assert execute(loaded_point).status == "ok"
        assert len(sink.records) == 2, "it was loaded again"

    def test_a_full_disk_while_preparing_is_left_to_the_runs(
        self,
        runner: Runner,
        execute: Execute,
        loaded_point: Point,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def full(folder: Path) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder))

        monkeypatch.setattr(snapshots_module, "evict", full)
        runner.prepare([(1, Run(loaded_point, 1))], progress=lambda line: None)
        assert execute(loaded_point).status == "disk_full"


def test_a_data_folder_that_cannot_be_made_is_refused(project: Project, sink: Sink, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    blocked = replace(project, data=tmp_path / "file/data")
    with pytest.raises(HostError, match="cannot make the data folder") as raised:
        Runner(blocked, sweep_id="test", loads=sink, uncapped=True).__enter__()
    assert (raised.value.where, "KVDYNO_DATA" in str(raised.value.remedy)) == (str(blocked.data), True)


def test_tidying_needs_no_real_disk(project: Project) -> None:
    in_memory = replace(project, data=Path("/dev/shm/kvdyno-test-clean"))
    kept = in_memory.data / "snapshots" / ("d" * 64)
    try:
        kept.mkdir(parents=True)
        (kept / "manifest.json").touch()
        (in_memory.data / "work" / dead_name()).mkdir(parents=True)
        warden = choose_warden("test", uncapped=True)
        assert remove_leftovers(in_memory, wardens=[warden]) == (dead_name(),)
        assert remove_leftovers(in_memory, wardens=[warden], snapshots=True) == ("d" * 64,)
        assert not kept.exists()
    finally:
        shutil.rmtree(in_memory.data)
