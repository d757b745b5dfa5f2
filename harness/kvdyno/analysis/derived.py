"""Metrics that an experiment makes of others: sums, and shares of sums, within a run and phase."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from kvdyno.model.experiment import DerivedMetric


def with_derived(frame: pd.DataFrame, metrics: Sequence[DerivedMetric]) -> pd.DataFrame:
    """The tidy frame with a row more for each run, phase and derived metric whose terms are all there.

    A share of nothing is no number: where the terms of `over` add up to 0, there is no row.
    """
    rows = [_rows(frame, metric) for metric in metrics]
    return pd.concat([frame, *rows], ignore_index=True) if rows else frame


def _rows(frame: pd.DataFrame, metric: DerivedMetric) -> pd.DataFrame:
    total = _summed(frame, metric.sum)
    if not metric.over:
        return total.assign(metric=metric.id)
    base = _summed(frame, metric.over)[["run_id", "phase", "value"]]
    both = total.merge(base, on=["run_id", "phase"], suffixes=("", "_over"))
    both = both[both["value_over"] != 0]
    share = both["value"] / both["value_over"]
    return both.assign(metric=metric.id, value=share, unit="ratio").drop(columns="value_over")


def _summed(frame: pd.DataFrame, terms: Sequence[str]) -> pd.DataFrame:
    """A row for each run and phase that has every term, with their sum. A term that is named twice counts
    twice.
    """
    values = frame[frame["metric"].isin(terms)]
    weights = values["metric"].map({term: terms.count(term) for term in terms})
    groups = values.assign(value=values["value"] * weights).groupby(["run_id", "phase"], sort=False)
    whole = groups["metric"].transform("nunique") == len(set(terms))
    summed = groups["value"].transform("sum")
    return values.assign(value=summed)[whole].drop_duplicates(["run_id", "phase"])
