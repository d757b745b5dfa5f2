"""Loads, seeds, ages and twins: what differs between the runs of one point, and what makes another point."""

from __future__ import annotations

import pytest
from fakes import engines

from kvdyno.model.point import Plan
from kvdyno.plan import estimate, select
from kvdyno.plan.estimate import AGE_OPERATIONS_PER_SECOND, SETTLE_SECONDS

from .helpers import plan_of

TEXT = """\
title: A test
engines: [rocksdb]
grid:
  workload: [a]
  dataset: [64GiB]
repetitions: 5
loads: 2
"""
AGED = TEXT + "age: 2\n"


def aged(text: str) -> Plan:
    return plan_of(text, catalog=engines.ageing_catalog())


def test_repetitions_take_turns_to_start_from_the_loads() -> None:
    plan = plan_of(TEXT)
    (point,) = plan.points
    assert [run.load for run in plan.runs] == [1, 2, 1, 2, 1]
    assert [run.repetitions_planned for run in plan.runs] == [5] * 5
    datasets = [run.dataset for run in plan.runs]
    assert datasets == [*point.loads, *point.loads, point.dataset]
    assert [load.properties["seed"] for load in point.loads] == ["1", "2"]
    assert [run.properties["seed"] for run in plan.runs] == ["1", "2", "1", "2", "1"]
    assert len({load.identity for load in point.loads}) == len({load.slug for load in point.loads}) == 2
    assert "seed" not in point.properties


def test_a_point_stays_one_however_often_it_is_loaded() -> None:
    once = plan_of(TEXT.replace("loads: 2", "loads: 1"))
    assert once.points[0].identity == plan_of(TEXT).points[0].identity
    assert once.points[0].loads == plan_of(TEXT).points[0].loads[:1]


def test_each_repetition_draws_operations_of_its_own_where_the_driver_can() -> None:
    runs = aged(TEXT).runs
    assert [run.seed for run in runs] == [1, 2, 3, 4, 5]
    assert [(run.properties["seed"], run.properties["mix.seed"]) for run in runs[:3]] == [
        ("1", "1"),
        ("2", "2"),
        ("1", "3"),
    ]
    assert {run.seed for run in plan_of(TEXT).runs} == {None}
    assert "mix.seed" not in plan_of(TEXT).runs[0].properties


def test_a_measured_load_has_another_seed_in_each_repetition() -> None:
    runs = plan_of(TEXT.replace("[a]", "[load]")).runs
    assert [(run.load, run.seed, run.properties["seed"]) for run in runs] == [
        (number, number, str(number)) for number in range(1, 6)
    ]
    assert {run.dataset for run in runs} == {None}


def test_a_driver_without_seeds_loads_once() -> None:
    text = TEXT.replace("[rocksdb]", "[{external: ycsb, engine: basic}]")
    plan = plan_of(text + "phases: {measure: {operations: 1000}}\n")
    assert [run.load for run in plan.runs] == [1] * 5
    assert all(run.seed is None and not run.seeds for run in plan.runs)


def test_the_estimate_counts_the_loads_that_runs_start_from() -> None:
    plan = plan_of(TEXT)
    both, one = estimate(plan), estimate(select(plan, repeat=1))
    assert (both.snapshots, one.snapshots) == (2, 1)
    assert both.load_seconds == pytest.approx(2 * one.load_seconds)
    assert both.snapshot_bytes == 2 * one.snapshot_bytes
    assert both.disk_bytes - one.disk_bytes == one.snapshot_bytes


def test_an_age_shapes_the_dataset_and_is_an_axis() -> None:
    young, old = aged(TEXT).points[0], aged(AGED).points[0]
    assert (young.axes["age"], old.axes["age"]) == (0, 2)
    assert (young.slug, old.slug) == ("rocksdb.a.1GiB", "rocksdb.a.1GiB"), "one age is in no slug"
    assert young.identity != old.identity
    assert "age" not in old.properties
    assert young.dataset is not None
    assert old.dataset is not None
    assert (young.dataset.properties["age"], old.dataset.properties["age"]) == ("0", "2")
    assert "requestdistribution" not in young.dataset.properties
    assert old.dataset.properties["requestdistribution"] == "zipfian"
    assert (young.dataset.age, old.dataset.age) == (0, 2)
    assert "age" not in plan_of(TEXT).points[0].axes, "a driver that cannot age has no such axis"


def test_an_age_may_vary() -> None:
    plan = aged(TEXT.replace("[64GiB]", "[64GiB]\n  age: [0, 0.5, 2]"))
    assert [point.slug for point in plan.points] == [
        "rocksdb.a.1GiB.age-0",
        "rocksdb.a.1GiB.age-0.5",
        "rocksdb.a.1GiB.age-2",
    ]
    assert len({point.dataset.identity for point in plan.points if point.dataset}) == 3


def test_aged_data_depend_on_how_keys_are_drawn_and_young_data_do_not() -> None:
    drawn = AGED.replace("[a]", "[a]\n  distribution: [uniform, zipf-composite]")
    assert len({p.dataset.identity for p in aged(drawn).points if p.dataset}) == 2
    young = drawn.replace("age: 2", "age: 0")
    assert len({p.dataset.identity for p in aged(young).points if p.dataset}) == 1
    mixes = AGED.replace("[a]", "[a, c]").replace("grid:\n", "grid:\n  distribution: [uniform]\n")
    assert len({p.dataset.identity for p in aged(mixes).points if p.dataset}) == 1


def test_a_measured_load_has_no_age() -> None:
    assert "age" not in aged(AGED.replace("[a]", "[load]")).points[0].axes


def test_ageing_takes_time() -> None:
    young, old = estimate(aged(TEXT)), estimate(aged(AGED))
    assert young.age_seconds == 0
    records = (1 << 30) // (4 + 10 + 10 * 80)
    each = 2 * records / AGE_OPERATIONS_PER_SECOND + SETTLE_SECONDS
    assert old.age_seconds == pytest.approx(2 * each)
    assert old.load_seconds - young.load_seconds == pytest.approx(old.age_seconds)


def test_warm_up_rests_where_the_driver_knows_how() -> None:
    assert aged(TEXT).points[0].phases == ("warmup", "rest", "measure", "drain")
    assert plan_of(TEXT).points[0].phases == ("warmup", "measure", "drain")
    assert aged(TEXT + "phases: {warmup: 0}\n").points[0].phases == ("measure", "drain")


def test_a_twin_has_loads_and_runs_of_its_own() -> None:
    labels = ("b", "c")
    twins = f"[rocksdb, {', '.join(f'{{engine: rocksdb, label: {x}, twin_of: rocksdb}}' for x in labels)}]"
    plan = plan_of(TEXT.replace("[rocksdb]", twins))
    assert [point.axes["engine"] for point in plan.points] == ["rocksdb", "b", "c"]
    assert len({point.identity for point in plan.points}) == 3
    assert len({load.identity for point in plan.points for load in point.loads}) == 6
    assert len({tuple(point.properties.items()) for point in plan.points}) == 1
    assert plan.points[0].identity == plan_of(TEXT).points[0].identity, "the original keeps its records"
    renamed = plan_of(TEXT.replace("[rocksdb]", twins.replace("label: b", "label: other")))
    assert renamed.points[1].identity == plan.points[1].identity
