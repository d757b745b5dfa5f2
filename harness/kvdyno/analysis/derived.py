"""Metrics that an experiment makes of others: sums, and shares of sums, within a run and phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kvdyno.model.experiment import DerivedMetric


def with_derived(frame: pd.DataFrame, metrics: Sequence[DerivedMetric]) -> pd.DataFrame:
    """The tidy frame with a row more for each run, phase and derived metric whose terms are all there.

    A share of nothing is no number: where the terms of `over` add up to 0, there is no row. Nor is there one
    where the axis of `over_axis` has no value above 0, or that of `over_log` none above 1.
    """
    rows = [_rows(frame, metric) for metric in metrics]
    return pd.concat([frame, *rows], ignore_index=True) if rows else frame


def _rows(frame: pd.DataFrame, metric: DerivedMetric) -> pd.DataFrame:
    found = _shares(frame, metric).assign(metric=metric.id)
    if metric.over_axis is not None:
        found = _divided(found, pd.to_numeric(found[metric.over_axis]))
    if metric.over_log is not None:
        size = pd.to_numeric(found[metric.over_log])
        found = _divided(found, np.log10(size.where(size > 1, 1)))
    return found


def _divided(found: pd.DataFrame, divisor: pd.Series[float]) -> pd.DataFrame:
    positive = divisor > 0
    return found[positive].assign(value=found["value"][positive] / divisor[positive])


def _shares(frame: pd.DataFrame, metric: DerivedMetric) -> pd.DataFrame:
    """The sums, over those of `over` if there are any, in a unit of both."""
    total = _summed(frame, metric.sum)
    if not metric.over:
        return total
    base = _summed(frame, metric.over)[["run_id", "phase", "value", "unit"]]
    both = total.merge(base, on=["run_id", "phase"], suffixes=("", "_over"))
    both = both[both["value_over"] != 0]
    unit = (both["unit"] + "/" + both["unit_over"]).where(both["unit"] != both["unit_over"], "ratio")
    share = both["value"] / both["value_over"]
    return both.assign(value=share, unit=unit).drop(columns=["value_over", "unit_over"])


def _summed(frame: pd.DataFrame, terms: Sequence[str]) -> pd.DataFrame:
    """A row for each run and phase that has every term, with their sum. A term that is named twice counts
    twice.
    """
    values = frame[frame["metric"].isin(terms)]
    counts = {term: terms.count(term) for term in terms}
    weights = values["metric"].map(counts).astype("float64")  # without rows it would be text
    groups = values.assign(value=values["value"] * weights).groupby(["run_id", "phase"], sort=False)
    whole = groups["metric"].transform("nunique") == len(set(terms))
    summed = groups["value"].transform("sum")
    return values.assign(value=summed)[whole].drop_duplicates(["run_id", "phase"])
