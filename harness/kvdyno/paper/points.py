"""The appendix' tables: all points of an experiment, and every point of every claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kvdyno.model.papers import Chapter, PaperCell, PaperTable
from kvdyno.model.words import verdict_words
from plots.units import axis_text, quantity, three_digits

from .claims import WORDS, Judged

_HEADS = ("median", "interval", "n", "over baseline", "interval", "verdict")


def points_table(chapter: Chapter) -> PaperTable | None:
    """A row per point with the metric that it is judged by, and its ratio; None if no point has a value."""
    analysis = chapter.analysis
    axes = ["label", *(axis.name for axis in analysis.varying)]
    rows = analysis.estimates[analysis.estimates["headline"]]
    rows = rows[rows["metric"] == analysis.headline_metric]
    if rows.empty:
        return None
    keys = ["label", *analysis.axis_names, "phase", "metric"]
    ratios = analysis.ratios[analysis.ratios["baseline"] == analysis.baseline]
    ratios = ratios[[*keys, "kind", "ratio", "low", "high", "verdict", "within"]]
    merged = rows.merge(ratios, on=keys, how="left", suffixes=("", "_ratio"))
    units = analysis.units
    found = []
    for row in merged.to_dict("records"):
        names = tuple(axis_text(row[name], units.get(name, "")) for name in axes)
        found.append((names, tuple(map(PaperCell, _cells(row, analysis.same_within)))))
    return PaperTable(
        id="points",
        title=f"All points of {chapter.name}",
        caption=f"{analysis.headline_metric} of phase {', else '.join(analysis.headline_phases)}; ratios are "
        f"paired within a repetition, over {analysis.baseline}.",
        names=("engine", *axes[1:]),
        columns=_HEADS,
        rows=tuple(found),
    )


def claims_table(claims: Sequence[Judged]) -> PaperTable | None:
    """A row per claim and point; None if no claim has any."""
    rows = [
        (
            (judged.experiment, judged.claim.id, judged.place(point) or "the only point"),
            (
                PaperCell(judged.number(point.value)),
                PaperCell("–" if point.low is None or point.high is None else judged.ends(point)),
                PaperCell(str(point.n)),
                PaperCell(WORDS[point.verdict], (f"({point.doubt})",) if point.doubt else ()),
            ),
        )
        for judged in claims
        for point in judged.claim.points
    ]
    if not rows:
        return None
    return PaperTable(
        id="claimpoints",
        title="Every claim at each of its points",
        caption="A point's verdict is not adjusted for the number of claims. A doubt in brackets is why it "
        "decides nothing.",
        names=("experiment", "claim", "point"),
        columns=("value", "interval", "n", "verdict"),
        rows=tuple(rows),
    )


def _cells(row: Mapping[Any, Any], margin: float) -> tuple[str, ...]:
    unit = str(row["unit"])
    value = (quantity(float(row["median"]), unit), _interval(row, "", unit), str(row["n"]))
    if row["kind"] != "ratio":
        return (*value, "", "", "")
    ratio = three_digits(float(row["ratio"]))
    verdict = verdict_words(str(row["verdict"]), within=row["within"] is True, margin=margin)
    return (*value, ratio, _interval(row, "_ratio", "ratio"), verdict)


def _interval(row: Mapping[Any, Any], suffix: str, unit: str) -> str:
    low, high = row[f"low{suffix}"], row[f"high{suffix}"]
    if pd.isna(low):
        return "–"
    if unit == "ratio":
        return f"{three_digits(float(low))} to {three_digits(float(high))}"
    return f"{quantity(float(low), unit)} to {quantity(float(high), unit)}"
