"""Verdicts on claims, as lines for a terminal and as a document for scripts (claims.schema.json)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, get_args

from kvdyno.model.results import Analysis, ClaimLine, ClaimPoint, ClaimResult, ClaimVerdict
from plots.units import axis_text, quantity

SCHEMA_VERSION = "kvdyno.claims/1"


def claim_lines(analysis: Analysis) -> tuple[ClaimLine, ...]:
    """Every claim with its points, in the experiment's order."""
    return tuple(line for claim in analysis.claims for line in _lines(claim, analysis))


def _lines(claim: ClaimResult, analysis: Analysis) -> Iterator[ClaimLine]:
    if not claim.points:
        yield ClaimLine(claim.id, "", claim.bounds, "–", "", claim.verdict)
    for place, point in enumerate(claim.points):
        yield ClaimLine(
            claim=claim.id if place == 0 else "",
            point=_point(point, claim, analysis),
            bounds=claim.bounds if place == 0 else "",
            measured=_measured(point, claim),
            n=str(point.n),
            verdict=claim.verdict if place == 0 else "",
        )


def _point(point: ClaimPoint, claim: ClaimResult, analysis: Analysis) -> str:
    """The axes in which the claim's points differ: "zipf-simple 64 MiB"."""
    differing = [name for name in point.axes if len({each.axes.get(name) for each in claim.points}) > 1]
    return " ".join(axis_text(point.axes[name], analysis.units.get(name, "")) for name in differing)


def _measured(point: ClaimPoint, claim: ClaimResult) -> str:
    """ "1.42 (1.31 to 1.54)"; a point in doubt has a question mark."""
    if math.isnan(point.value):
        return "no ratio"
    text = quantity(point.value, claim.unit)
    if point.low is not None and point.high is not None:
        text += f" ({quantity(point.low, claim.unit)} to {quantity(point.high, claim.unit)})"
    return f"{text} ?" if point.doubt else text


def claims_document(analysis: Analysis) -> dict[str, Any]:
    """claims.json (docs/formats.md)."""
    verdicts = [claim.verdict for claim in analysis.claims]
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": analysis.experiment,
        "profile": analysis.profile,
        "notes": list(analysis.excluded),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in get_args(ClaimVerdict)},
        "claims": [_claim_document(claim) for claim in analysis.claims],
    }


def _claim_document(claim: ClaimResult) -> dict[str, Any]:
    return {
        "id": claim.id,
        "text": claim.text,
        "source": claim.source,
        "published": claim.published,
        "expected": claim.expected,
        "unit": claim.unit,
        "verdict": claim.verdict,
        "why": claim.why,
        "settle": claim.settle,
        "points": [_point_document(point) for point in claim.points],
    }


def _point_document(point: ClaimPoint) -> dict[str, Any]:
    return {
        "axes": dict(point.axes),
        "value": None if math.isnan(point.value) else point.value,
        "low": point.low,
        "high": point.high,
        "n": point.n,
        "verdict": point.verdict,
        "doubt": point.doubt,
        "needed": point.needed,
    }
