"""Intervals that hold at any stopping time, and the verdicts made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from kvdyno.model.noise import HostNoise, TwinNoise
from kvdyno.regress import Judgement, Pair, doubt, interval, judge, next_point, noise_share, values_least
from kvdyno.regress.sequence import EFFECT_VARIANCE

PAIRS_MOST = 40
COMPARISONS = 6


def e_value(values: Sequence[float], mean: float) -> float:
    """The martingale, as the module's head writes it."""
    n, around = len(values), float(np.mean(values))
    spread = float(np.sum((np.array(values) - around) ** 2))
    gap, widening = n * (around - mean) ** 2, 1 + n * EFFECT_VARIANCE
    return float(((spread + gap) / (spread + gap / widening)) ** (n / 2) / math.sqrt(widening))


def verdicts(logs: Sequence[float], *, margin: float, level: float) -> list[str]:
    """After each pair."""
    pairs = [Pair(1000.0, 1000.0 * math.exp(log)) for log in logs]
    return [judge(pairs[:n], unit="op/s", margin=margin, level=level).call for n in range(2, len(pairs) + 1)]


def first_call(logs: Sequence[float], *, margin: float = 0.05) -> tuple[str, int]:
    """The first verdict that is not undecided, and after how many pairs."""
    found = verdicts(logs, margin=margin, level=0.05 / COMPARISONS)
    decided = ((call, n) for n, call in enumerate(found, 2) if call != "undecided")
    return next(decided, ("undecided", len(logs)))


def test_the_interval_ends_where_the_martingale_reaches_one_over_alpha() -> None:
    values = [0.02, -0.01, 0.04, 0.03, 0.0, 0.01]
    found = interval(values, level=0.01)
    for end in (found.low, found.high):
        assert e_value(values, end) == pytest.approx(1 / 0.01, rel=1e-6)
    assert e_value(values, found.mean) < 1


def test_the_interval_does_not_depend_on_the_scale() -> None:
    values = [0.2, -0.1, 0.4, 0.3, 0.1, 0.15]
    small = interval([value / 1000 for value in values], level=0.01)
    assert small.half * 1000 == pytest.approx(interval(values, level=0.01).half)


def test_too_few_values_have_no_interval() -> None:
    assert math.isinf(interval([0.1], level=0.05).half)
    assert math.isinf(interval([0.1, 0.1001], level=0.001).half)
    with pytest.raises(ValueError, match="at least one value"):
        interval([], level=0.05)
    assert values_least(level=0.05 / COMPARISONS) == 5


@pytest.mark.parametrize("spread", [0.01, 0.25])
def test_a_suite_that_looks_after_every_pair_rarely_finds_what_is_not_there(spread: float) -> None:
    """Margin 0 is the hardest case: whatever the stopping rule, false alarms are those of the first look."""
    draws = np.random.default_rng(11)
    suites = 400
    alarms = 0
    for _ in range(suites):
        logs = draws.normal(0, spread, size=(COMPARISONS, PAIRS_MOST))
        level = 0.05 / COMPARISONS
        alarms += any(set(verdicts(row, margin=0, level=level)) != {"undecided"} for row in logs)
    assert alarms / suites <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / suites)


def test_heavy_tails_raise_no_more_alarms() -> None:
    draws = np.random.default_rng(12)
    suites, alarms = 300, 0
    for _ in range(suites):
        logs = 0.03 * draws.standard_t(3, size=(COMPARISONS, PAIRS_MOST))
        level = 0.05 / COMPARISONS
        alarms += any(set(verdicts(row, margin=0, level=level)) != {"undecided"} for row in logs)
    assert alarms / suites <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / suites)


@pytest.mark.parametrize(
    ("change", "spread", "call"),
    [(0.85, 0.05, "slower"), (1.2, 0.05, "faster"), (1.0, 0.03, "same"), (0.9, 0.02, "slower")],
)
def test_a_change_beyond_the_margin_is_found(change: float, spread: float, call: str) -> None:
    draws = np.random.default_rng(13)
    found = [first_call(math.log(change) + spread * draws.normal(size=PAIRS_MOST)) for _ in range(200)]
    assert sum(each == call for each, _ in found) / len(found) >= 0.9
    assert np.median([n for _, n in found]) <= 25


def test_a_change_inside_the_margin_is_never_called() -> None:
    draws = np.random.default_rng(14)
    found = [first_call(math.log(0.97) + 0.02 * draws.normal(size=PAIRS_MOST))[0] for _ in range(200)]
    assert set(found) <= {"same", "undecided"}


def test_what_is_better_depends_on_the_unit() -> None:
    pairs = [Pair(100, 130 + n % 2) for n in range(12)]
    rate = judge(pairs, unit="op/s", margin=0.05, level=0.05)
    time = judge(pairs, unit="us/op", margin=0.05, level=0.05)
    size = judge(pairs, unit="ratio", margin=0.05, level=0.05)
    assert (rate.call, time.call, size.call) == ("faster", "slower", "higher")
    assert (rate.worse, time.worse, size.worse) == (False, True, True)


def test_the_smallest_visible_change_lies_beyond_the_margin() -> None:
    draws = np.random.default_rng(15)
    pairs = [Pair(1, math.exp(0.02 * draws.normal())) for _ in range(12)]
    few = judge(pairs[:6], unit="op/s", margin=0.05, level=0.01)
    many = judge(pairs, unit="op/s", margin=0.05, level=0.01)
    assert few.visible > many.visible > 0.05


def test_exact_metrics_are_equal_or_changed() -> None:
    def exactly(*pairs: tuple[float, float]) -> Judgement:
        return judge([Pair(*each) for each in pairs], unit="op", margin=0, level=0.01, exact=True)

    assert exactly((0, 0), (7, 7)).call == "same"
    lost = exactly((0, 1), (7, 7))
    assert (lost.call, lost.worse) == ("higher", True)
    found = exactly((5, 4))
    assert (found.call, found.worse) == ("lower", False)
    assert "not exact here" in exactly((1, 2), (2, 1)).why
    assert exactly().why == "no pair has it"


def test_an_exact_metric_may_differ_by_its_margin() -> None:
    def sized(*pairs: tuple[float, float], margin: float = 0.05) -> Judgement:
        return judge([Pair(*each) for each in pairs], unit="byte", margin=margin, level=0.01, exact=True)

    for size in (10_001, 9_999, 10_500):
        assert sized((10_000, size)).call == "same"
    grown = sized((10_000, 10_501))
    assert (grown.call, grown.worse, grown.margin) == ("higher", True, 0.05)
    assert grown.log is not None
    assert math.exp(grown.log.mean) == pytest.approx(1.0501)
    assert math.isinf(grown.log.half), "one pair of exact values has no interval"
    shrunk = sized((10_000, 9_000))
    assert (shrunk.call, shrunk.worse) == ("lower", False)
    assert sized((10_000, 10_001), margin=0).call == "higher"
    assert sized((0, 1)).call == "higher", "nothing has a share of 0"
    assert sized((100, 101), (101, 100)).call == "same", "both ways, but within the margin"
    assert "not exact here" in sized((100, 120), (120, 100)).why


def test_zeros_have_no_ratio_and_are_no_reason_to_measure_on() -> None:
    assert judge([Pair(0, 0)], unit="byte", margin=0.05, level=0.01).call == "same"
    some = judge([Pair(0, 3), Pair(1, 1)], unit="byte", margin=0.05, level=0.01)
    assert some.call == "undecided"
    assert "a value of 0 has no ratio" in some.why
    assert doubt(some) == 0


def judged(*logs: float) -> Judgement:
    pairs = [Pair(1, math.exp(log)) for log in logs]
    return judge(pairs, unit="op/s", margin=0.05, level=0.01)


def test_the_next_pair_goes_where_doubt_is_greatest() -> None:
    calm, noisy = judged(*[0.02, 0.021] * 4), judged(*[0.2, -0.2] * 4)
    points = {"calm": [calm], "noisy": [calm, noisy], "young": [judged(0.0, 0.01)]}
    assert next_point(points) == "young"
    assert next_point({"calm": [calm], "noisy": [calm, noisy]}) == "noisy"
    assert next_point({"calm": [calm]}) is None


def noise(*entries: tuple[str, str, float]) -> HostNoise:
    twins = tuple(
        TwinNoise(
            engine=engine,
            axes={"workload": workload},
            phase="run",
            metric="throughput",
            unit="op/s",
            pairs=69,
            sd_log=sd,
            comparisons=23,
            covered=22,
            false_alarms=1,
        )
        for engine, workload, sd in entries
    )
    return HostNoise(
        host_id="h", measured_at="2026", commit=None, profile="quick", repetitions=3, facts={}, twins=twins
    )


def test_the_margin_is_at_least_what_loads_do_on_this_host() -> None:
    host = noise(("rocksdb", "a", 0.1), ("chunkstore", "a", 0.02), ("chunkstore", "c", 0.04))
    known = {"metric": "throughput", "loads": 4}
    assert noise_share(host, engine="chunkstore", workload="a", **known) == pytest.approx(math.expm1(0.02))
    assert noise_share(host, engine="leveldb", workload="a", **known) == pytest.approx(math.expm1(0.1))
    assert noise_share(host, engine="chunkstore", workload="e", **known) == pytest.approx(math.expm1(0.04))
    assert noise_share(host, engine="leveldb", metric="cpu", workload="a", loads=4) is None
    assert noise_share(None, engine="leveldb", workload="a", **known) is None
