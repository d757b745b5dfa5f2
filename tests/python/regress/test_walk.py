"""The walk of a bisection, on simulated truths."""

from __future__ import annotations

import math
import random

import pytest

from kvdyno.regress import Finding, judge, left, next_candidate
from kvdyno.regress.decide import Pair


@pytest.mark.parametrize("candidates", [1, 2, 3, 10, 33])
def test_every_first_bad_candidate_is_located_in_few_steps(candidates: int) -> None:
    for truth in range(candidates):
        found: dict[int, Finding] = {}
        while (n := next_candidate(found, candidates=candidates)) is not None:
            found[n] = "bad" if n >= truth else "good"
        assert left(found, candidates=candidates).last == truth
        assert left(found, candidates=candidates).located
        assert len(found) <= math.ceil(math.log2(candidates)) + 1


def test_skipped_candidates_widen_what_is_left() -> None:
    found: dict[int, Finding] = {}
    while (n := next_candidate(found, candidates=10)) is not None:
        found[n] = "skipped" if n in (4, 5) else "bad" if n >= 5 else "good"
    here = left(found, candidates=10)
    assert (here.first, here.last) == (4, 6)


@pytest.mark.parametrize("last", ["good", "undecided"])
def test_a_last_candidate_that_is_not_bad_ends_the_walk(last: Finding) -> None:
    assert next_candidate({9: last}, candidates=10) is None


def test_false_blame_is_bounded_where_nothing_changed() -> None:
    draw, blamed = random.Random(7), 0
    for _ in range(300):
        found: dict[int, Finding] = {}
        while (n := next_candidate(found, candidates=10)) is not None:
            pairs = [Pair(1.0, math.exp(draw.gauss(0, 0.05))) for _ in range(12)]
            judged = judge(pairs, unit="ops/s", margin=0.01, level=0.05 / 10)
            found[n] = "bad" if judged.worse else "good" if judged.decided else "undecided"
        blamed += "bad" in found.values()
    assert blamed <= 15
