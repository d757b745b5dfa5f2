"""Verdicts on claims: does the value lie inside the stated bounds, outside them, or is neither shown?

- **Supported**: at every point the value is shown to be inside. Each point is tested by itself, without
  adjustment: a claim that needs every point is an intersection-union test, whose level is that of its weakest
  part (Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982).
- **Contradicted**: at one point or more the value is shown to be outside. That is a choice among points, so
  each p-value is multiplied by their number (Bonferroni).
- Several claims of one report are adjusted by Holm (verdicts.holm).
- **Undecided**: else. A point whose numbers are in doubt (lost runs, a grave caution, ...) shows nothing.

Where a claim is about some point ("up to 1.6 times"), the two change places: one point that is shown to be
inside supports it, and every point must be shown to be outside to contradict it.

Tests are Student's t at 5 %, two-sided, so that a claim about one point that stands alone is supported
exactly if the 95 % interval lies inside its bounds (the logic of interval tests of equivalence: Schuirmann
1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from kvdyno.model.experiment import AxisValue, ClaimSpec
from kvdyno.model.results import ClaimPoint, ClaimResult, ClaimVerdict, resolve_label

from .verdicts import LEVEL, holm, one_sided

#: Why the numbers of a point (its axes) cannot be trusted; "" if they can.
Doubts = Callable[[Mapping[str, AxisValue]], str]


@dataclass(frozen=True)
class Evidence:
    """What a claim is judged by: rows of `Analysis.estimates` and of ratios (`Analysis.ratios`, or those of
    along.py) restricted to its `where`, and how many points it covers: with points missing, nothing is shown
    of every point.
    """

    estimates: pd.DataFrame
    ratios: pd.DataFrame
    planned: int
    doubts: Doubts


def judge_claims(
    specs: Sequence[ClaimSpec], *, evidence: Sequence[Evidence], axes: Sequence[str]
) -> tuple[ClaimResult, ...]:
    """The verdicts on all claims of a report."""
    found = [
        _Judged(_measured(spec, seen, axes), planned=seen.planned, some=spec.holds_at == "some")
        for spec, seen in zip(specs, evidence, strict=True)
    ]
    adjusted = holm([min(each.p_inside, each.p_outside) for each in found])
    return tuple(
        each.concluded(float(p), alone=len(found) == 1) for each, p in zip(found, adjusted, strict=True)
    )


def _measured(spec: ClaimSpec, seen: Evidence, axes: Sequence[str]) -> ClaimResult:
    """The claim with its points, not yet judged."""
    table, value = seen.estimates, "median"
    if spec.relative_to is not None or spec.along:
        table, value = seen.ratios, "ratio"
        table = table[table["baseline"] == resolve_label(spec.relative_to or spec.engine, seen.estimates)]
    table = table[table["label"] == resolve_label(spec.engine, seen.estimates)]
    table = table[(table["metric"] == spec.metric) & (table["phase"] == spec.phase)]
    rows = [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
    points = tuple(_point(row, value=value, axes=axes, spec=spec, doubts=seen.doubts) for row in rows)
    unit = "ratio" if value == "ratio" else (str(table["unit"].iloc[0]) if len(table) else "")
    return ClaimResult(
        id=spec.id,
        text=spec.text,
        source=spec.source,
        expected=_bounds_text(spec),
        unit=unit,
        verdict="undecided",
        why="",
        points=points,
    )


def _point(
    row: Mapping[str, Any], *, value: str, axes: Sequence[str], spec: ClaimSpec, doubts: Doubts
) -> ClaimPoint:
    place = {name: _axis_value(row[name]) for name in axes if name not in spec.along}
    doubt = doubts(place)
    if row.get("kind") == "difference":
        doubt = "a value is 0, so there is no ratio"
    elif not row.get("paired", True):
        doubt = doubt or f"the {'values' if spec.along else 'engines'} were measured in different sweeps"
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
    p_inside, p_outside = _tests(row, spec=spec) if not doubt and low is not None else (None, None)
    return ClaimPoint(
        axes=place,
        value=float(row[value]),
        low=low,
        high=high,
        n=int(row["n"]),
        verdict=_point_verdict(p_inside, p_outside),
        doubt=doubt,
        p_inside=p_inside,
        p_outside=p_outside,
    )


def _tests(row: Mapping[str, Any], *, spec: ClaimSpec) -> tuple[float, float]:
    """p-values of "not inside the bounds" and "not outside of them"."""
    log = row["kind"] == "ratio" if "kind" in row else row["smallest"] > 0
    mean, error, freedom = row["mean"], row["error"], row["freedom"]
    not_above, not_below, outside = 0.0, 0.0, [1.0]
    if spec.at_least is not None:
        above = mean - _scaled(spec.at_least, log)
        not_above = one_sided(above, error, freedom, at_zero=0)
        outside.append(one_sided(-above, error, freedom, at_zero=1))
    if spec.at_most is not None:
        below = _scaled(spec.at_most, log) - mean
        not_below = one_sided(below, error, freedom, at_zero=0)
        outside.append(one_sided(-below, error, freedom, at_zero=1))
    return min(1.0, 2 * max(not_above, not_below)), min(1.0, 2 * min(outside))


def _scaled(bound: float, log: bool) -> float:
    if not log:
        return bound
    return math.log(bound) if bound > 0 else -math.inf


def _point_verdict(p_inside: float | None, p_outside: float | None) -> ClaimVerdict:
    if p_outside is not None and p_outside <= LEVEL:
        return "contradicted"
    return "supported" if p_inside is not None and p_inside <= LEVEL else "undecided"


@dataclass(frozen=True)
class _Judged:
    """A claim with its points, of `planned` that it covers; `some`: whether one of them is enough."""

    claim: ClaimResult
    planned: int
    some: bool

    @property
    def p_inside(self) -> float:
        """p-value of "not inside", at some point or at every one. NaN without points."""
        return _p_of([point.p_inside for point in self.claim.points], some=self.some)

    @property
    def p_outside(self) -> float:
        """p-value of "not outside", at every point or at some one. NaN without points."""
        return _p_of([point.p_outside for point in self.claim.points], some=not self.some)

    def concluded(self, p: float, *, alone: bool) -> ClaimResult:
        """The claim with its verdict; `p` is the adjusted one of what it shows, inside or outside."""
        if not self.claim.points:
            return replace(self.claim, verdict="not measured", why="no run that ended well covers it")
        verdict, why = self._verdict(p)
        single = min(self.p_inside, self.p_outside)
        if verdict == "undecided" and single <= LEVEL < p and not alone:
            why = f"decided if it stood alone (p = {single:.2g}), but not among so many claims (p = {p:.2g})"
        return replace(self.claim, verdict=verdict, why=why)

    def _verdict(self, p: float) -> tuple[ClaimVerdict, str]:
        points = self.claim.points
        of = f"of {len(points)} point{'s' if len(points) > 1 else ''}"
        inside = sum(point.verdict == "supported" for point in points)
        outside = sum(point.verdict == "contradicted" for point in points)
        shown = {
            "supported": f"the value lies inside the bounds at {inside} {of}",
            "contradicted": f"the value lies outside the bounds at {outside} {of}",
        }
        by_one, by_all = ("supported", "contradicted") if self.some else ("contradicted", "supported")  # type: tuple[ClaimVerdict, ClaimVerdict]
        is_inside = self.p_inside < self.p_outside
        if p <= LEVEL and is_inside == self.some:
            return by_one, shown[by_one]
        missing = max(0, self.planned - len(points))
        if missing:
            return "undecided", f"inside the bounds at {inside} {of}, but {missing} more were not measured"
        doubted = [point for point in points if point.doubt]
        if doubted:
            return "undecided", f"in doubt at {len(doubted)} {of}: {_reasons(doubted)}"
        if p <= LEVEL:
            return by_all, shown[by_all]
        single = sum(point.low is None for point in points)
        because = f"; {single} have one run and so no interval" if single else ""
        left = len(points) - inside - outside
        return "undecided", f"neither inside nor outside is shown at {left} {of}{because}"


def _p_of(values: Sequence[float | None], *, some: bool) -> float:
    """The p-value of some of them being shown is the smallest, times how many are known (Bonferroni); that of
    all being shown is the largest, where one that is not known shows nothing (intersection-union).
    """
    if not values:
        return math.nan
    if not some:
        return max(1.0 if value is None else value for value in values)
    known = [value for value in values if value is not None]
    return min(1.0, len(known) * min(known)) if known else 1.0


def _reasons(points: Sequence[ClaimPoint]) -> str:
    return "; ".join(dict.fromkeys(point.doubt for point in points))


def _axis_value(value: object) -> AxisValue:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _bounds_text(spec: ClaimSpec) -> str:
    parts = [f"≥ {spec.at_least:g}"] if spec.at_least is not None else []
    parts += [f"≤ {spec.at_most:g}"] if spec.at_most is not None else []
    subject = f"{spec.engine} / {spec.relative_to}" if spec.relative_to else spec.engine
    if spec.steps is not None:
        axis, above, below = spec.steps
        subject = f"{spec.engine}, {axis} {above} / {below}"
    where = "at some point " if spec.holds_at == "some" else ""
    bounds = " and ".join(parts) or "(no bounds given)"
    return f"{subject}: {spec.metric} of {spec.phase} {where}{bounds}"
