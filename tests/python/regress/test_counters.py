"""Which counters changed, and in which order they stand."""

from __future__ import annotations

import math

import pytest

from kvdyno.regress import Pair, changed_counters


def pairs(*ratios: float, base: float = 10.0) -> list[Pair]:
    return [Pair(base, base * ratio) for ratio in ratios]


def test_a_change_that_every_pair_shows_comes_before_a_larger_one_that_scatters() -> None:
    found = changed_counters(
        {
            ("scattered", "count/op"): pairs(1.0, 4.0, 1.1, 9.0, 1.0, 5.0),
            ("steady", "byte/op"): pairs(1.3, 1.31, 1.3, 1.29, 1.3, 1.3),
            ("noise", "s/op"): pairs(0.9, 1.1, 1.0, 0.95, 1.05, 1.0),
        }
    )
    assert found[0].name == "steady"
    assert "noise" not in {each.name for each in found}
    assert found[0].n == 6
    assert found[0].log is not None
    assert math.exp(found[0].log.mean) == pytest.approx(1.3, rel=0.01)


def test_a_counter_that_appears_or_vanishes_comes_first() -> None:
    found = changed_counters(
        {
            ("steady", "byte/op"): pairs(2.0, 2.0, 2.0, 2.0),
            ("stalls", "count/op"): [Pair(0, 3), Pair(0, 4)],
            ("now and then", "count/op"): [Pair(0, 3), Pair(0, 0)],
            ("never", "count/op"): [Pair(0, 0), Pair(0, 0)],
        }
    )
    assert [each.name for each in found] == ["stalls", "steady"]
    assert found[0].log is None


def test_one_pair_shows_nothing() -> None:
    assert changed_counters({("a", "x"): pairs(7.0), ("b", "x"): [Pair(0, 1)], ("c", "x"): []}) == ()
