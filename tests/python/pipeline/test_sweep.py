"""The pipeline as code calls it: what a sweep measures, reports and stores. The engine is a fake."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kvdyno import pipeline
from kvdyno.errors import BusyError, EngineError, HostError, Interrupted, StoreError, UsageError
from kvdyno.model.point import Plan, Run
from kvdyno.model.project import Project
from kvdyno.model.record import LASTING_FACTS, Record
from kvdyno.pipeline import locking
from kvdyno.pipeline.locking import sweep_lock
from kvdyno.runner import Progress

EXPERIMENT = """\
title: A test
engines: [fakedb]
grid:
  workload: [a, c]
  dataset: [256MiB]
cap: 2GiB
repetitions: 2
"""

UNCAPPED = pipeline.SweepSettings(uncapped=True)
#: The module; the package gives its name to the function.
SWEEP = sys.modules["kvdyno.pipeline.sweep"]


@dataclass
class Diary:
    """An observer that writes everything down, and may be made to stop the sweep."""

    stop_after: int = 99
    said: list[str] = field(default_factory=list)
    total: int = -1

    def waiting(self, holder: str) -> None:
        self.said.append(f"waiting: {holder}")

    def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
        self.total = total
        self.confined = confined

    def load_started(self, run: Run) -> None:
        self.said.append(f"load {run.point.slug}")

    def run_started(self, run: Run, *, number: int) -> None:
        self.said.append(f"{number} {run.name}")

    def progress(self, progress: Progress) -> None:
        self.said.append(progress.phase)

    def run_ended(self, record: Record) -> None:
        self.said.append(f"{record.point.slug}: {record.status}")
        if sum(line.endswith("ok") for line in self.said) > self.stop_after:
            raise KeyboardInterrupt


@pytest.fixture
def whole(project: Project) -> Plan:
    return pipeline.make_plan(project, pipeline.Request(experiment="test"))[1]


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_sweep_reports_loads_and_runs_in_order(project: Project, whole: Plan) -> None:
    diary = Diary()
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=diary)
    assert (diary.total, result.measured, result.reused) == (4, 4, 0)
    assert diary.confined.startswith("none: ")
    first = whole.runs[0]
    loads = {run.point.dataset.slug for run in whole.runs if run.point.dataset}
    assert {line for line in diary.said if ".load" in line} == {
        said for slug in loads for said in (f"load {slug}.load", f"{slug}.load: ok")
    }
    begin = diary.said.index(f"1 {first.name}")
    assert begin == 3 * len(loads), "every load comes before the first run"
    assert diary.said[begin : begin + 3] == [f"1 {first.name}", "measure", f"{first.point.slug}: ok"]
    numbered = [line for line in diary.said if line[0].isdigit()]
    assert numbered == [f"{number} {run.name}" for number, run in enumerate(whole.runs, 1)]
    assert [record.point.slug for record in result.records] == [run.point.slug for run in whole.runs]
    assert [record.order for record in result.records] == [1, 2, 3, 4]
    assert len({record.sweep_id for record in result.records}) == 1


def test_a_stop_between_runs_keeps_what_is_finished(project: Project, whole: Plan) -> None:
    with pytest.raises(Interrupted) as stopped:
        pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary(stop_after=2))
    assert stopped.value.remedy == "run the same command again: it goes on where it stopped"
    assert len(pipeline.stored(project, whole, uncapped=True)) == 2
    assert not list((project.data / "work").glob("*"))
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert (result.measured, result.reused) == (2, 2)
    assert [record.order for record in result.records] == [1, 2, 3, 4], "orders are the plan's"


def test_a_stop_under_force_does_not_promise_to_go_on(project: Project, whole: Plan) -> None:
    force = pipeline.SweepSettings(uncapped=True, force=True)
    with pytest.raises(Interrupted) as stopped:
        pipeline.sweep(project, whole, how=force, observer=Diary(stop_after=2))
    assert "without --force" in str(stopped.value.remedy)


def test_force_measures_again_and_keeps_the_old(project: Project, whole: Plan) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    before = pipeline.stored(project, whole, uncapped=True)
    force = pipeline.SweepSettings(uncapped=True, force=True)
    result = pipeline.sweep(project, whole, how=force, observer=Diary())
    assert (result.measured, result.reused) == (4, 0)
    after = pipeline.stored(project, whole, uncapped=True)
    assert {r.run_id for r in before.values()}.isdisjoint({r.run_id for r in after.values()})
    assert len(list(project.runs.glob("*/*/record.json"))) == 8 + 2


def test_what_is_stored_belongs_to_this_host_this_plan_and_this_cap(project: Project, whole: Plan) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert pipeline.stored(project, whole, uncapped=False) == {}
    names = {run.name for run in whole.runs}
    assert pipeline.stored(project, whole, uncapped=True).keys() == names
    (path, _) = sorted(project.runs.glob("fakedb.a.*/*/record.json"))
    # Hosts that shared a sweep belong together.
    edit(path, environment={"host_id": "another", "facts": {}})
    assert pipeline.stored(project, whole, uncapped=True).keys() == names
    edit(path, sweep_id="20200101T000000-00000000")
    missing = names - pipeline.stored(project, whole, uncapped=True).keys()
    assert len(missing) == 1
    assert next(iter(missing)).startswith("fakedb.a.")


@pytest.mark.parametrize(
    ("status", "replaces"),
    [("crash", True), ("timeout", True), ("failed", False), ("disk_full", False), ("interrupted", False)],
)
def test_of_two_records_the_later_conclusive_one_counts(
    project: Project, whole: Plan, status: str, replaces: bool
) -> None:
    part = pipeline.make_plan(project, pipeline.Request("test", only=("workload=a",), repeat=1))[1]
    pipeline.sweep(project, part, how=UNCAPPED, observer=Diary())
    force = pipeline.SweepSettings(uncapped=True, force=True)
    pipeline.sweep(project, part, how=force, observer=Diary())
    latest = max(project.runs.glob("fakedb.a.*/*/record.json"), key=lambda path: path.stat().st_mtime_ns)
    edit(latest, status=status, failure={"reason": "", "exit_status": 1, "signal": None, "log_tail": ""})
    (record,) = pipeline.stored(project, part, uncapped=True).values()
    assert (record.status == status) == replaces
    assert len(pipeline.reusable(project, part, how=UNCAPPED)) == 1


def test_a_renamed_engine_is_not_measured_again(project: Project, whole: Plan) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    file = project.experiments / "test.yaml"
    file.write_text(file.read_text().replace("[fakedb]", "[{engine: fakedb, label: new}]"))
    renamed = pipeline.make_plan(project, pipeline.Request("test"))[1]
    result = pipeline.sweep(project, renamed, how=UNCAPPED, observer=Diary())
    assert (result.measured, result.reused) == (0, 4)
    assert {record.point.label for record in result.records} == {"new"}
    found = pipeline.analyse(project, renamed, records=result.records)
    assert set(found.estimates["label"]) == {"new"}


@pytest.mark.parametrize("fact", LASTING_FACTS)
def test_other_conditions_are_measured_again(project: Project, whole: Plan, fact: str) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    for path in project.runs.glob("fakedb.a.*/*/record.json"):
        environment = json.loads(path.read_text())["environment"]
        environment["facts"][fact] = "another"
        edit(path, environment=environment)
    assert len(pipeline.reusable(project, whole, how=UNCAPPED)) == 2
    assert len(pipeline.stored(project, whole, uncapped=True)) == 4


def test_other_cpus_are_measured_again(project: Project, whole: Plan) -> None:
    first = min(os.sched_getaffinity(0))
    pinned = replace(UNCAPPED, cpus=(first,))
    pipeline.sweep(project, whole, how=pinned, observer=Diary())
    assert len(pipeline.reusable(project, whole, how=pinned)) == 4
    assert pipeline.reusable(project, whole, how=replace(UNCAPPED, cpus=(first + 1,))) == {}


def test_a_cache_policy_of_the_request_replaces_the_experiments(project: Project, whole: Plan) -> None:
    asked = pipeline.make_plan(project, pipeline.Request(experiment="test", cache="cold"))[1]
    assert {point.cache for point in asked.points} == {"cold"}
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert pipeline.reusable(project, asked, how=UNCAPPED) == {}
    assert len(pipeline.reusable(project, whole, how=UNCAPPED)) == 4


def test_what_cannot_be_is_refused_before_other_sweeps_matter(
    project: Project, whole: Plan, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    cases = (
        (replace(project, results=file / "below"), UNCAPPED, file / "below" / "runs"),
        (replace(project, results=tmp_path / "with-a-file"), UNCAPPED, tmp_path / "with-a-file" / "reports"),
        (replace(project, data=file / "data"), UNCAPPED, file / "data"),
        (project, replace(UNCAPPED, cpus=tuple(range(1 << 15))), "--cpus"),
    )
    (tmp_path / "with-a-file").mkdir()
    (tmp_path / "with-a-file" / "reports").touch()
    diary = Diary()
    with sweep_lock(project):
        for refused, how, where in cases:
            with pytest.raises((StoreError, HostError)) as caught:
                pipeline.sweep(refused, whole, how=how, observer=diary)
            assert caught.value.where == str(where)
            assert "space" not in str(caught.value)
            assert where == "--cpus" or "found a file" in caught.value.message
    assert diary.said == []
    assert diary.total == -1


def test_a_sweep_waits_for_another_one_if_asked(project: Project, whole: Plan) -> None:
    other = contextlib.ExitStack()
    other.enter_context(sweep_lock(project))
    with pytest.raises(BusyError, match="--wait"):
        pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())

    class Patient(Diary):
        def waiting(self, holder: str) -> None:
            super().waiting(holder)
            other.close()

    diary = Patient()
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=diary, wait=True)
    assert result.measured == 4
    assert diary.said[0].startswith(f"waiting: process {os.getpid()}, since ")


@pytest.mark.parametrize("shared", ["data", "results"])
def test_sweeps_that_share_only_a_folder_are_kept_apart(
    project: Project, whole: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str
) -> None:
    """As in two containers, each with a /run/lock of its own."""
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    other = {name: tmp_path / "other" / name for name in ("data", "results") if name != shared}
    with sweep_lock(project):
        monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "another lock",))
        with pytest.raises(BusyError, match=f"process {os.getpid()}, since "):
            pipeline.sweep(replace(project, **other), whole, how=UNCAPPED, observer=Diary())


def test_a_governor_that_cannot_be_set_ends_a_sweep_before_it_begins(
    project: Project, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(wanted: object, *, sweep_id: str) -> object:
        raise HostError("no CPU has a governor here")

    monkeypatch.setattr(SWEEP, "frequency_set", refuse)
    diary = Diary()
    with pytest.raises(HostError, match="no CPU has a governor"):
        pipeline.sweep(project, whole, how=UNCAPPED, observer=diary)
    assert diary.said == []


def test_records_of_the_frequency_asked_for_are_reused(project: Project, whole: Plan) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    held = replace(UNCAPPED, frequency=pipeline.Frequency("performance", no_turbo=True))
    assert pipeline.reusable(project, whole, how=held) == {}
    for path in project.runs.glob("fakedb.a.*/*/record.json"):
        environment = json.loads(path.read_text())["environment"]
        environment["facts"] |= {"cpu.governor": "performance", "cpu.turbo": False}
        edit(path, environment=environment)
    assert len(pipeline.reusable(project, whole, how=held)) == 2


def test_settings_of_a_killed_sweep_are_put_back_first(
    project: Project, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed_names: list[str] = []

    class Reader(Diary):
        def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
            removed_names.extend(removed)

    monkeypatch.setattr(SWEEP, "restore_frequency", lambda: ("the setting of /sys/x",))
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Reader())
    assert removed_names == ["the setting of /sys/x"]


def test_a_plan_before_the_first_sweep_finds_nothing(project: Project, whole: Plan) -> None:
    assert not project.data.exists()
    assert pipeline.reusable(project, whole, how=UNCAPPED) == {}


def test_a_timeout_counts_only_for_points_with_as_little_time(project: Project, whole: Plan) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    failure = {"reason": "", "exit_status": 1, "signal": None, "log_tail": ""}
    for path in project.runs.glob("fakedb.a.*/*/record.json"):
        edit(path, status="timeout", failure=failure)
    assert len(pipeline.reusable(project, whole, how=UNCAPPED)) == 4
    file = project.experiments / "test.yaml"
    file.write_text(file.read_text() + "timeout: 7h\n")
    patient = pipeline.make_plan(project, pipeline.Request("test"))[1]
    assert len(pipeline.reusable(project, patient, how=UNCAPPED)) == 2


def test_a_failed_load_is_tried_again_by_the_next_sweep(project: Project) -> None:
    file = project.experiments / "test.yaml"
    file.write_text(file.read_text() + "properties: {fake.load: crash}\n")
    whole = pipeline.make_plan(project, pipeline.Request("test"))[1]
    failed = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert all(record.failure and record.failure.inherited for record in failed.records)
    assert pipeline.reusable(project, whole, how=UNCAPPED) == {}


def test_a_rebuilt_engine_ends_the_sweep(project: Project, whole: Plan) -> None:
    class Builder(Diary):
        def run_ended(self, record: Record) -> None:
            if record.point.dataset is not None:  # a run, not a load
                with (project.binaries / "kvdyno-fakedb").open("a") as script:
                    script.write("# another build\n")

    with pytest.raises(EngineError, match="rebuilt during the sweep") as raised:
        pipeline.sweep(project, whole, how=UNCAPPED, observer=Builder())
    assert "run the same command again" in str(raised.value.remedy)
    assert len(pipeline.stored(project, whole, uncapped=True)) == 1


def test_remaining_is_the_plan_without_what_is_stored(project: Project, whole: Plan) -> None:
    part = pipeline.make_plan(project, pipeline.Request("test", only=("workload=a",)))[1]
    pipeline.sweep(project, part, how=UNCAPPED, observer=Diary())
    rest = pipeline.remaining(whole, pipeline.stored(project, whole, uncapped=True))
    assert {run.point.axes["workload"] for run in rest.runs} == {"c"}
    assert [point.axes["workload"] for point in rest.points] == ["c"]


def test_corrupt_records_are_named(project: Project, whole: Plan) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert pipeline.corrupt(project, whole) == ()
    damaged = sorted(project.runs.glob("fakedb.c.*/*/record.json"))[0]
    edit(damaged, status="splendid")
    (found,) = pipeline.corrupt(project, whole)
    assert found.path == damaged
    assert "splendid" in found.reason
    assert len(pipeline.stored(project, whole, uncapped=True)) == 3


def test_a_comparison_needs_records(project: Project, whole: Plan, tmp_path: Path) -> None:
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    with pytest.raises(UsageError, match="no records of 'rocksdb'") as raised:
        pipeline.compare(project, "fakedb", "rocksdb")
    assert "known: " in str(raised.value.remedy)
    assert "fakedb" in str(raised.value.remedy)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no records of"):
        pipeline.compare(project, "fakedb", str(tmp_path / "empty"))
    assert pipeline.compare(project, "fakedb", str(project.results)).matched > 0


def test_an_analysis_needs_records(project: Project, whole: Plan) -> None:
    with pytest.raises(StoreError, match="no record"):
        pipeline.analyse(project, whole, records=())


def test_sweeps_have_ids_of_their_own_that_sort_by_time() -> None:
    ids = {pipeline.new_sweep_id() for _ in range(50)}
    assert len(ids) == 50
    early = pipeline.new_sweep_id(lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    late = pipeline.new_sweep_id(lambda: dt.datetime(2027, 1, 1, tzinfo=dt.UTC))
    assert early.startswith("20260101T000000-")
    assert early < late


def test_the_disk_as_it_is_measures_nothing_again_and_is_named_as_on_the_axis(project: Project) -> None:
    request = pipeline.Request(experiment="test")
    pipeline.sweep(project, pipeline.make_plan(project, request)[1], how=UNCAPPED, observer=Diary())
    text = EXPERIMENT.replace("grid:\n", "grid:\n  device: [full-speed, hdd]\n")
    (project.experiments / "test.yaml").write_text(text + "devices: {hdd: {read_iops: 150}}\n")
    whole = pipeline.make_plan(project, request)[1]
    stored = pipeline.stored(project, whole, uncapped=True)
    assert len(stored) == len(whole.runs) / 2
    assert {record.point.axes["device"] for record in stored.values()} == {"full-speed"}
