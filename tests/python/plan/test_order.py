"""The order of runs, and parts of a plan."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from kvdyno.errors import UsageError
from kvdyno.model.point import Plan, Run
from kvdyno.plan import select
from kvdyno.plan.order import order_runs

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


def blocks(plan: Plan) -> list[list[Run]]:
    """The runs of each block and repetition, as they follow each other."""
    together = itertools.groupby(
        plan.runs, key=lambda r: (r.repetition, r.point.axes["workload"], r.point.axes["dataset"])
    )
    return [list(runs) for _, runs in together]


def test_engines_are_interleaved() -> None:
    plan = plan_of(TEXT.replace("log_limit: [128KiB, 2MiB]", "log_limit: [2MiB]"))
    for block in blocks(plan):
        assert {run.point.axes["engine"] for run in block} == {"rocksdb", "leveldb", "chunks"}


@pytest.mark.parametrize("count", range(1, 9))
def test_each_contender_follows_each_other_one_equally_often(count: int) -> None:
    labels = "".join(
        f"{{engine: rocksdb, label: e{n}, options: {{bloom_bits: {n}}}}}, " for n in range(count)
    )
    plan = plan_of(
        "title: Balance\ngrid: {workload: [a], dataset: [4GiB]}\nrepetitions: 48\n"
        f"engines: [{labels.rstrip(', ')}]\n"
    )
    cycle = count if count % 2 == 0 or count == 1 else 2 * count
    orders = [[str(run.point.axes["engine"]) for run in block] for block in blocks(plan)]
    assert len(orders) == 48
    assert orders[cycle:] == orders[:-cycle] or cycle == 48
    pairs = Counter(pair for order in orders[:cycle] for pair in itertools.pairwise(order))
    assert len(pairs) == count * (count - 1)
    assert set(pairs.values()) <= {cycle // count}
    for place in range(count):
        seen = Counter(order[place] for order in orders[: count if count > 1 else 1])
        assert set(seen.values()) == {1}, "over as many repetitions, each is at each place once"


def test_rows_are_shuffled_by_the_experiments_name(plan: Plan) -> None:
    other = order_runs(plan.points, repetitions=6, name="another")
    assert [run.name for run in other] != [run.name for run in plan.runs]
    assert {run.name for run in other} == {run.name for run in plan.runs}


def test_blocks_change_their_order_with_each_repetition(plan: Plan) -> None:
    firsts = {
        tuple(dict.fromkeys((r.point.axes["workload"], r.point.axes["dataset"]) for r in runs))
        for _, runs in itertools.groupby(plan.runs, key=lambda run: run.repetition)
    }
    assert len(firsts) > 1


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
