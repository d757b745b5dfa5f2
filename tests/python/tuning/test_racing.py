"""Which candidates a short run drops, and which tries are repeated: decisions under known noise."""

from __future__ import annotations

import numpy as np

from kvdyno.model.search import Try
from kvdyno.tuning.racing import PAIRS_LEAST, REPETITIONS_MOST, contested, due, hopeless


def raced(number: int, short: tuple[float, ...], full: tuple[float, ...]) -> Try:
    return Try(number, {}, full, each=(full,), short=short)


def repeated(number: int, *gains: float) -> Try:
    mean = sum(gains) / len(gains)
    return Try(number, {}, (mean,), each=tuple((gain,) for gain in gains))


#: Short and full runs that differ by one hundredth; the best try is 0.3 above the default.
KNOWN = [raced(n, (0.1 * n,), (0.1 * n + (-1) ** n * 0.01,)) for n in range(PAIRS_LEAST)]


def test_a_candidate_far_below_the_best_is_dropped_and_one_near_it_is_not() -> None:
    assert hopeless((0.1,), KNOWN)
    assert not hopeless((0.28,), KNOWN)


def test_a_candidate_that_is_worse_than_the_default_is_dropped() -> None:
    worse = [raced(n, (-0.5,), (-0.5 + (-1) ** n * 0.01,)) for n in range(PAIRS_LEAST)]
    assert hopeless((-0.3,), worse)
    assert not hopeless((-0.01,), worse)


def test_nothing_is_dropped_before_short_and_full_runs_were_compared() -> None:
    assert not hopeless((-5.0,), KNOWN[1:])
    pruned = [Try(9, {}, (0.0,), short=(0.0,), pruned=True)] * PAIRS_LEAST
    assert not hopeless((-5.0,), pruned)


def test_a_candidate_that_may_be_the_best_in_one_objective_is_kept() -> None:
    two = [raced(n, (0.3, 0.3), (0.31, 0.29)) for n in range(PAIRS_LEAST)]
    assert hopeless((0.1, 0.1), two)
    assert not hopeless((-2.0, 0.5), two)


def test_a_candidate_as_good_as_the_best_is_rarely_dropped() -> None:
    rng = np.random.default_rng(7)
    noise, rounds, dropped = 0.05, 2000, 0
    for _ in range(rounds):
        trail = [raced(n, (rng.normal(0, noise),), (rng.normal(0, noise),)) for n in range(PAIRS_LEAST)]
        dropped += hopeless((rng.normal(0, noise),), trail)
    assert dropped / rounds < 0.06


def test_without_known_noise_the_best_try_is_repeated_first() -> None:
    chosen = contested([repeated(1, 0.1), repeated(2, 0.5), repeated(3, 0.2)])
    assert chosen
    assert chosen.number == 2
    assert contested([repeated(1, 0.1)]) is None, "there is no front to contest"


def test_a_clear_leader_is_not_repeated() -> None:
    assert contested([repeated(1, 0.50, 0.51), repeated(2, 0.10, 0.11), repeated(3, 0.0, 0.01)]) is None


def test_of_two_near_each_other_the_one_measured_less_often_is_repeated() -> None:
    trail = [repeated(1, 0.50, 0.51, 0.505), repeated(2, 0.50, 0.507), repeated(3, 0.0, 0.01)]
    chosen = contested(trail)
    assert chosen
    assert chosen.number == 2


def test_no_try_is_repeated_without_end_and_pruned_ones_never() -> None:
    same = [0.5 + 0.01 * n for n in range(REPETITIONS_MOST)]
    assert contested([repeated(1, *same), repeated(2, *same)]) is None
    pruned = Try(3, {}, (0.51,), short=(0.51,), pruned=True)
    assert contested([repeated(1, *same), pruned]) is None


def test_new_candidates_come_between_two_repetitions() -> None:
    trail = [repeated(n, 0.5 + 0.01 * n) for n in range(1, 7)]
    after = [due(trail[:count]) is not None for count in range(1, 7)]
    assert after == [False, False, True, False, False, True]
