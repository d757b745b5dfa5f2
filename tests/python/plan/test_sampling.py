"""Series have enough intervals to see something in, and engines are sampled alike."""

from __future__ import annotations

import pytest

from .helpers import plan_of, point_of

TEXT = """\
title: A test
engines: [rocksdb, leveldb, chunks]
grid:
  workload: [c]
  dataset: [64GiB]
phases: {measure: {seconds: 1s}}
"""


def interval(text: str) -> str | None:
    return point_of(text).properties.get("series.interval")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [("1s", "0.1"), ("9.9s", "0.1"), ("10s", "0.2"), ("30s", "0.5"), ("49s", "0.5"), ("50s", None)],
)
def test_a_window_has_fifty_intervals_or_as_many_as_cost_little(seconds: str, expected: str | None) -> None:
    assert interval(TEXT.replace("seconds: 1s", f"seconds: {seconds}")) == expected


def test_a_window_that_ends_by_its_volume_is_sampled_by_the_time_that_it_may_take() -> None:
    short = TEXT.replace("[c]", "[a]").replace("seconds: 1s", "volume: 0.25, seconds: 1s")
    assert interval(short) == "0.2"
    assert interval(short.replace("0.25", "1")) == "0.5"
    assert interval(short.replace("0.25", "2")) is None


def test_a_measured_load_is_sampled_too() -> None:
    load = TEXT.replace("[c]", "[load]")
    assert interval(load) == "0.2"
    assert interval(load + "properties: {load.seconds: 1h}\n") is None


def test_what_an_experiment_sets_stays() -> None:
    assert interval(TEXT + "properties: {series.interval: 3s}\n") == "3"


def test_earlier_records_can_be_found_where_the_plan_set_the_interval() -> None:
    assert point_of(TEXT).earlier_identity not in (None, point_of(TEXT).identity)
    assert point_of(TEXT + "properties: {series.interval: 3s}\n").earlier_identity is None


def test_engines_are_sampled_alike() -> None:
    points = plan_of(TEXT.replace("[c]", "[a, c, e100]")).points
    found = {(point.axes["workload"], point.properties["series.interval"]) for point in points}
    assert len(found) == len({point.axes["workload"] for point in points})
