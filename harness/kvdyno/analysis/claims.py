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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kvdyno.model.experiment import ClaimSpec
from kvdyno.model.results import ClaimPoint, ClaimResult, ClaimVerdict

from .evidence import Evidence, measured
from .verdicts import LEVEL, holm

_MEASURE = "measure the points that are missing: the sweep resumes"
_MEASURE_SPLIT = (
    f"{_MEASURE}, with blocks that a step of their host split; values of an axis on two sides of the step "
    "need --force --only"
)
_ON_THE_BOUND = "no number of repetitions that is worth it: a value lies on its bound"


def judge_claims(
    specs: Sequence[ClaimSpec], *, evidence: Sequence[Evidence], axes: Sequence[str]
) -> tuple[ClaimResult, ...]:
    """The verdicts on all claims of a report."""
    found = [
        _Judged(
            measured(spec, seen, axes, among=len(specs)),
            planned=seen.planned,
            some=spec.holds_at == "some",
            stepped=seen.stepped,
        )
        for spec, seen in zip(specs, evidence, strict=True)
    ]
    adjusted = holm([min(each.p_inside, each.p_outside) for each in found])
    return tuple(
        each.concluded(float(p), alone=len(found) == 1) for each, p in zip(found, adjusted, strict=True)
    )


@dataclass(frozen=True)
class _Judged:
    """A claim with its points, of `planned` that it covers; `some`: whether one of them is enough. `stepped`
    is as in Evidence.
    """

    claim: ClaimResult
    planned: int
    some: bool
    stepped: bool

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
            settle = self._measure if self.planned else "choose a profile whose grid has its points"
            why = "no run that ended well covers it"
            if self.stepped:
                why = "no runs that may be compared cover it"
            return replace(self.claim, verdict="not measured", why=why, settle=settle)
        verdict, why = self._verdict(p)
        single = min(self.p_inside, self.p_outside)
        if verdict == "undecided" and single <= LEVEL < p and not alone:
            why = f"decided if it stood alone (p = {single:.2g}), but not among so many claims (p = {p:.2g})"
        settle = self._settle() if verdict == "undecided" else ""
        return replace(self.claim, verdict=verdict, why=why, settle=settle)

    @property
    def _measure(self) -> str:
        """The remedy for points that are missing."""
        return _MEASURE_SPLIT if self.stepped else _MEASURE

    @property
    def _missing(self) -> int:
        return max(0, self.planned - len(self.claim.points))

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
        if self._missing:
            return (
                "undecided",
                f"inside the bounds at {inside} {of}, but {self._missing} more "
                + ("have no runs that may be compared" if self.stepped else "were not measured"),
            )
        doubted = [point for point in points if point.doubt]
        if doubted:
            return "undecided", f"in doubt at {len(doubted)} {of}: {_joined(p.doubt for p in doubted)}"
        if p <= LEVEL:
            return by_all, shown[by_all]
        single = sum(point.low is None for point in points)
        because = f"; {single} have one run and so no interval" if single else ""
        left = len(points) - inside - outside
        return "undecided", f"neither inside nor outside is shown at {left} {of}{because}"

    def _settle(self) -> str:
        """What would decide the claim; in the order in which `_verdict` looks for reasons."""
        if self._missing:
            return self._measure
        remedies = _joined(point.remedy for point in self.claim.points if point.doubt)
        if remedies:
            return remedies
        if any(point.low is None for point in self.claim.points):
            return "two repetitions or more"
        number = self._repetitions()
        return f"about {number} repetitions in a new sweep" if number else _ON_THE_BOUND

    def _repetitions(self) -> int:
        """Those that would probably decide it: at one point that is enough, else at all of them. 0 is more
        than the limit.
        """
        points = [point for point in self.claim.points if point.needed is not None]
        enough = [
            point.needed or 0 for point in points if point.needed and (_leans_inside(point) == self.some)
        ]
        every = [point.needed or 0 for point in points]
        number = min(enough) if enough else max(every, default=0) if all(every) else 0
        return max(number, max(point.n for point in points) + 1) if number else 0


def _leans_inside(point: ClaimPoint) -> bool:
    return (point.p_inside or 0) < (point.p_outside or 0)


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


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))
