"""Metrics made of others: sums and shares within a run and phase."""

from __future__ import annotations

import pandas as pd
import pytest

from kvdyno.analysis.derived import with_derived
from kvdyno.model.experiment import DerivedMetric

SHARE = DerivedMetric(id="hits", sum=("munk", "rows"), over=("munk", "rows", "disk"))


def frame(*values: tuple[str, str, str, float]) -> pd.DataFrame:
    table = pd.DataFrame(values, columns=["run_id", "phase", "metric", "value"])
    return table.assign(label="e", unit="op")


def derived(table: pd.DataFrame, metric: DerivedMetric = SHARE) -> dict[tuple[str, str], tuple[float, str]]:
    rows = with_derived(table, [metric])
    assert rows.iloc[: len(table)].equals(table)
    mine = rows[rows["metric"] == metric.id]
    assert set(mine.columns) == set(table.columns)
    return {(r.run_id, r.phase): (r.value, r.unit) for r in mine.itertuples()}


WHOLE = [("r", "run", "munk", 6.0), ("r", "run", "rows", 2.0), ("r", "run", "disk", 2.0)]


def test_a_share_is_found_in_each_run_and_phase() -> None:
    other = [("s", "run", "munk", 1.0), ("s", "run", "rows", 0.0), ("s", "run", "disk", 3.0)]
    assert derived(frame(*WHOLE, *other)) == {("r", "run"): (0.8, "ratio"), ("s", "run"): (0.25, "ratio")}


def test_without_runs_there_is_nothing() -> None:
    nothing = frame(*WHOLE).iloc[:0]
    for metric in (SHARE, DerivedMetric(id="all", sum=("munk", "disk"))):
        assert with_derived(nothing, [metric]).empty


def test_a_sum_keeps_the_unit_of_its_terms() -> None:
    assert derived(frame(*WHOLE), DerivedMetric(id="all", sum=("munk", "disk"))) == {
        ("r", "run"): (8.0, "op")
    }


def test_a_term_that_is_named_twice_counts_twice() -> None:
    assert derived(frame(*WHOLE), DerivedMetric(id="x", sum=("disk", "disk"))) == {("r", "run"): (4.0, "op")}


def test_a_quotient_of_two_units_has_both() -> None:
    table = frame(("r", "run", "seconds", 4.0), ("r", "run", "operations", 8.0))
    table["unit"] = ["s", "op"]
    cost = DerivedMetric(id="cost", sum=("seconds",), over=("operations",))
    assert derived(table, cost) == {("r", "run"): (0.5, "s/op")}


def test_a_slope_is_over_the_logarithm_of_the_axis() -> None:
    sizes = {"small": 100, "large": 10000, "one": 1}
    rows = [(run, "run", name, value) for run in sizes for name, value in (("seconds", 8.0), ("rows", 2.0))]
    table = frame(*rows).assign(records=lambda t: t["run_id"].map(sizes).astype(object))
    slope = DerivedMetric(id="slope", sum=("seconds",), over=("rows",), over_log="records")
    found = {run: value for (run, _), (value, _) in derived(table, slope).items()}
    assert found == {"small": 2.0, "large": 1.0}, "log 1 is 0: no slope"


def test_a_metric_is_over_the_value_of_an_axis() -> None:
    sizes = {"one": 1, "many": 1000, "none": 0}
    table = frame(*((run, "run", "seconds", 8.0) for run in sizes))
    table = table.assign(k=table["run_id"].map(sizes).astype(object))
    each = DerivedMetric(id="each", sum=("seconds",), over_axis="k")
    assert {run: value for (run, _), (value, _) in derived(table, each).items()} == {
        "one": 8.0,
        "many": 0.008,
    }


@pytest.mark.parametrize("missing", ["munk", "disk"])
def test_a_run_that_lacks_a_term_has_no_such_metric(missing: str) -> None:
    assert derived(frame(*(row for row in WHOLE if row[2] != missing))) == {}


def test_a_share_of_nothing_is_no_number() -> None:
    assert derived(frame(*((*row[:3], 0.0) for row in WHOLE))) == {}
