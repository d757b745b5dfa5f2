"""Verdicts on claims: does the interval lie inside the stated bounds, outside them, or across one?

An interval inside the bounds supports the claim, one wholly outside contradicts it, and one that crosses a
bound leaves it undecided; so does a single run, which has no interval. (The logic of interval tests of
equivalence: Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987.) A claim over several points
needs every point: one contradiction contradicts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kvdyno.model.experiment import AxisValue, ClaimSpec
from kvdyno.model.results import ClaimPoint, ClaimResult, ClaimVerdict, resolve_label


def judge_claim(
    spec: ClaimSpec,
    *,
    estimates: pd.DataFrame,
    ratios: pd.DataFrame,
    axes: Sequence[str],
    planned: int,
) -> ClaimResult:
    """The verdict on one claim from rows of `Analysis.estimates` and, if it is relative, `Analysis.ratios`.

    Both tables are already restricted to the claim's `where`. `planned` is how many points the claim covers:
    with points missing it cannot be supported.
    """
    table, value = estimates, "median"
    if spec.relative_to is not None:
        table, value = ratios[ratios["baseline"] == resolve_label(spec.relative_to, estimates)], "ratio"
    table = table[table["label"] == resolve_label(spec.engine, estimates)]
    table = table[(table["metric"] == spec.metric) & (table["phase"] == spec.phase)]
    points = tuple(_judge_point(row, value=value, axes=axes, spec=spec) for row in _rows(table))
    verdict, why = _conclude(points, planned=planned)
    unit = "ratio" if spec.relative_to else (str(table["unit"].iloc[0]) if len(table) else "")
    return ClaimResult(
        id=spec.id,
        text=spec.text,
        source=spec.source,
        expected=_bounds_text(spec),
        unit=unit,
        verdict=verdict,
        why=why,
        points=points,
    )


def verdict_of(
    low: float | None, high: float | None, *, at_least: float | None, at_most: float | None
) -> ClaimVerdict:
    """The verdict on one interval; without an interval, undecided."""
    if low is None or high is None:
        return "undecided"
    if (at_least is not None and high < at_least) or (at_most is not None and low > at_most):
        return "contradicted"
    if (at_least is None or low >= at_least) and (at_most is None or high <= at_most):
        return "supported"
    return "undecided"


def _judge_point(row: Mapping[str, Any], *, value: str, axes: Sequence[str], spec: ClaimSpec) -> ClaimPoint:
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
    return ClaimPoint(
        axes={name: _axis_value(row[name]) for name in axes},
        value=float(row[value]),
        low=low,
        high=high,
        n=int(row["n"]),
        verdict=verdict_of(low, high, at_least=spec.at_least, at_most=spec.at_most),
    )


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]


def _axis_value(value: object) -> AxisValue:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _conclude(points: Sequence[ClaimPoint], *, planned: int) -> tuple[ClaimVerdict, str]:
    total = len(points)
    if total == 0:
        return "not measured", "no run that ended well covers it"
    outside = sum(p.verdict == "contradicted" for p in points)
    inside = sum(p.verdict == "supported" for p in points)
    of = f"of {total} point{'s' if total > 1 else ''}"
    if outside:
        return "contradicted", f"the interval lies outside the bounds at {outside} {of}"
    missing = max(0, planned - total)
    if missing:
        return "undecided", f"inside the bounds at {inside} {of}, but {missing} more were not measured"
    if inside == total:
        return "supported", f"the interval lies inside the bounds at {inside} {of}"
    single = sum(p.low is None for p in points)
    because = f"; {single} have one run and so no interval" if single else ""
    return "undecided", f"the interval crosses a bound at {total - inside - single} {of}{because}"


def _bounds_text(spec: ClaimSpec) -> str:
    parts = [f"≥ {spec.at_least:g}"] if spec.at_least is not None else []
    parts += [f"≤ {spec.at_most:g}"] if spec.at_most is not None else []
    subject = f"{spec.engine} / {spec.relative_to}" if spec.relative_to else spec.engine
    return f"{subject}: {spec.metric} of {spec.phase} {' and '.join(parts) or '(no bounds given)'}"
