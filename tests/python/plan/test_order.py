"""The order of runs, and parts of a plan."""

from __future__ import annotations

from collections import Counter

import pytest

from kvdyno.errors import UsageError
from kvdyno.model.point import Plan
from kvdyno.plan import select

from .helpers import plan_of

TEXT = """\
title: A test
engines: [rocksdb, leveldb, chunks]
grid:
  workload: [a, c]
  dataset: [64GiB, 4GiB]
  log_limit: [128KiB, 2MiB]
repetitions: 6
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(TEXT)


def test_every_point_runs_in_every_repetition(plan: Plan) -> None:
    assert len(plan.points) == 2 * 2 * (1 + 1 + 2)
    assert Counter(run.name for run in plan.runs).most_common(1)[0][1] == 1
    assert len(plan.runs) == 6 * len(plan.points)
    assert [run.repetition for run in plan.runs] == sorted(run.repetition for run in plan.runs)


def test_engines_are_interleaved(plan: Plan) -> None:
    first = plan.runs[: len(plan.points)]
    block = first[:3]
    assert {run.point.axes["engine"] for run in block} == {"rocksdb", "leveldb", "chunks"}
    assert {(run.point.axes["workload"], run.point.axes["dataset"]) for run in block} == {("a", 1 << 30)}


def test_no_engine_always_goes_first(plan: Plan) -> None:
    def leaders(workload: str) -> Counter[object]:
        runs = [
            r for r in plan.runs if (r.point.axes["workload"], r.point.axes["dataset"]) == (workload, 1 << 30)
        ]
        blocks = [r.point.axes["engine"] for r in runs if r.point.axes.get("log_limit", 2048) == 2048]
        return Counter(blocks[::3])

    assert leaders("a") == leaders("c") == {"rocksdb": 2, "leveldb": 2, "chunks": 2}


def test_the_order_is_the_same_each_time(plan: Plan) -> None:
    assert [run.name for run in plan_of(TEXT).runs] == [run.name for run in plan.runs]


@pytest.mark.parametrize(
    ("only", "exclude", "count"),
    [
        (["rocksdb.*"], [], 4),
        (["rocksdb.*", "engine=leveldb"], [], 8),
        ([], ["chunks*"], 8),
        (["dataset=1GiB"], [], 8),
        (["dataset=1073741824"], [], 8),
        (["log_limit=2KiB"], ["workload=c"], 2),
        (["engine=*db"], ["*64MiB*"], 4),
    ],
)
def test_select(plan: Plan, only: list[str], exclude: list[str], count: int) -> None:
    part = select(plan, only=only, exclude=exclude)
    assert len(part.points) == count
    assert len(part.runs) == 6 * count
    assert {run.point.slug for run in part.runs} == {point.slug for point in part.points}


def test_select_repeats(plan: Plan) -> None:
    assert max(run.repetition for run in select(plan, repeat=2).runs) == 2
    with pytest.raises(UsageError, match="expected 1 to 1000 repetitions, found 0"):
        select(plan, repeat=0)


@pytest.mark.parametrize(
    ("only", "exclude", "message"),
    [
        (["rocksdb.a.1GB"], [], "did you mean 'rocksdb.a.1GiB'?"),
        (["workloda=a"], [], "unknown axis 'workloda'"),
        (["workload=z"], [], "unknown value of workload 'z': expected one of a, c"),
        ([], ["dataset=64GiB"], "expected one of 1GiB, 64MiB"),
        (["chunks*"], ["chunks*"], "no point is left"),
    ],
)
def test_select_that_matches_nothing(plan: Plan, only: list[str], exclude: list[str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        select(plan, only=only, exclude=exclude)
    assert message in str(raised.value)
