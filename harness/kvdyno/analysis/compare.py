"""Two sets of records, point by point: two commits, two builds, two machines, or two engines.

Where both sides hold the same sweep's repetitions, runs pair up inside a repetition; else the two sides are
independent samples (Welch), from one stretch of their host. Points of one metric and phase are one family
(verdicts.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from kvdyno.model.axes import DATASET
from kvdyno.model.exclusion import LeftOut
from kvdyno.model.experiment import SAME_WITHIN, AxisValue
from kvdyno.model.record import Record
from kvdyno.model.results import Comparison

from . import cautions
from .facts import point_name
from .frame import BLOCK, axes_of, axis_names, label_of, latest, tidy
from .outliers import excluded_cautions
from .ratios import Pairing, compared_rows, side, within_stretches

_Groups = Mapping[tuple[object, ...], pd.DataFrame]
_SIDES = ("unit", "paired", "n_before", "n_after", "before", "after")


def compare(
    records_a: Sequence[Record],
    records_b: Sequence[Record],
    *,
    left_out: Sequence[LeftOut] = (),
) -> Comparison:
    """B over A of every metric that both sides have, point by point: the ratio, or where a value is 0 or
    negative the difference B - A.

    Points match by contender and axes; if the two sides have one contender each and they differ, by axes
    alone, and the row's label is "B / A". `left_out`: excluded hosts whose runs are on neither side.
    """
    (a, mixed_before), (b, mixed_after) = _newest(records_a), _newest(records_b)
    names = axis_names([*a, *b])
    rename = _common_label(a, b)
    before, after = (_points(side, rename=rename, among=[*a, *b]) for side in (a, b))
    keys = ["label", *names, "phase", "metric"]
    left, right = (_grouped(side, keys) for side in (before, after))
    found = ((key, _row(left[key], right[key])) for key in left if key in right)
    rows = [(*key, *row) for key, row in found if row]
    table = compared_rows(
        rows, columns=[*keys, *_SIDES], families=["phase", "metric"], margin=SAME_WITHIN
    ).astype({"paired": bool})
    measured_before, measured_after = (_point_names(side, names) for side in (left, right))
    return Comparison(
        rows=table,
        axes=names,
        matched=len(measured_before.keys() & measured_after.keys()),
        only_before=tuple(measured_before[k] for k in measured_before if k not in measured_after),
        only_after=tuple(measured_after[k] for k in measured_after if k not in measured_before),
        cautions=(
            *cautions.several_identities(mixed_before, side="before"),
            *cautions.several_identities(mixed_after, side="after"),
            *cautions.conditions([*a, *b]),
            *excluded_cautions(left_out),
        ),
    )


def _newest(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Records of one identity for each contender and axes, the one that ran last, and the names of the points
    that had several (builds, profiles or settings): such runs measured different things and are never pooled.
    """
    points: dict[tuple[str, frozenset[tuple[str, AxisValue]]], list[Record]] = {}
    for record in latest(records):
        points.setdefault((label_of(record), frozenset(axes_of(record).items())), []).append(record)
    kept, mixed = [], []
    for (label, _), some in points.items():
        newest = max(some, key=lambda record: record.started_at)
        kept += [record for record in some if record.point.identity == newest.point.identity]
        if len({record.point.identity for record in some}) > 1:
            mixed.append(_name(label, axes_of(newest)))
    return kept, mixed


def _common_label(a: Sequence[Record], b: Sequence[Record]) -> str | None:
    """The label "B / A" if each side has one contender and they differ, else None: labels stay."""
    left, right = {label_of(r) for r in a}, {label_of(r) for r in b}
    if len(left) == len(right) == 1 and left != right:
        return f"{right.pop()} / {left.pop()}"
    return None


def _points(records: Sequence[Record], *, rename: str | None, among: Sequence[Record]) -> pd.DataFrame:
    frame = tidy(records, among=among)
    finite: pd.DataFrame = frame[np.isfinite(frame["value"])]
    return finite.assign(label=rename) if rename else finite


def _grouped(frame: pd.DataFrame, keys: Sequence[str]) -> _Groups:
    """Rows by key; an axis that a side lacks, or a point does not have, is None in the key."""
    complete = frame.reindex(columns=list(dict.fromkeys([*frame.columns, *keys])))
    groups: dict[tuple[object, ...], pd.DataFrame] = {}
    for key, group in complete.groupby(list(keys), dropna=False, sort=False):
        groups[tuple(None if pd.isna(cast(Any, part)) else part for part in key)] = group
    return groups


def _row(before: pd.DataFrame, after: pd.DataFrame) -> tuple[object, ...] | None:
    """None if a step of the host separates all runs of both sides."""
    unit = str(after["unit"].iloc[0])
    pairing = _pairing(before, after)
    if pairing is None:
        return None
    medians = float(before["value"].median()), float(after["value"].median())
    return (unit, pairing.paired, len(before), len(after), *medians, *pairing.compared)


def _pairing(before: pd.DataFrame, after: pd.DataFrame) -> Pairing | None:
    """Pairs if each run of the side with fewer has one or had one before its host stepped, else two
    independent samples.
    """
    beside = [name for name in BLOCK if name != "stretch"]
    pairs = after.merge(before, on=beside, suffixes=("", "_b"))
    whole = pairs[pairs["stretch"] == pairs["stretch_b"]]
    if len(whole) and len(pairs) == min(len(before), len(after)):
        return Pairing(side(whole), side(whole, suffix="_b"), paired=True)
    after, before = within_stretches(after, before)
    if after.empty or before.empty:
        return None
    return Pairing(side(after), side(before), paired=False)


def _point_names(groups: _Groups, names: Sequence[str]) -> dict[tuple[object, ...], str]:
    """The points among the groups' keys, by name. A key begins with the label and these axes' values."""
    points = dict.fromkeys(key[: len(names) + 1] for key in groups)
    return {point: _name(str(point[0]), dict(zip(names, point[1:], strict=True))) for point in points}


def _name(label: str, axes: Mapping[str, object]) -> str:
    units = {name: "byte" if name == DATASET else "" for name in axes}
    return point_name(label, axes, units=units)
