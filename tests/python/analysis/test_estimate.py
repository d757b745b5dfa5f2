"""The statistics against known distributions: intervals cover, ratios settle, series settle or do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kvdyno.analysis.estimate import BOOTSTRAP_FROM, Interval, estimate
from kvdyno.analysis.ratios import ratio_of, repetitions_needed, verdict, welch_ratio
from kvdyno.analysis.steady import steadiness


def test_one_value_has_no_interval() -> None:
    found = estimate([7.0])
    assert (found.n, found.median, found.interval.low, found.interval.high) == (1, 7.0, None, None)
    assert not found.too_wide


def test_the_t_interval_is_scipys_on_logarithms() -> None:
    data = np.array([90.0, 100.0, 120.0, 95.0])
    low, high = stats.t.interval(0.95, 3, loc=np.log(data).mean(), scale=stats.sem(np.log(data)))
    found = estimate(data)
    assert found.interval.method == "log t"
    assert found.interval.low == pytest.approx(math.exp(low))
    assert found.interval.high == pytest.approx(math.exp(high))
    assert found.median == 97.5


def test_zeros_use_plain_t_that_never_reaches_below_zero() -> None:
    assert estimate([0.0, 0.0, 3.0]).interval == Interval(None, None, "")
    assert estimate([0.0, 0.0, 3.0]).spread is None
    assert estimate([-1.0, 0.0, 3.0]).interval.method == "t"
    assert estimate([0.0, 0.0]).interval.low == 0.0


def test_an_interval_never_leaves_out_the_median() -> None:
    for seed in range(200):
        data = np.random.default_rng(seed).choice([1.0, 1.01, 30.0], size=9, p=[0.55, 0.05, 0.4])
        found = estimate(data)
        assert found.interval.low is not None
        assert found.interval.high is not None
        assert found.interval.low <= found.median <= found.interval.high


def test_many_values_use_a_seeded_bootstrap() -> None:
    data = np.random.default_rng(1).lognormal(3, 0.2, size=BOOTSTRAP_FROM)
    assert estimate(data) == estimate(data)
    assert estimate(data).interval.method == "BCa"
    assert estimate(data[:-1]).interval.method == "log t"
    assert estimate([5.0] * BOOTSTRAP_FROM).interval.low == 5.0


def test_a_wide_interval_is_flagged_until_repetitions_narrow_it() -> None:
    few, many = [95.0, 100.0, 105.0], [95.0, 100.0, 105.0] * 4
    assert estimate(few).too_wide
    assert not estimate(many).too_wide
    assert estimate(few).spread == estimate(many).spread
    assert not estimate([100.0]).too_wide


@pytest.mark.parametrize(("n", "least"), [(3, 0.92), (5, 0.92), (10, 0.92)])
def test_intervals_cover_the_median_as_often_as_they_say(n: int, least: float) -> None:
    rng = np.random.default_rng(42)
    truth, covered, trials = math.exp(3), 0, 600
    for _ in range(trials):
        interval = estimate(rng.lognormal(3, 0.2, size=n)).interval
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= truth <= interval.high
    assert least <= covered / trials <= 0.985


def test_the_bootstrap_covers_the_median_from_where_it_is_used() -> None:
    rng = np.random.default_rng(43)
    truth, covered, trials = math.exp(3), 0, 100
    for _ in range(trials):
        interval = estimate(rng.lognormal(3, 0.2, size=BOOTSTRAP_FROM)).interval
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= truth <= interval.high
    assert covered / trials >= 0.88


def test_paired_ratios_find_a_difference_that_noise_shared_by_both_hides() -> None:
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 0.4, size=5)
    a = np.exp(shared + rng.normal(0, 0.01, size=5))
    b = 1.1 * np.exp(shared + rng.normal(0, 0.01, size=5))
    paired = ratio_of(np.log(b / a))
    assert paired.decided
    assert paired.value == pytest.approx(1.1, rel=0.02)
    assert not welch_ratio(a, b).decided


def test_welch_is_scipys_on_logarithms() -> None:
    a, b = np.array([10.0, 11.0, 10.5, 9.9]), np.array([12.0, 15.0, 11.0])
    found = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    ratio = welch_ratio(a, b)
    assert ratio.decided == (found.pvalue < 0.05)
    interval = found.confidence_interval()
    # Whole degrees of freedom are a little wider.
    assert ratio.low is not None
    assert ratio.low <= math.exp(interval.low)
    assert ratio.low == pytest.approx(math.exp(interval.low), rel=0.15)


def test_verdicts_know_which_way_is_faster() -> None:
    more = ratio_of([0.5, 0.51, 0.49])
    assert verdict(more, unit="op/s") == "faster"
    assert verdict(more, unit="ns") == "slower"
    assert verdict(more, unit="ns/op") == "slower"
    assert verdict(more, unit="ratio") == "higher"
    assert verdict(ratio_of([0.5]), unit="op/s") == "undecided"
    assert verdict(ratio_of([-0.5, 0.5]), unit="op/s") == "undecided"


def test_repetitions_needed_is_a_smallest_number() -> None:
    found = repetitions_needed(0.05, sd=0.1)
    power = stats.t.ppf(0.975, found - 1) + stats.t.ppf(0.8, found - 1)
    fewer = stats.t.ppf(0.975, found - 2) + stats.t.ppf(0.8, found - 2)
    assert power * 0.1 / math.sqrt(found) <= 0.05 < fewer * 0.1 / math.sqrt(found - 1)


def test_repetitions_needed_settle_four_times_in_five() -> None:
    mean, sd = 0.05, 0.08
    n = repetitions_needed(mean, sd=sd)
    draws = np.random.default_rng(9).normal(mean, sd, size=(800, n))
    half = stats.t.ppf(0.975, n - 1) * draws.std(axis=1, ddof=1) / math.sqrt(n)
    settled = np.mean(np.abs(draws.mean(axis=1)) > half)
    assert 0.75 <= settled <= 0.88


def test_a_tiny_difference_is_not_worth_settling() -> None:
    assert repetitions_needed(1e-6, sd=0.1) == 0
    assert repetitions_needed(0.0, sd=0.1) == 0
    assert ratio_of([0.3, 0.31, 0.29]).needed is None


def noisy(seed: int, level: np.ndarray) -> np.ndarray:
    return level * np.random.default_rng(seed).lognormal(0, 0.08, size=len(level))


@pytest.mark.parametrize("length", [20, 60, 300])
def test_noise_alone_is_steady(length: int) -> None:
    states = [steadiness(noisy(seed, np.full(length, 1e4))).state for seed in range(100)]
    assert states.count("steady") >= 95


def test_a_slow_start_is_warming_up_and_says_how_long() -> None:
    level = np.concatenate([np.full(60, 4e3), np.full(140, 1e4)])
    found = steadiness(noisy(3, level))
    assert found.state == "warming up"
    assert found.warmup_intervals == pytest.approx(60, abs=10)
    assert found.drift > 0.05


def test_a_rate_that_keeps_falling_is_unsteady() -> None:
    assert steadiness(noisy(4, np.linspace(1e4, 3e3, 200))).state == "unsteady"


def test_periodic_stalls_are_steady() -> None:
    level = np.where(np.arange(240) % 13 == 0, 5e3, 1e4)
    assert steadiness(noisy(5, level)).state == "steady"


def test_a_short_series_is_not_judged() -> None:
    assert steadiness(np.full(9, 1e4)).state == "too short"
    assert steadiness([]).state == "too short"
