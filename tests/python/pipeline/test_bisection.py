"""`pipeline.bisect` with gates that answer by themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kvdyno import pipeline
from kvdyno.errors import EngineError, UsageError
from kvdyno.model.project import Project

CANDIDATES = tuple(f"c{n}" for n in range(10))
REQUEST = pipeline.GateRequest("good", "c9", point="a", metric="throughput")


def walked(*, first_bad: int, broken: tuple[int, ...] = (), gates: int = 99) -> pipeline.Bisection:
    """Candidates from `first_bad` on are worse; after so many gates the budget is too small."""
    made = []

    def prepare(request: pipeline.GateRequest) -> Any:
        n = CANDIDATES.index(request.head)
        assert request.comparisons == len(CANDIDATES)
        if n in broken:
            raise EngineError("does not build", where=request.head)
        if len(made) >= gates:
            raise UsageError("too small", where="--budget")
        made.append(n)
        return n

    def measure(n: Any) -> Any:
        verdict = SimpleNamespace(regression=n >= first_bad, undecided=False, improvement=False)
        return SimpleNamespace(status=int(n >= first_bad), verdicts=(verdict,), stopped="decided")

    return pipeline.bisect(REQUEST, CANDIDATES, budget_seconds=60, prepare=prepare, measure=measure)


def test_the_first_bad_candidate_is_located() -> None:
    for truth in range(10):
        found = walked(first_bad=truth)
        assert found.bad_confirmed
        assert found.left.located
        assert found.left.last == truth


def test_a_candidate_that_does_not_build_is_skipped_and_named() -> None:
    found = walked(first_bad=4, broken=(4,))
    assert "does not build" in found.skipped[4]
    assert (found.left.first, found.left.last) == (4, 5)


def test_a_budget_that_ends_leaves_a_range() -> None:
    found = walked(first_bad=4, gates=2)
    assert found.out_of_budget
    assert not found.left.located


def test_a_budget_too_small_for_the_first_gate_and_a_bad_that_does_not_build_are_errors() -> None:
    with pytest.raises(UsageError):
        walked(first_bad=4, gates=0)
    with pytest.raises(EngineError):
        walked(first_bad=4, broken=(9,))


def test_versions_are_walked_in_the_order_of_their_numbers() -> None:
    project = Project.find()
    found = pipeline.candidates_between(project, "rocksdb@7.9.2", "rocksdb@10.4.2")
    assert found == ("rocksdb@8.11.3", "rocksdb@9.9.3", "rocksdb@10.4.2")


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("rocksdb@10.4.2", "rocksdb@9.9.3", "a version before rocksdb@9.9.3"),
        ("rocksdb@9.9.3", "leveldb@1.23", "versions of one engine"),
        ("memory@1", "memory@2", "versions of one engine"),
        ("rocksdb@9.9.3", "rocksdb@10.4.3", "did you mean '10.4.2'"),
    ],
)
def test_versions_between_which_nothing_can_be_found_are_refused(good: str, bad: str, message: str) -> None:
    with pytest.raises((UsageError, EngineError), match=message):
        pipeline.candidates_between(Project.find(), good, bad)
