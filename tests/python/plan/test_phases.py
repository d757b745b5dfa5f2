"""What ends a point's phases: the same work for every engine where the mix writes."""

from __future__ import annotations

import math

import pytest
from fakes import engines

from kvdyno.errors import SpecError
from kvdyno.plan import estimate

from .helpers import plan_of, point_of

TEXT = """\
title: A test
engines: [rocksdb, leveldb]
grid:
  workload: [a]
  dataset: [64GiB]
phases: {measure: {volume: 2, seconds: 3s}}
"""
HARMONIC = sum(1 / rank for rank in range(1, 101))
RECORDS = (1 << 30) // (4 + 10 + 10 * 80)


def ends(text: str) -> tuple[str, str, str]:
    properties = point_of(text).properties
    return properties["operationcount"], properties["measure.seconds"], properties["measure.bytes"]


def test_a_mix_that_writes_ends_by_its_volume_alone() -> None:
    assert ends(TEXT) == (str(2 * RECORDS), "0", "0")
    assert ends(TEXT.replace("volume: 2", "volume: 0.3")) == (str(math.ceil(0.3 * RECORDS)), "0", "0")
    counts = {point.properties["operationcount"] for point in plan_of(TEXT).points}
    assert counts == {str(2 * RECORDS)}, "the same for every engine"
    assert plan_of(TEXT).notes == ()


def test_a_mix_that_only_reads_ends_by_time() -> None:
    assert ends(TEXT.replace("[a]", "[c]")) == ("0", "3", "0")


@pytest.mark.parametrize(
    ("properties", "rows"),
    [
        ("", 0.05 + 0.95 * 50.5),
        ("scanlengthdistribution: zipfian, zipfian_const: 1, ", 0.05 + 0.95 * 100 / HARMONIC),
        ("minscanlength: 100, ", 0.05 + 0.95 * 100),
        ("scanproportion: 1.95, ", (0.05 + 1.95 * 50.5) / 2),
    ],
)  # fmt: skip
def test_a_scan_touches_its_rows(properties: str, rows: float) -> None:
    text = TEXT.replace("[a]", "[e100]") + f"properties: {{{properties}keyprefix: user}}\n"
    assert ends(text)[0] == str(math.ceil(2 * RECORDS / rows))


def test_a_volume_may_vary_and_is_an_axis_of_mixes_that_write() -> None:
    text = TEXT.replace("volume: 2, ", "").replace("[64GiB]", "[64GiB]\n  volume: [1, 2.5]")
    plan = plan_of(text.replace("[a]", "[a, c]").replace("[rocksdb, leveldb]", "[rocksdb]"))
    assert [point.slug for point in plan.points] == [
        "rocksdb.a.1GiB.volume-1",
        "rocksdb.a.1GiB.volume-2.5",
        "rocksdb.c.1GiB",
    ]
    counts = [point.properties["operationcount"] for point in plan.points]
    assert counts == [str(RECORDS), str(math.ceil(2.5 * RECORDS)), "0"]
    assert len({point.dataset.identity for point in plan.points if point.dataset}) == 1
    assert "volume" not in point_of(text.replace("[a]", "[load]")).axes


def test_a_mix_that_writes_and_ends_by_time_is_noted() -> None:
    note = "a writes and ends by time: engines do different amounts of work"
    assert plan_of(TEXT.replace("volume: 2, ", "")).notes == (note,)
    either = "a writes: an engine that time stops before 1000000 operations does less work"
    assert plan_of(TEXT.replace("volume: 2, seconds: 3s", "operations: 64e6")).notes == (either,), (
        "the profile's seconds may come first"
    )
    assert plan_of(TEXT.replace("[a]", "[c]").replace("volume: 2, ", "")).notes == ()


def test_a_volume_alone_does_not_end_a_mix_that_only_reads() -> None:
    text = TEXT.replace("[a]", "[c]").replace(", seconds: 3s", "")
    with pytest.raises(
        SpecError, match="expected operations or seconds for workload c, found a vol"
    ) as raised:
        plan_of(text, profile="paper")
    assert "set phases.measure.seconds" in str(raised.value.remedy)


def test_an_upstream_ycsb_ends_by_a_volume_too() -> None:
    upstream = TEXT.replace("[rocksdb, leveldb]", "[{external: ycsb, engine: basic}]")
    assert point_of(upstream).properties["operationcount"] == str(2 * ((1 << 30) // (4 + 1 + 10 * 100)))
    with pytest.raises(SpecError, match="expected operations for basic-external, found none"):
        plan_of(upstream.replace("[a]", "[c]"))


def test_an_estimate_follows_the_volume() -> None:
    short, long = (estimate(plan_of(TEXT.replace("volume: 2", f"volume: {volume}"))) for volume in (2, 4))
    assert long.seconds > short.seconds + 2 * 3 * RECORDS / 30_000
    aged = estimate(plan_of(TEXT, catalog=engines.ageing_catalog()))
    assert aged.load_seconds == short.load_seconds, "data of age 0"
