"""Claims in a paper: their verdict's word, their measured value, and sentences that the verdict chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvdyno.model.results import Analysis, ClaimPoint, ClaimResult, ClaimVerdict
from plots.units import axis_text, quantity, three_digits

from .numbers import NOT_MEASURED, kept_together
from .templates import Tex, tex

#: What a paper calls a verdict.
WORDS: Mapping[ClaimVerdict, str] = {
    "supported": "holds",
    "contradicted": "contradicted",
    "undecided": "undecided",
    "not measured": "not measured",
}
#: What follows a claim's text, by its verdict.
_ENDINGS: Mapping[ClaimVerdict, str] = {
    "supported": "This holds here",
    "contradicted": "The records contradict this",
    "undecided": "The records leave this undecided",
    "not measured": "This was",
}
_FEW = 3  # points whose values a sentence lists


@dataclass(frozen=True)
class Judged:
    """A claim of an experiment, for templates."""

    experiment: str
    claim: ClaimResult
    analysis: Analysis

    @property
    def word(self) -> str:
        """The verdict: holds, contradicted, undecided or not measured."""
        return WORDS[self.claim.verdict]

    @property
    def mark(self) -> Tex:
        """The verdict in its colour."""
        return Tex(rf"\verdict{{{self.claim.verdict.replace(' ', '')}}}{{{self.word}}}")

    @property
    def measured(self) -> Tex:
        """The values: one with its interval and n, or from the smallest to the largest of several points."""
        points = self.claim.points
        if not points:
            return NOT_MEASURED
        if len(points) == 1:
            return self.at(points[0])
        low, high = (pick(point.value for point in points) for pick in (min, max))
        n = sorted({point.n for point in points})
        n_text = f"n = {n[0]}" if len(n) == 1 else f"n = {n[0]} to {n[-1]}"
        ends = f"{self.number(low)} to {self.number(high)}"
        return kept_together(f"{ends} at {len(points)} points ({n_text} each)")

    @property
    def sentence(self) -> Tex:
        """The claim, what the records show of it, and what would decide it if they do not."""
        claim = self.claim
        text = tex(claim.text.rstrip("."))
        ending = _ENDINGS[claim.verdict]
        if claim.verdict == "not measured":
            return Tex(f"{text}. {ending} {NOT_MEASURED}.")
        values = "; ".join(self._placed(point) for point in claim.points[:_FEW])
        listed = values if len(claim.points) <= _FEW else self.measured
        why = f" ({tex(claim.why)})" if claim.why and claim.verdict == "undecided" else ""
        settle = f" What would settle it: {tex(claim.settle)}." if claim.settle else ""
        return Tex(f"{text}. {ending}: {listed}{why}.{settle}")

    def at(self, point: ClaimPoint) -> Tex:
        """A point's value with interval and n."""
        n = f"n = {point.n}"
        if point.low is None or point.high is None:
            return kept_together(f"{self.number(point.value)} ({n}, no interval)")
        return kept_together(f"{self.number(point.value)} ({self.ends(point)}, {n})")

    def ends(self, point: ClaimPoint) -> str:
        """A point's interval: "1.31 to 1.55"."""
        return " to ".join(self.number(end) for end in (point.low, point.high) if end is not None)

    def place(self, point: ClaimPoint) -> str:
        """The varying axes of a point: "p zipf-composite 4 GiB"."""
        varying = {axis.name: axis.unit for axis in self.analysis.varying}
        return " ".join(axis_text(v, varying[name]) for name, v in point.axes.items() if name in varying)

    def _placed(self, point: ClaimPoint) -> Tex:
        place = self.place(point)
        return Tex(f"{self.at(point)} at {tex(place)}") if place else self.at(point)

    def number(self, value: float) -> str:
        """A value of the claim, with its unit."""
        return three_digits(value) if self.claim.unit in ("", "ratio") else quantity(value, self.claim.unit)


def chosen(judged: Judged, texts: Mapping[ClaimVerdict, str]) -> Tex:
    """The text for the claim's verdict: LaTeX, where <value> and <expected> stand for the records' words."""
    text = texts[judged.claim.verdict]
    text = text.replace("<value>", judged.measured).replace("<expected>", tex(judged.claim.expected))
    return Tex(text)
