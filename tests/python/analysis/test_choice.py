"""The cheapest contender for each mix of two operations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kvdyno.analysis.choice import choices
from kvdyno.errors import SpecError
from kvdyno.model.experiment import Against, FigureSpec
from kvdyno.model.results import Axis

AXES = (Axis(name="share", unit="", values=(1, 2), scaled={1: frozenset({1}), 2: frozenset({2})}),)
FIGURE = FigureSpec(
    id="which", kind="choice", metric="query", phase="sample",
    against=Against(metric="throughput", phase="run", mix="queries per update"),
)  # fmt: skip


def frame(*contenders: tuple[str, float, float], noise: float = 0.01) -> pd.DataFrame:
    """Four repetitions of each contender at two places: name, microseconds of an update and of a query."""
    random = np.random.default_rng(7)
    rows = []
    for share in (1, 2):
        for label, update, query in contenders:
            for repetition in range(1, 5):
                common = {
                    "label": label, "engine": "e", "preset": label, "share": share, "sweep_id": "s",
                    "run_id": f"{label}.{share}.{repetition}", "repetition": repetition, "load": repetition,
                    "status": "ok", "headline": False,
                }  # fmt: skip
                disturbed = 1 + noise * random.standard_normal(2)
                rate = 1e6 / (update * share) * disturbed[0]
                time = query * 1e3 * disturbed[1]
                rows += [
                    {**common, "phase": "run", "metric": "throughput", "value": rate, "unit": "op/s"},
                    {**common, "phase": "sample", "metric": "query", "value": time, "unit": "ns"},
                ]
    return pd.DataFrame(rows)


def chosen(table: pd.DataFrame, figure: FigureSpec = FIGURE) -> pd.DataFrame:
    return choices(table, [figure], axes=AXES, margin=0.05)


def test_the_cheap_writer_wins_where_queries_are_rare_and_the_cheap_query_where_they_are_not() -> None:
    found = chosen(frame(("writes", 1.0, 300.0), ("reads", 2.0, 100.0)))
    for share, rows in found.groupby("share"):
        in_order = rows.sort_values("mix")
        assert list(in_order["label"].drop_duplicates()) == ["writes", "reads"], share
        # Lines cross where update + r x query is the same: r = 1 / 200 for each share.
        crossing = share / 200
        assert in_order[in_order["label"] == "writes"]["mix"].max() <= crossing
        assert in_order[in_order["label"] == "reads"]["mix"].min() >= crossing
        assert in_order["decided"].iloc[0]
        assert in_order["decided"].iloc[-1]
    least = found[(found["share"] == 1)].sort_values("mix").iloc[0]
    expected = (2 + least["mix"] * 100) / (1 + least["mix"] * 300)
    assert least["value"] == pytest.approx(expected, rel=0.02)
    assert least["low"] < expected < least["high"]
    assert (least["rival"], least["n"]) == ("reads", 4)


def test_mixes_are_around_the_one_whose_kinds_cost_the_same() -> None:
    mixes = sorted(chosen(frame(("a", 1.0, 100.0), ("b", 1.0, 100.0)))["mix"].unique())
    assert mixes == pytest.approx([1e-4, 1 / 3000, 1e-3, 1 / 300, 0.01, 1 / 30, 0.1, 1 / 3, 1])


def test_equal_contenders_are_undecided() -> None:
    assert not chosen(frame(("a", 1.0, 100.0), ("b", 1.0, 100.0)))["decided"].any()


def test_a_filter_leaves_contenders_and_places_out() -> None:
    table = frame(("a", 1.0, 100.0), ("b", 2.0, 200.0), ("c", 0.1, 1.0))
    some = FIGURE.model_copy(update={"where": {"engine": ("a", "b"), "share": (2,)}})
    found = chosen(table, some)
    assert set(found["label"]) == {"a"}
    assert set(found["share"]) == {2}


def test_one_contender_has_no_choice() -> None:
    assert chosen(frame(("a", 1.0, 100.0))).empty


def test_runs_that_lack_a_cost_are_left_out() -> None:
    table = frame(("a", 1.0, 100.0), ("b", 2.0, 200.0))
    assert chosen(table[table["metric"] != "query"]).empty


def test_costs_are_times_or_rates() -> None:
    table = frame(("a", 1.0, 100.0), ("b", 2.0, 200.0)).replace({"unit": {"ns": "byte"}})
    with pytest.raises(SpecError, match="expected a time or a rate as a cost, found query in 'byte'"):
        chosen(table)
