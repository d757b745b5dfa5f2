"""Points whose engine is killed: when, which engines and mixes can be, and what makes them other points."""

from __future__ import annotations

import pytest
from fakes import engines

from kvdyno.errors import SpecError
from kvdyno.model.experiment import Recovery
from kvdyno.model.point import Plan
from kvdyno.plan import estimate

from .helpers import plan_of

TEXT = """\
title: A test
engines: [rocksdb, chunks]
grid:
  workload: [a]
  dataset: [64GiB]
repetitions: 3
age: 0
phases: {measure: {volume: 0.5}, recovery: {after: 0.8, watch: 7s}}
"""


def plan(text: str = TEXT) -> Plan:
    return plan_of(text, catalog=engines.ageing_catalog())


def test_the_kill_comes_at_one_moment_of_each_repetition_for_all_engines() -> None:
    planned = plan()
    operations = int(planned.points[0].properties["operationcount"])
    moments: dict[int, set[int]] = {}
    for run in planned.runs:
        moments.setdefault(run.repetition, set()).add(int(run.properties["kill.operations"]))
    assert all(len(found) == 1 for found in moments.values())
    assert len(set.union(*moments.values())) == 3, "each repetition draws its own"
    assert all(0.8 * operations <= moment < operations for found in moments.values() for moment in found)
    assert [run.properties for run in plan().runs] == [run.properties for run in planned.runs]


def test_a_phase_that_ends_by_time_is_cut_by_time() -> None:
    timed = TEXT.replace("volume: 0.5", "seconds: 10s")
    for run in plan(timed).runs:
        assert 8 <= float(run.properties["kill.seconds"]) < 10
        assert "kill.operations" not in run.properties


def test_the_moment_is_the_runs_and_recovery_is_the_points() -> None:
    (first, _) = plan().points
    assert first.recovery == Recovery(after=0.8, watch_seconds=7)
    assert not any(name.startswith("kill") for name in first.properties)
    assert first.properties["drain"] == "false"
    assert "drain" not in first.phases
    others = (
        TEXT.replace("after: 0.8", "after: 0.7"),
        TEXT.replace("watch: 7s", "watch: 8s"),
        TEXT.replace(", recovery: {after: 0.8, watch: 7s}", ", drain: false"),
    )
    identities = {plan(text).points[0].identity for text in (TEXT, *others)}
    assert len(identities) == 4


def test_the_watch_is_part_of_what_a_plan_costs() -> None:
    longer = plan(TEXT.replace("watch: 7s", "watch: 27s"))
    assert estimate(longer).seconds - estimate(plan()).seconds == pytest.approx(len(longer.runs) * 20)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT.replace("[a]", "[c]"), "c, which writes nothing"),
        (TEXT.replace("[a]", "[load]"), "load, which measures a load"),
        (TEXT + "properties: {deleteproportion: 0.1}\n", "deletes"),
    ],
)
def test_a_mix_that_leaves_nothing_to_check_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        plan(text.replace("volume: 0.5", "volume: 0.5, seconds: 5s"))


def test_a_driver_that_cannot_be_killed_is_refused_by_name() -> None:
    with pytest.raises(SpecError, match="found rocksdb, whose driver cannot be killed and opened again"):
        plan_of(TEXT.replace("age: 0\n", ""))
