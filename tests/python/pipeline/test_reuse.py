"""What a resumed sweep measures again: blocks stay whole, loads and seeds are a run's own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kvdyno import pipeline
from kvdyno.errors import Interrupted
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.pipeline.reuse import blocks, complete
from kvdyno.store import RunStore

from .test_sweep import UNCAPPED, Diary

EXPERIMENT = """\
title: A test
engines: [fakedb, {engine: fakedb, label: twin, twin_of: fakedb}]
grid:
  workload: [a]
  dataset: [256MiB]
cap: 2GiB
repetitions: 3
loads: 2
"""
#: Enough runs to show a step of their host.
MANY = EXPERIMENT.replace("repetitions: 3", "repetitions: 8")


def planned(project: Project, text: str = EXPERIMENT) -> Plan:
    (project.experiments / "test.yaml").write_text(text)
    return pipeline.make_plan(project, pipeline.Request(experiment="test"))[1]


def change(project: Project, number: int, **changes: object) -> None:
    """Change the record of the run at that place of the plan's first sweep."""
    for path in project.runs.glob("*/*/record.json"):
        record = json.loads(path.read_text())
        if record["order"] == number and not record["point"]["slug"].endswith(".load"):
            path.write_text(json.dumps(record | changes))


def load_names(project: Project) -> set[str]:
    return {path.parent.parent.name for path in project.runs.glob("*.load-*/*/record.json")}


def test_a_record_names_its_load_its_seed_and_the_repetitions_planned(project: Project) -> None:
    result = pipeline.sweep(project, planned(project), how=UNCAPPED, observer=Diary())
    assert [(r.repetition, r.load, r.repetitions_planned) for r in result.records] == [
        (1, 1, 3),
        (1, 1, 3),
        (2, 2, 3),
        (2, 2, 3),
        (3, 1, 3),
        (3, 1, 3),
    ]
    assert [r.point.properties["seed"] for r in result.records] == ["1", "1", "2", "2", "1", "1"]
    assert len({r.point.dataset for r in result.records}) == 4, "two loads of each twin"
    assert len(load_names(project)) == 4
    for path in project.runs.glob("*.load-*/*/record.json"):
        record = json.loads(path.read_text())
        assert record["point"]["properties"]["seed"] == str(record["load"]) == str(record["seed"])


def test_a_block_that_was_interrupted_is_measured_whole_again(project: Project) -> None:
    whole = planned(project)
    with pytest.raises(Interrupted):
        pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary(stop_after=4 + 2))
    found = pipeline.look_up(project, whole, how=UNCAPPED)
    assert found.records.keys() == {run.name for run in whole.runs[:2]}
    assert found.partnerless == (whole.runs[2].name,)
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert (result.measured, result.reused) == (4, 2)
    sweeps = [record.sweep_id for record in result.records]
    assert sweeps[0::2] == sweeps[1::2], "partners share a sweep"
    stored = pipeline.stored(project, whole, uncapped=True)
    assert [r.run_id for r in stored.values()] == [r.run_id for r in result.records]


def test_a_partner_that_the_host_stopped_is_measured_again_with_its_block(project: Project) -> None:
    whole = planned(project)
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    reason = {"reason": "", "exit_status": 1, "signal": None, "log_tail": "", "inherited": False}
    change(project, 3, status="failed", failure=reason)
    found = pipeline.look_up(project, whole, how=UNCAPPED)
    assert found.partnerless == (whole.runs[3].name,)
    assert len(found.records) == 4
    change(project, 3, status="crash")
    assert len(pipeline.reusable(project, whole, how=UNCAPPED)) == 6, "a crash is the run's own end"


def test_records_of_an_earlier_identity_are_shown_and_measured_again(project: Project) -> None:
    whole = planned(project)
    measured = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    points = {
        p.identity: replace(p, identity="0" + p.identity, earlier_identity=p.identity) for p in whole.points
    }
    runs = tuple(replace(run, point=points[run.point.identity]) for run in whole.runs)
    now = replace(whole, points=tuple(points.values()), runs=runs)
    assert pipeline.reusable(project, now, how=UNCAPPED) == {}
    shown = pipeline.stored(project, now, uncapped=True)
    assert [r.run_id for r in shown.values()] == [r.run_id for r in measured.records]
    assert {r.point.identity for r in shown.values()} == {p.identity for p in now.points}


def test_two_halves_of_a_block_from_two_sweeps_are_no_block(project: Project) -> None:
    whole = planned(project)
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    change(project, 5, sweep_id="20260101T000000-00000000")
    assert whole.runs[4].name not in pipeline.reusable(project, whole, how=UNCAPPED)
    assert len(pipeline.stored(project, whole, uncapped=True)) == 6, "a report shows what there is"


def test_a_report_prefers_the_sweep_that_measured_the_whole_block(project: Project) -> None:
    whole = planned(project)
    first = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    force = pipeline.SweepSettings(uncapped=True, force=True)
    with pytest.raises(Interrupted):
        pipeline.sweep(project, whole, how=force, observer=Diary(stop_after=4 + 2))
    stored = list(pipeline.stored(project, whole, uncapped=True).values())
    assert len({record.sweep_id for record in stored[:2]}) == 1
    assert stored[0].sweep_id != first.records[0].sweep_id
    assert [r.run_id for r in stored[2:]] == [r.run_id for r in first.records[2:]]


def test_the_earliest_sweep_of_a_block_counts_where_decisions_follow_from_it(project: Project) -> None:
    whole = planned(project)
    first = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    pipeline.sweep(project, whole, how=pipeline.SweepSettings(uncapped=True, force=True), observer=Diary())
    how = pipeline.SweepSettings(uncapped=True, earliest=True)
    found = pipeline.reusable(project, whole, how=how).values()
    assert [record.run_id for record in found] == [record.run_id for record in first.records]


def test_the_later_sweep_counts_though_a_host_s_clock_was_ahead(project: Project) -> None:
    whole = planned(project)
    first = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    for number in range(1, 7):
        change(
            project,
            number,
            sweep_id="20260101T000000-00000000",
            started_at="2099-01-01T00:00:00.000000+00:00",
        )
    force = pipeline.SweepSettings(uncapped=True, force=True)
    second = pipeline.sweep(project, whole, how=force, observer=Diary())
    shown = pipeline.stored(project, whole, uncapped=True).values()
    assert [r.run_id for r in shown] == [r.run_id for r in second.records]
    assert not {r.run_id for r in shown} & {r.run_id for r in first.records}


def test_halves_of_a_block_under_two_kernels_are_no_block(project: Project) -> None:
    whole = planned(project)
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    environment = result.records[4].environment
    facts = {**environment.facts, "os.kernel": "6.6.6-other"}
    change(project, 5, environment={"host_id": environment.host_id, "facts": facts})
    found = complete(whole, blocks(whole), RunStore(project.runs).records())
    assert set(found) == {run.name for run in whole.runs[:4]}


def test_a_run_from_another_load_is_another_run(project: Project) -> None:
    whole = planned(project)
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    more = planned(project, EXPERIMENT.replace("loads: 2", "loads: 3"))
    kept = pipeline.reusable(project, more, how=UNCAPPED)
    assert {record.repetition for record in kept.values()} == {1, 2}
    assert {record.repetition for record in pipeline.stored(project, more, uncapped=True).values()} == {1, 2}


def test_a_record_without_load_and_seed_counts_as_the_first_load(project: Project) -> None:
    whole = planned(project)
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    for path in project.runs.glob("*/*/record.json"):
        record = json.loads(path.read_text())
        for name in ("load", "seed", "repetitions_planned"):
            record.pop(name)
        path.write_text(json.dumps(record))
    kept = pipeline.reusable(project, whole, how=UNCAPPED)
    assert {record.repetition for record in kept.values()} == {1, 3}


def test_a_new_contender_brings_its_partners_back(project: Project) -> None:
    whole = planned(project)
    pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    text = EXPERIMENT.replace(
        "twin_of: fakedb}]", "twin_of: fakedb}, {engine: fakedb, options: {}, label: c, twin_of: fakedb}]"
    )
    found = pipeline.look_up(project, planned(project, text), how=UNCAPPED)
    assert not found.records
    assert len(found.partnerless) == 6


def stepping(project: Project, *, at: int) -> tuple[Plan, tuple[Record, ...]]:
    """A sweep whose gauge of the CPU steps before the run of that number, which is counted from 1."""
    whole = planned(project, MANY)
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    for number in range(1, len(whole.runs) + 1):
        level = (5.0 if number < at else 9.0) * (1 + number % 3 / 1000)
        change(project, number, gauges={"cpu.loop_ms": level})
    return whole, result.records


def test_a_block_that_a_step_of_its_host_split_is_measured_whole_again(project: Project) -> None:
    whole, before = stepping(project, at=10)
    cut = {run.name for run in whole.runs[8:10]}
    found = pipeline.look_up(project, whole, how=UNCAPPED)
    assert (set(found.split), found.partnerless) == (cut, ())
    assert found.records.keys() == {run.name for run in whole.runs} - cut
    result = pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary())
    assert (result.measured, result.reused) == (2, 14)
    assert len({record.sweep_id for record in result.records[8:10]}) == 1
    assert result.records[8].sweep_id != before[8].sweep_id
    assert {record.repetitions_planned for record in result.records} == {8}, "none was added"
    assert not pipeline.look_up(project, whole, how=UNCAPPED).split
    shown = pipeline.stored(project, whole, uncapped=True).values()
    assert [r.run_id for r in shown] == [r.run_id for r in result.records]


def test_a_step_between_two_blocks_splits_none(project: Project) -> None:
    whole, _ = stepping(project, at=9)
    found = pipeline.look_up(project, whole, how=UNCAPPED)
    assert (len(found.records), found.split) == (16, ())


def test_a_report_shows_a_split_block_until_a_whole_one_is_stored(project: Project) -> None:
    whole, first = stepping(project, at=10)
    with pytest.raises(Interrupted):
        pipeline.sweep(project, whole, how=UNCAPPED, observer=Diary(stop_after=0))
    shown = pipeline.stored(project, whole, uncapped=True).values()
    assert [r.run_id for r in shown] == [r.run_id for r in first], "one sweep, not the latest of each run"


def test_a_decision_that_was_made_from_a_split_block_stays(project: Project) -> None:
    whole, first = stepping(project, at=10)
    how = pipeline.SweepSettings(uncapped=True, earliest=True)
    found = pipeline.reusable(project, whole, how=how).values()
    assert [record.run_id for record in found] == [record.run_id for record in first]


def test_hosts_get_the_blocks_that_a_step_split(project: Project) -> None:
    whole, _ = stepping(project, at=10)
    found = complete(whole, blocks(whole), RunStore(project.runs).records())
    assert found.keys() == {run.name for run in whole.runs} - {run.name for run in whole.runs[8:10]}
