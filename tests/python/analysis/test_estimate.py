"""The statistics against known distributions: intervals cover, ratios settle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kvdyno.analysis.estimate import BOOTSTRAP_FROM, Interval, estimate
from kvdyno.analysis.ratios import Pairing, Side, means_of
from kvdyno.analysis.verdicts import repetitions_for_sameness, repetitions_needed
from kvdyno.model.metrics import direction


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


def runs(values: np.ndarray, *, sweep: str = "s") -> Side:
    places = range(len(values))
    return Side(values, [(sweep, place) for place in places], list(places))


def test_paired_ratios_find_a_difference_that_noise_shared_by_both_hides() -> None:
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 0.4, size=5)
    a = np.exp(shared + rng.normal(0, 0.01, size=5))
    b = 1.1 * np.exp(shared + rng.normal(0, 0.01, size=5))
    paired = means_of([Pairing(runs(b), runs(a), paired=True)], log=True)
    apart = means_of([Pairing(runs(b), runs(a, sweep="t"), paired=False)], log=True)
    assert math.exp(paired.value) == pytest.approx(1.1, rel=0.02)
    assert abs(paired.value) > 4 * paired.error
    assert abs(apart.value) < apart.error


@pytest.mark.parametrize(
    ("unit", "word"), [("op/s", "faster"), ("ns", "slower"), ("ns/op", "slower"), ("ratio", "higher")]
)
def test_directions_know_which_way_is_faster(unit: str, word: str) -> None:
    assert direction(True, unit=unit) == word
    assert direction(False, unit=unit) != word


def test_zeros_make_a_difference_in_the_metrics_unit() -> None:
    pairing = Pairing(runs(np.array([0.0, 3.0, 3.0])), runs(np.array([0.0, 1.0, 0.0])), paired=True)
    kind, n, mean, *_, zero, method = pairing.compared
    assert (kind, n, mean, zero, method) == ("difference", 3, pytest.approx(5 / 3), False, "t")
    nothing = Pairing(runs(np.zeros(3)), runs(np.zeros(3)), paired=True)
    assert nothing.compared[-2:] == (True, "t")


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


def test_repetitions_for_sameness_find_it_four_times_in_five() -> None:
    sd = 0.08
    n = repetitions_for_sameness(0.0, sd=sd, margin=0.05)
    draws = np.random.default_rng(9).normal(0, sd, size=(2000, n))
    reach = stats.t.ppf(0.95, n - 1) * draws.std(axis=1, ddof=1) / math.sqrt(n)
    found = np.mean(np.abs(draws.mean(axis=1)) + reach <= math.log(1.05))
    assert 0.75 <= found <= 0.88
    assert repetitions_for_sameness(0.06, sd=sd, margin=0.05) == 0
