"""Candidates and strategies, on response surfaces whose best point is known."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.projects import make_project

from kvdyno.catalog import discover
from kvdyno.model.search import Dimension, Options, Space, Try
from kvdyno.spec import load_space
from kvdyno.tuning.candidates import drawn, fitted, placed
from kvdyno.tuning.insight import importances, untried
from kvdyno.tuning.question import Question, penalised
from kvdyno.tuning.search import chosen
from kvdyno.tuning.strategies import STRATEGIES, front_of

from .surfaces import ENGINE, add_engine

GIB = 1 << 30


@pytest.fixture
def space(tmp_path: Path) -> Space:
    project = make_project(tmp_path)
    add_engine(project)
    return load_space(discover(project)[ENGINE], project=project, cap_bytes=16 * GIB)


def gain(options: Options) -> float | None:
    """Best at 512 MiB memtables with a cache of 4 GiB and no maps; more than 9 GiB run out of memory."""
    memtable = int(options["write_buffer_size"])
    cache = int(options.get("cache_size", 0))
    if 2 * memtable + cache > 9 * GIB:
        return None
    found = -abs(math.log(memtable / (GIB / 2))) - 0.1 * abs(int(options["filter_bits"]) - 10)
    return found - (abs(math.log(cache / (4 * GIB))) if cache else 3)


def smooth(options: Options) -> float:
    """Best inside the ranges of memtable and filter bits, which go together, and with a large cache."""
    memtable = math.log(int(options["write_buffer_size"]) / (GIB / 4)) / math.log(16)
    bits = int(options["filter_bits"]) / 20 - 0.6
    cache = math.log(int(options.get("cache_size", GIB / 8)) / (8 * GIB)) / math.log(64)
    return 0.3 * cache - 0.5 * (memtable**2 + bits**2 + 1.6 * memtable * bits)


def start(space: Space) -> Options:
    return placed(space, space.start({}))


def searched(
    space: Space,
    strategy: str,
    *,
    tries: int,
    seed: int,
    surface: Callable[[Options], float | None] = gain,
    noise: float = 0,
) -> list[Try]:
    trail: list[Try] = []
    first = surface(start(space)) or 0
    rng = random.Random(seed)
    while len(trail) < tries:
        options = STRATEGIES[strategy](Question(space, tuple(trail), start(space), seed))
        found = surface(options)
        found = found and found + rng.gauss(0, noise)
        trail.append(Try(len(trail) + 1, options, None if found is None else (found - first,)))
    return trail


def best(trail: list[Try]) -> float:
    return max(one.gains[0] for one in trail if one.gains)


@pytest.mark.parametrize("strategy", ["gp", "tpe"])
def test_a_model_finds_more_than_random_draws_at_the_same_budget(space: Space, strategy: str) -> None:
    def gained(name: str, seed: int) -> float:
        trail = searched(space, name, tries=16, seed=seed, surface=smooth, noise=0.05)
        return smooth(max(trail, key=lambda one: one.gains or ()).options)

    found = {name: statistics.mean(gained(name, seed) for seed in range(4)) for name in (strategy, "random")}
    assert found[strategy] > found["random"]


def test_several_objectives_are_weighted_otherwise_in_each_try(space: Space) -> None:
    trail: list[Try] = []
    while len(trail) < 24:
        options = STRATEGIES["gp"](Question(space, tuple(trail), start(space), 1))
        bits = int(options["filter_bits"])
        trail.append(Try(len(trail) + 1, options, (bits / 20, 1 - (bits / 20) ** 2)))
    front = {int(one.options["filter_bits"]) for one in front_of(trail)}
    assert min(front) < 5
    assert max(front) > 15


def test_a_gaussian_process_first_moves_each_option_once_on_the_best_so_far(space: Space) -> None:
    base = start(space)
    trail = [Try(1, {**base, "filter_bits": "9"}, (0.5,)), Try(2, {**base, "filter_bits": "3"}, (-0.5,))]
    proposed = [
        STRATEGIES["gp"](Question(space, trail[:1] * (given + 1), base, 1, given=1))
        for given in range(len(space.dimensions))
    ]
    moved = [{name for name in each if each[name] != trail[0].options.get(name)} for each in proposed]
    assert {frozenset(names) for names in moved} == {
        frozenset({"write_buffer_size"}),
        frozenset({"mapped_files", "cache_size"}),
        frozenset({"filter_bits"}),
    }


@pytest.mark.parametrize("strategy", ["gp", "sweep"])
def test_a_try_that_is_worse_than_the_default_is_no_base(space: Space, strategy: str) -> None:
    base = start(space)
    worse = Try(1, {**base, "filter_bits": "9", "write_buffer_size": str(GIB)}, (-0.5,))
    following = STRATEGIES[strategy](Question(space, (worse,), base, 1))
    assert sum(following.get(name) != base[name] for name in base) == 1


def test_a_candidate_is_not_proposed_twice(space: Space) -> None:
    trail = searched(space, "gp", tries=20, seed=2)
    assert len({tuple(sorted(one.options.items())) for one in trail}) == len(trail)


def test_a_sweep_changes_one_option_of_the_best_at_a_time(space: Space) -> None:
    trail = searched(space, "sweep", tries=12, seed=1)
    first, second = trail[0].options, trail[1].options
    assert sum(first.get(name) != second.get(name) for name in {*first, *second}) == 1
    assert best(trail) > best(trail[:1])


def test_a_sweep_that_found_nothing_better_goes_on_with_finer_steps(space: Space) -> None:
    base = start(space)
    trail: list[Try] = []
    while len(trail) < 28:
        options = STRATEGIES["sweep"](Question(space, tuple(trail), base, 1))
        trail.append(Try(len(trail) + 1, options, (-0.5,)))
    bits = [int(one.options["filter_bits"]) for one in trail]
    assert [each for each in bits if str(each) != base["filter_bits"]] == [10, 20, 5, 10, 15, 20]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_trail_gives_the_same_candidate(space: Space, strategy: str) -> None:
    assert searched(space, strategy, tries=14, seed=3) == searched(space, strategy, tries=14, seed=3)


@pytest.mark.parametrize("strategy", ["gp", "tpe"])
def test_a_search_goes_on_from_a_trail_as_if_it_was_never_stopped(space: Space, strategy: str) -> None:
    whole = searched(space, strategy, tries=14, seed=3)
    again = STRATEGIES[strategy](Question(space, tuple(whole[:13]), start(space), 3))
    assert again == whole[13].options


def test_candidates_fit_into_memory_and_name_only_options_that_act(space: Space) -> None:
    rng = random.Random(5)
    for _ in range(300):
        options = drawn(space, rng)
        taken = 2 * int(options["write_buffer_size"]) + int(options.get("cache_size", 0))
        assert taken <= space.memory_bytes
        assert ("cache_size" in options) == (options["mapped_files"] == "0")


def test_what_takes_too_much_memory_shrinks_in_proportion(space: Space) -> None:
    asked = {"write_buffer_size": str(GIB), "cache_size": str(16 * GIB), "mapped_files": "0"}
    found = fitted(space, asked)
    taken = 2 * int(found["write_buffer_size"]) + int(found["cache_size"])
    assert taken == pytest.approx(space.memory_bytes, rel=0.001)
    assert int(found["cache_size"]) / int(found["write_buffer_size"]) == pytest.approx(16, rel=0.001)


def test_a_failed_try_counts_as_worse_than_all_that_were_measured() -> None:
    trail = [Try(1, {}, (0.5, -1.0)), Try(2, {}, None, "out of memory"), Try(3, {}, (0.1, 0.2))]
    (_, first), (_, failed), (_, third) = penalised(trail)
    assert all(gain < min(pair) for gain, pair in zip(failed, zip(first, third, strict=True), strict=True))
    assert penalised([Try(1, {}, None, "crash")]) == []


def test_the_front_holds_what_no_other_try_beats_in_every_objective() -> None:
    trail = [Try(1, {}, (0.1, 0.9)), Try(2, {}, (0.5, 0.5)), Try(3, {}, (0.4, 0.4)), Try(4, {}, None)]
    assert [one.number for one in front_of(trail)] == [2, 1]


def test_confirmed_of_several_objectives_is_the_front_of_what_tries_promise() -> None:
    trail = [
        Try(1, {}, (0.9, 0.1), believed=(0.3, 0.3)),  # lucky: its first gain was the largest
        Try(2, {}, (0.5, 0.5), believed=(0.5, 0.5)),
        Try(3, {}, (0.4, 0.9), believed=(0.4, 0.8)),
        Try(4, {}, None),
    ]
    assert list(chosen(trail)) == ["try-2", "try-3"]


def test_importances_rank_the_option_that_matters_first(space: Space) -> None:
    rng = random.Random(2)
    options = [drawn(space, rng) for _ in range(60)]
    trail = [Try(n, each, (float(each["filter_bits"]),)) for n, each in enumerate(options, 1)]
    found = importances(space, trail, objective=0)
    assert next(iter(found)) == "filter_bits"
    assert found["filter_bits"].low > max(each.high for name, each in found.items() if name != "filter_bits")
    assert all(0 <= each.low <= each.high <= 1 for each in found.values())


def test_fewer_tries_give_wider_intervals_of_importances(space: Space) -> None:
    rng = random.Random(2)
    options = [drawn(space, rng) for _ in range(80)]
    trail = [Try(n, each, (gain(each) or -9,)) for n, each in enumerate(options, 1)]
    few, many = (importances(space, part, objective=0) for part in (trail[:10], trail))
    assert sum(each.high - each.low for each in few.values()) > sum(
        each.high - each.low for each in many.values()
    )
    assert importances(space, trail[:1], objective=0) == {}


def test_values_and_wide_stretches_that_no_candidate_had_are_named(space: Space) -> None:
    trail = [
        Try(1, {"mapped_files": "1000", "filter_bits": "0", "write_buffer_size": str(64 << 20)}, (0.1,)),
        Try(2, {"mapped_files": "1000", "filter_bits": "9", "write_buffer_size": str(900 << 20)}, None),
    ]
    found = {each.name: each for each in untried(space, trail)}
    assert found["mapped_files"].values == ("0",)
    assert found["filter_bits"].gaps == ((0, 9), (9, 20))
    assert found["write_buffer_size"].gaps == ((64 << 20, 900 << 20),)
    assert found["cache_size"].gaps == ((128 << 20, 8 << 30),)


def test_neighbouring_whole_numbers_leave_nothing_untried(space: Space) -> None:
    narrow = replace(space, dimensions=(Dimension("filter_bits", low=0, high=2),))
    trail = [Try(n, {"filter_bits": str(n)}, (0.1,)) for n in range(3)]
    assert untried(narrow, trail) == ()
