"""The first section, what was found: a sentence, the gravest caution, a mean per contender as a picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvdyno.model.results import Analysis, Caution
from plots.units import quantity

from .forest import Mark, advice, headline_ratios, marks, reach, verdict_of
from .looks import verdict_kind
from .spots import Spots
from .summary import durability_text, interval_text, ratio_text
from .trust import weighed
from .words import metric_title


@dataclass(frozen=True)
class Standing:
    """A contender's mean over points against the baseline.

    `note` counts verdicts point by point, which are `mixed` where some are decided each way. `advice` names
    what would settle an undecided mean, `promise` what a crash takes if that differs from the baseline.
    """

    label: str
    rank: int
    text: str
    verdict: str
    kind: str
    note: str
    mixed: bool
    advice: str
    promise: str
    mark: Mark


@dataclass(frozen=True)
class Alone:
    """A point's value where nothing is compared; `share` is its length in the picture, in percent."""

    name: str
    rank: int
    text: str
    share: float


@dataclass(frozen=True)
class Found:
    """What the section shows. `factor` is how far the picture reaches to each side of 1."""

    headline: str
    standings: tuple[Standing, ...]
    factor: float
    alone: tuple[Alone, ...]
    gravest: Caution | None
    more_cautions: int
    metric: str


def what_was_found(analysis: Analysis, spots: Spots) -> Found:
    """The section of an analysis."""
    rows = analysis.overall
    rows = rows[(rows["metric"] == analysis.headline_metric) & (rows["baseline"] == analysis.baseline)]
    records = sorted(rows.to_dict("records"), key=lambda row: spots.rank(str(row["label"])))
    factor = reach(records)
    standings = tuple(_standing(row, factor, analysis, spots) for row in records)
    cautions = weighed(analysis.cautions)
    return Found(
        headline=_headline(standings, analysis),
        standings=standings,
        factor=factor,
        alone=() if standings else _alone(analysis, spots),
        gravest=cautions[0] if cautions else None,
        more_cautions=max(0, len(cautions) - 1),
        metric=metric_title(analysis.headline_metric),
    )


def _standing(row: dict[Any, Any], factor: float, analysis: Analysis, spots: Spots) -> Standing:
    label = str(row["label"])
    points = headline_ratios(analysis)
    verdicts = Counter(map(str, points.loc[points["label"] == label, "verdict"]))
    return Standing(
        label=label,
        rank=spots.rank(label),
        text=ratio_text(row),
        verdict=verdict_of(row, analysis),
        kind=verdict_kind(str(row["verdict"])),
        note=_counted(verdicts),
        mixed={"up", "down"} <= set(map(verdict_kind, verdicts)),
        advice=advice(row),
        promise=durability_text(label, analysis).removeprefix("; "),
        mark=marks(row, factor),
    )


def _counted(verdicts: Counter[str]) -> str:
    """Such as "faster at 3, undecided at 1 of 4 points", "" for a single point."""
    whole = verdicts.total()
    listed = ", ".join(f"{verdict} at {count}" for verdict, count in verdicts.most_common())
    return f"{listed} of {whole} points" if whole > 1 else ""


def _headline(standings: tuple[Standing, ...], analysis: Analysis) -> str:
    """The sentence that a reader takes away."""
    if not standings:
        return "One contender, so nothing is compared."
    up, down = _direction(standings)
    words = {"up": up, "down": down, "same": "the same", "open": "undecided"}
    parts = [
        f"{word.capitalize()}: {', '.join(_short(s) for s in standings if s.kind == kind)}"
        for kind, word in words.items()
        if any(s.kind == kind for s in standings)
    ]
    mixed = [s.label for s in standings if s.mixed]
    parts += [f"{up.capitalize()} at some points, {down} at others: {', '.join(mixed)}"] if mixed else []
    what = metric_title(analysis.headline_metric)
    return f"{what} against {analysis.baseline}, on average over the points. {'. '.join(parts)}."


def _short(standing: Standing) -> str:
    """Such as "LevelDB (1.02x)"."""
    return f"{standing.label} ({standing.text.split(' (')[0]})"


def _direction(standings: tuple[Standing, ...]) -> tuple[str, str]:
    """The words of the metric: rates are faster and slower, all else higher and lower."""
    said = {s.verdict.split(",")[0] for s in standings}
    return ("higher", "lower") if said & {"higher", "lower"} else ("faster", "slower")


def _alone(analysis: Analysis, spots: Spots) -> tuple[Alone, ...]:
    rows = analysis.estimates[analysis.estimates["headline"]]
    rows = rows[rows["metric"] == analysis.headline_metric]
    most = float(rows["median"].max()) if len(rows) else 0.0
    found = []
    for row in rows.to_dict("records"):
        spot = spots.of(row)
        interval = interval_text(row, row["unit"])
        text = quantity(row["median"], row["unit"]) + (f" ({interval})" if interval else "")
        share = 100 * row["median"] / most if most > 0 and not pd.isna(row["median"]) else 0.0
        found.append(Alone(spot.name, spot.rank, text, max(0.0, share)))
    return tuple(found)
