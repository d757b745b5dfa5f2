"""Which candidate a confirmation sets: gains beside the noise of all contenders."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from kvdyno.model.results import Analysis
from kvdyno.model.search import Confirmed, Objective, Try
from kvdyno.report.search import fresh_text
from kvdyno.tuning.confirmation import confirmed, winner_of
from kvdyno.tuning.search import DEFAULT, TWIN

THROUGHPUT = Objective("throughput", higher=True)


def results(
    rows: Mapping[str, tuple[float, float, str]], *, workloads: tuple[str, ...] = ("a",), freedom: float = 2
) -> tuple[Confirmed, ...]:
    """A confirmation's results: the ratio to the default, its logarithm's standard error and the verdict, by
    label, or by "label workload" for one of several searched workloads.
    """
    table = pd.DataFrame([_row(*name.split(), *cells, freedom=freedom) for name, cells in rows.items()])
    labels = [name for name in dict.fromkeys(table["label"]) if name != TWIN]
    tries = {name: Try(place, {}, (0.3,), believed=(0.3,)) for place, name in enumerate(labels, 1)}
    found = cast(Analysis, SimpleNamespace(ratios=table))
    return confirmed(found, tries, seen=workloads, objectives=(THROUGHPUT,))


def _row(label: str, *rest: Any, freedom: float) -> dict[str, Any]:
    workload, ratio, error, verdict = rest if isinstance(rest[0], str) else ("a", *rest)
    return {
        "label": label, "baseline": DEFAULT, "metric": "throughput", "phase": "run", "workload": workload,
        "ratio": ratio, "low": math.nan, "high": math.nan, "n": 3, "verdict": verdict, "error": error,
        "freedom": freedom,
    }  # fmt: skip


def winner(found: tuple[Confirmed, ...]) -> str | None:
    best = winner_of(found, objective=THROUGHPUT)
    return best.label if best else None


def test_a_candidate_whose_few_repetitions_scatter_wins_by_the_noise_of_all() -> None:
    found = results(
        {
            TWIN: (1.01, 0.01, "undecided"),
            "calm": (1.40, 0.01, "faster"),
            "scattered": (1.50, 0.08, "undecided"),
        }
    )
    assert winner(found) == "scattered"
    one, other = (each.fresh for each in found)
    assert one
    assert other
    assert one.low
    assert other.low
    assert one.value / one.low == pytest.approx(other.value / other.low), "one noise for both"
    assert fresh_text(found[1]) == f"1.50 ({other.low:.2f} to {other.high:.2f})"


def test_what_noise_may_have_made_is_not_set() -> None:
    assert winner(results({TWIN: (1.2, 0.1, "undecided"), "one": (1.3, 0.1, "undecided")})) is None


def test_the_more_candidates_were_chosen_the_more_must_be_shown() -> None:
    one = {TWIN: (1.0, 0.05, "undecided"), "one": (1.16, 0.05, "undecided")}
    assert winner(results(one)) == "one"
    others = dict.fromkeys(("two", "three"), (1.0, 0.05, "undecided"))
    assert winner(results(one | others)) is None


def test_one_repetition_shows_nothing() -> None:
    found = results(
        {TWIN: (1.0, math.nan, "undecided"), "one": (1.9, math.nan, "undecided")}, freedom=math.nan
    )
    assert winner(found) is None
    assert fresh_text(found[0]) == "1.90"


def test_a_candidate_that_is_worse_at_a_searched_workload_is_not_set() -> None:
    rows = {
        f"{TWIN} a": (1.0, 0.01, "undecided"),
        f"{TWIN} c": (1.0, 0.01, "undecided"),
        "one a": (2.0, 0.01, "faster"),
        "one c": (0.8, 0.01, "slower"),
    }
    (found,) = results(rows, workloads=("a", "c"))
    assert found.fresh
    assert found.fresh.value == pytest.approx(math.sqrt(1.6))
    assert winner((found,)) is None


def test_intervals_of_all_candidates_hold_together_although_they_share_the_default() -> None:
    rng = np.random.default_rng(3)
    repetitions, rounds, missed = 3, 200, 0
    for _ in range(rounds):
        runs = rng.normal(0, 0.05, (5, repetitions))
        gains = runs[1:] - runs[0]
        error = gains.std(axis=1, ddof=1) / math.sqrt(repetitions)
        cells = [
            (math.exp(gain), each, "undecided") for gain, each in zip(gains.mean(axis=1), error, strict=True)
        ]
        found = results(dict(zip((TWIN, "one", "two", "three"), cells, strict=True)), freedom=repetitions - 1)
        fresh = [each.fresh for each in found if each.fresh]
        missed += any(not (each.low or 0) <= 1 <= (each.high or 0) for each in fresh)
    assert 0.01 < missed / rounds < 0.1
