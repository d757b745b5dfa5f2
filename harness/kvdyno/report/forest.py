"""Ratios as pictures: the forest plot, a row per comparison, and the heat map, a cell per comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvdyno.model.results import Analysis
from kvdyno.model.words import verdict_words
from plots.units import quantity, three_digits

from .looks import verdict_kind
from .spots import Spot, Spots
from .summary import ratio_text

#: How far a picture may reach: factors to each side of 1.
_FACTORS = (1.25, 1.5, 2.0, 4.0, 10.0, 100.0)
#: A ratio of this, or its inverse, has the heat map's full colour.
_FULL = 4.0


@dataclass(frozen=True)
class Mark:
    """Where a ratio stands in a picture of logarithms, 1 in the middle, in percent of the width.

    Its `centre`, and its interval's `left` and `width`; None where there is none.
    """

    centre: float | None = None
    left: float | None = None
    width: float | None = None


@dataclass(frozen=True)
class ForestRow:
    """One comparison; `spot` is None for a mean over points. `size` is what a table sorts ratios by,
    `advice` names what would settle an undecided one.
    """

    place: str
    label: str
    rank: int
    spot: Spot | None
    filters: str
    value: str
    text: str
    size: float | None
    n: int
    kind: str
    verdict: str
    words: str
    advice: str
    paired: bool
    doubts: int
    mark: Mark


@dataclass(frozen=True)
class Forest:
    """All comparisons of the headline metric with the baseline, and how far the pictures reach."""

    rows: tuple[ForestRow, ...]
    factor: float

    @property
    def all_paired(self) -> bool:
        """Whether every comparison pairs runs within a repetition."""
        return all(row.paired for row in self.rows)


@dataclass(frozen=True)
class HeatCell:
    """A comparison in short; `strength` is how much of the verdict's colour it gets, in percent."""

    text: str
    full: str
    kind: str
    strength: int
    spot: Spot


@dataclass(frozen=True)
class HeatMap:
    """Ratios by place and contender, or by the last axis where one contender is compared."""

    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[HeatCell | None, ...]], ...]


def reach(rows: Iterable[Mapping[Any, Any]]) -> float:
    """The factor that a picture of these ratios reaches to each side of 1."""
    logs = [abs(math.log(row["ratio"])) for row in rows if row["kind"] == "ratio"]
    return next((f for f in _FACTORS if math.log(f) >= 1.1 * max(logs, default=0.0)), _FACTORS[-1])


def marks(row: Mapping[Any, Any], factor: float) -> Mark:
    """Where a comparison stands in a picture that reaches to `factor`."""
    if row["kind"] != "ratio":
        return Mark()
    centre = _place(row["ratio"], factor)
    if pd.isna(row["low"]):
        return Mark(centre)
    left = _place(row["low"], factor)
    return Mark(centre, left, _place(row["high"], factor) - left)


def forest(analysis: Analysis, spots: Spots, *, doubts: Mapping[str, int]) -> Forest:
    """Means over points first, then point by point; `doubts` counts the cautions of a point by its name."""
    metric = analysis.headline_metric
    means = analysis.overall
    means = means[(means["metric"] == metric) & (means["points"] > 1)]
    means = means[means["baseline"] == analysis.baseline]
    points = headline_ratios(analysis)
    mean_rows = sorted(means.to_dict("records"), key=lambda row: spots.rank(str(row["label"])))
    point_rows = sorted(points.to_dict("records"), key=lambda row: spots.index[spots.of(row).anchor])
    factor = reach([*mean_rows, *point_rows])
    values = _medians(analysis, spots)
    rows = [_mean_row(row, factor, analysis, spots) for row in mean_rows]
    for row in point_rows:
        spot = spots.of(row)
        common = _common(row, factor, analysis)
        rows.append(
            ForestRow(
                place=spot.place, label=spot.label, rank=spot.rank, spot=spot, filters=spot.filters,
                value=values.get(spot.anchor, ""), doubts=doubts.get(spot.name, 0), **common,
            )
        )  # fmt: skip
    return Forest(tuple(rows), factor)


def headline_ratios(analysis: Analysis) -> pd.DataFrame:
    """The rows of `Analysis.ratios` that points are judged by, against the experiment's baseline."""
    rows = analysis.ratios[analysis.ratios["headline"]]
    return rows[(rows["baseline"] == analysis.baseline) & (rows["metric"] == analysis.headline_metric)]


def heat_map(analysis: Analysis, spots: Spots) -> HeatMap | None:
    """The same comparisons as a table; None where there are fewer than two."""
    records = headline_ratios(analysis).to_dict("records")
    if len(records) < 2:
        return None
    labels = [label for label in spots.labels if any(row["label"] == label for row in records)]
    across = spots.choices[-1] if len(labels) == 1 and len(analysis.varying) > 1 else None
    cells: dict[tuple[str, str], HeatCell] = {}
    keys: dict[str, str] = {}
    for row in records:
        spot = spots.of(row)
        last = spot.filters.rstrip("|").rpartition("=")[2]
        column = last if across else spot.label
        line = spot.place.removesuffix(last).strip() if across else spot.place
        keys.setdefault(line, spots.filters(row) if not across else "")
        cells[line, column] = _cell(row, spot)
    columns = [v for v in across.values if any(c == v for _, c in cells)] if across else labels
    rows = [(line, key, tuple(cells.get((line, column)) for column in columns)) for line, key in keys.items()]
    return HeatMap("" if across else "point", tuple(columns), tuple(rows))


def _mean_row(row: Mapping[Any, Any], factor: float, analysis: Analysis, spots: Spots) -> ForestRow:
    label = str(row["label"])
    return ForestRow(
        place=f"geometric mean, {row['points']} points", label=label, rank=spots.rank(label), spot=None,
        filters=f"|engine={label}|", value="", doubts=0, **_common(row, factor, analysis),
    )  # fmt: skip


def _common(row: Mapping[Any, Any], factor: float, analysis: Analysis) -> dict[str, Any]:
    paired = bool(row.get("paired", True))  # a mean over points has no say in it
    return {
        "text": ratio_text(row),
        "size": float(row["ratio"]) if row["kind"] == "ratio" else None,
        "n": int(row["n"]),
        "kind": verdict_kind(str(row["verdict"])),
        "verdict": str(row["verdict"]),
        "words": verdict_of(row, analysis) + ("" if paired else "; unpaired"),
        "advice": advice(row),
        "paired": paired,
        "mark": marks(row, factor),
    }


def verdict_of(row: Mapping[Any, Any], analysis: Analysis) -> str:
    """A comparison's verdict as people read it."""
    return verdict_words(str(row["verdict"]), within=bool(row["within"]), margin=analysis.same_within)


def advice(row: Mapping[Any, Any]) -> str:
    """How many repetitions would settle an undecided comparison; "" if it is decided or not known."""
    if row["verdict"] != "undecided" or pd.isna(row["needed"]):
        return ""
    return (
        f"about {row['needed']} repetitions needed" if row["needed"] else "more than 1000 repetitions needed"
    )


def _medians(analysis: Analysis, spots: Spots) -> dict[str, str]:
    rows = analysis.estimates[analysis.estimates["headline"]]
    rows = rows[rows["metric"] == analysis.headline_metric]
    return {spots.of(row).anchor: quantity(row["median"], row["unit"]) for row in rows.to_dict("records")}


def _cell(row: Mapping[Any, Any], spot: Spot) -> HeatCell:
    kind = verdict_kind(str(row["verdict"]))
    full = f"{spot.name}: {ratio_text(row)}, {row['verdict']}"
    if row["kind"] != "ratio":
        return HeatCell("–", full, kind, 0, spot)
    share = min(1.0, abs(math.log(row["ratio"])) / math.log(_FULL))
    strength = round(12 + 48 * share) if kind in ("up", "down") else 0
    return HeatCell(f"{three_digits(row['ratio'])}x", full, kind, strength, spot)


def _place(ratio: float, factor: float) -> float:
    """Where a ratio stands, in percent: 1 in the middle, logarithmic, clipped at the ends."""
    share = math.log(ratio) / math.log(factor) if ratio > 0 else -1.0
    return 50 + 50 * max(-1.0, min(1.0, share))
