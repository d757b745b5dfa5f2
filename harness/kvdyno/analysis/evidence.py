"""What a claim is judged by, and the claim's value at each point, with tests of its bounds.

Tests are Student's t, two-sided. A test on logarithms is one of ratios, or of values that are all positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvdyno.model.experiment import AxisValue, ClaimSpec
from kvdyno.model.results import ClaimPoint, ClaimResult, ClaimVerdict, resolve_label

from .verdicts import LEVEL, one_sided, repetitions_needed


@dataclass(frozen=True)
class Objection:
    """Why the numbers of a point cannot be trusted, and what to do about it."""

    reason: str
    remedy: str = ""


#: The first objection to a point (its axes); None if there is none.
Doubts = Callable[[Mapping[str, AxisValue]], Objection | None]


@dataclass(frozen=True)
class Evidence:
    """What a claim is judged by: rows of `Analysis.estimates` and of ratios (`Analysis.ratios`, or all of
    those of along.py) restricted to its `where`, and how many points the plan has for it: with points
    missing, nothing is shown of every point. `along` names what a claim along an axis compares. `stepped`:
    whether a step of a host may be why a point that was measured has no ratio (drift.py).
    """

    estimates: pd.DataFrame
    ratios: pd.DataFrame
    planned: int
    doubts: Doubts
    along: str = ""
    stepped: bool = False


def measured(spec: ClaimSpec, seen: Evidence, axes: Sequence[str], *, among: int) -> ClaimResult:
    """The claim with its points, not yet judged; it is one `among` so many."""
    table, value = _rows(spec, seen)
    rows = [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
    points = tuple(
        _point(row, value=value, axes=axes, spec=spec, doubts=seen.doubts, among=among) for row in rows
    )
    unit = "ratio" if value == "ratio" else (str(table["unit"].iloc[0]) if len(table) else "")
    return ClaimResult(
        id=spec.id,
        text=spec.text,
        source=spec.source,
        expected=f"{_subject(spec, along=seen.along)} {_bounds(spec)}",
        bounds=_bounds(spec),
        unit=unit,
        verdict="undecided",
        why="",
        points=points,
        published=spec.published,
    )


def _rows(spec: ClaimSpec, seen: Evidence) -> tuple[pd.DataFrame, str]:
    """The rows that the claim is about, and the column of their value."""
    if spec.steps:
        return seen.ratios, "ratio"
    table, value = seen.estimates, "median"
    if spec.relative_to is not None:
        table, value = seen.ratios, "ratio"
        table = table[table["baseline"] == resolve_label(spec.relative_to, seen.estimates)]
    table = table[table["label"] == resolve_label(spec.engine, seen.estimates)]
    return table[(table["metric"] == spec.metric) & (table["phase"] == spec.phase)], value


def _point(
    row: Mapping[str, Any],
    *,
    value: str,
    axes: Sequence[str],
    spec: ClaimSpec,
    doubts: Doubts,
    among: int,
) -> ClaimPoint:
    held = [name for name in axes if name not in spec.along and not pd.isna(row[name])]  # a load has no age
    place = {name: _axis_value(row[name]) for name in held}
    if len(spec.steps) > 1:
        place |= dict.fromkeys(spec.along, str(row["step"]))
    doubt = doubts(place) or _objection(row, spec=spec)
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
    known = doubt is None and low is not None
    p_inside, p_outside = _tests(row, spec=spec) if known else (None, None)
    return ClaimPoint(
        axes=place,
        value=float(row[value]),
        low=low,
        high=high,
        n=int(row["n"]),
        verdict=_point_verdict(p_inside, p_outside),
        doubt=doubt.reason if doubt else "",
        remedy=doubt.remedy if doubt else "",
        p_inside=p_inside,
        p_outside=p_outside,
        needed=_needed(row, spec=spec, among=among) if known else None,
    )


def _objection(row: Mapping[str, Any], *, spec: ClaimSpec) -> Objection | None:
    """What speaks against a ratio itself."""
    if row.get("kind") == "difference":
        return Objection("a value is 0, so there is no ratio", "choose a longer run or a larger profile")
    if not row.get("paired", True):
        sides = "values" if spec.along and "engine" not in spec.along else "engines"
        return Objection(f"the {sides} were measured in different sweeps", "measure them in one sweep")
    return None


def _is_log(row: Mapping[str, Any]) -> bool:
    return bool(row["kind"] == "ratio" if "kind" in row else row["smallest"] > 0)


def _needed(row: Mapping[str, Any], *, spec: ClaimSpec, among: int) -> int:
    """Repetitions that would probably show on which side of its nearest bound a value lies, if it is where it
    was found. Like the verdict of the claim it is adjusted for the number of claims, by Bonferroni.
    """
    log = _is_log(row)
    bounds = [_scaled(bound, log) for bound in (spec.at_least, spec.at_most) if bound is not None]
    room = min(abs(row["mean"] - bound) for bound in bounds)
    sd = row["error"] * math.sqrt(row["n"])
    return repetitions_needed(room, sd=sd, level=LEVEL / among) if room > 0 else 0


def _tests(row: Mapping[str, Any], *, spec: ClaimSpec) -> tuple[float, float]:
    """p-values of "not inside the bounds" and "not outside of them"."""
    log = _is_log(row)
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


def _axis_value(value: object) -> AxisValue:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _subject(spec: ClaimSpec, *, along: str) -> str:
    """What is bounded: "evendb / rocksdb: throughput of run", "evendb, log_limit 32 MiB / 2 MiB: …"."""
    engines = f"{spec.engine} / {spec.relative_to}" if spec.relative_to else spec.engine
    return f"{', '.join(filter(None, (engines, along)))}: {spec.metric} of {spec.phase}"


def _bounds(spec: ClaimSpec) -> str:
    parts = [f"≥ {spec.at_least:g}"] if spec.at_least is not None else []
    parts += [f"≤ {spec.at_most:g}"] if spec.at_most is not None else []
    where = "at some point " if spec.holds_at == "some" else ""
    each = "each over the next " if len(spec.steps) > 1 else ""
    return each + where + (" and ".join(parts) or "(no bounds given)")
