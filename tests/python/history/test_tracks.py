"""Tracks: which entries are compared, and what a step and a drift are."""

from __future__ import annotations

from typing import Any

import pytest

from kvdyno.history import ordered, standings
from kvdyno.model.history import Entry


def entry(day: int, value: float, **fields: Any) -> Entry:
    known = {"host": "h", "subject": "chunkstore", "suite": "s quick", "point": "c", "metric": "throughput"}
    return Entry(
        **{
            "at": f"2026-11-{day:02}",
            "revision": f"r{day}",
            "unit": "op/s",
            "value": value,
            **known,
            **fields,
        }
    )


def test_a_step_is_over_the_one_before_and_a_drift_over_the_first() -> None:
    (standing,) = standings([entry(3, 90.0), entry(1, 100.0), entry(2, 120.0)])
    assert [each.revision for each in standing.entries] == ["r1", "r2", "r3"]
    assert standing.step == pytest.approx(0.75)
    assert standing.drift == pytest.approx(0.9)
    assert not standing.anchored


def test_the_first_entry_has_nothing_before_it() -> None:
    (standing,) = standings([entry(1, 100.0)])
    assert (standing.step, standing.drift, standing.apart) == (None, None, False)


def test_hosts_are_never_compared() -> None:
    found = standings([entry(1, 100.0), entry(2, 50.0, host="other")])
    assert [each.step for each in found] == [None, None]


def test_a_revision_measured_again_counts_once_at_its_place() -> None:
    (entries,) = ordered([entry(1, 100.0), entry(2, 120.0), entry(3, 80.0, revision="r1")]).values()
    assert [(each.revision, each.value) for each in entries] == [("r1", 80.0), ("r2", 120.0)]


def test_ratios_to_the_same_anchor_cancel_the_day() -> None:
    slow_day = [
        entry(1, 100.0, anchor="rocksdb 11", ratio=2.0, ratio_low=1.9, ratio_high=2.1),
        entry(2, 50.0, anchor="rocksdb 11", ratio=2.0, ratio_low=1.9, ratio_high=2.1),
    ]
    (standing,) = standings(slow_day)
    assert standing.anchored
    assert standing.step == pytest.approx(1.0)
    assert not standing.apart


def test_another_anchor_is_no_anchor() -> None:
    changed = [
        entry(1, 100.0, anchor="rocksdb 10", ratio=2.0),
        entry(2, 50.0, anchor="rocksdb 11", ratio=2.0),
    ]
    (standing,) = standings(changed)
    assert not standing.anchored
    assert standing.step == pytest.approx(0.5)


@pytest.mark.parametrize(("low", "apart"), [(105.0, True), (99.0, False), (None, False)])
def test_intervals_that_do_not_touch(low: float | None, apart: bool) -> None:
    (standing,) = standings([entry(1, 100.0, low=95.0, high=104.0), entry(2, 110.0, low=low, high=115.0)])
    assert standing.apart is apart
