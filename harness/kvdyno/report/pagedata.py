"""What the page's scripts read: points, all pairs, series and counters, as short JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from kvdyno.model.results import Analysis

from .listings import SPANS
from .spots import Spots
from .timeline import Timeline, rounded
from .words import metric_title

#: Significant digits: texts show three.
_DIGITS = 3


def page_data(analysis: Analysis, spots: Spots, timeline: Timeline | None) -> str:
    """The JSON, safe inside a script element.

    `points`: [contender, place] each; `pairs`: all_pairs; `series`: Timeline; `medians`: _medians.
    """
    places = {place: at for at, place in enumerate(spots.places)}
    document = {
        "labels": spots.labels,
        "baseline": analysis.baseline,
        "places": spots.places,
        "points": [[spot.rank, places[spot.place]] for spot in spots.all],
        "filters": [spot.filters for spot in spots.all],
        "pairs": all_pairs(analysis, spots, places),
        "medians": _medians(analysis, spots),
        "series": timeline and {"columns": timeline.columns, "runs": timeline.runs},
    }
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def all_pairs(analysis: Analysis, spots: Spots, places: dict[str, int]) -> list[dict[str, Any]]:
    """A document per metric: `rows` are [contender, baseline, place, ratio or difference, low, high, n] with
    an eighth cell 1 for a difference; `means` are [contender, baseline, ratio, low, high, points].
    """
    found = []
    for metric, rows in analysis.pairs.groupby("metric", sort=False):
        means = analysis.pairs_overall[analysis.pairs_overall["metric"] == metric]
        first = rows.iloc[0]
        found.append(
            {
                "metric": metric,
                "title": metric_title(str(metric)),
                "unit": str(first["unit"]),
                "phase": str(first["phase"]),
                "rows": [_pair(row, spots, places) for row in rows.to_dict("records")],
                "means": [
                    [*_sides(row, spots), *_ends(row, "ratio"), int(row["points"])]
                    for row in means.to_dict("records")
                    if row["points"] > 1
                ],
            }
        )
    return sorted(found, key=lambda document: document["metric"] != analysis.headline_metric)


def _pair(row: dict[Any, Any], spots: Spots, places: dict[str, int]) -> list[Any]:
    kind = str(row["kind"])
    cells = [*_sides(row, spots), places[spots.of(row).place], *_ends(row, kind), int(row["n"])]
    return [*cells, 1] if kind == "difference" else cells


def _sides(row: dict[Any, Any], spots: Spots) -> list[int]:
    return [spots.rank(str(row["label"])), spots.rank(str(row["baseline"]))]


def _ends(row: dict[Any, Any], kind: str) -> list[float | None]:
    return [_short(row[name]) for name in (kind, "low", "high")]


def _medians(analysis: Analysis, spots: Spots) -> dict[str, Any]:
    """`phases`, `metrics` ([name, unit]) and for each point and phase [metric, median, …], zeros left out."""
    table = analysis.estimates
    phases = [str(phase) for phase in dict.fromkeys(table["phase"])]
    phases.sort(key=lambda phase: phase in SPANS)
    units = dict(zip(table["metric"], table["unit"], strict=True))
    numbers = {metric: at for at, metric in enumerate(sorted(units))}
    points: list[list[list[float]]] = [[[] for _ in phases] for _ in spots.all]
    axes = ["label", *analysis.axis_names]
    for _, rows in table.groupby(axes, dropna=False, sort=False):
        mine = points[spots.index[spots.of(rows.iloc[0]).anchor]]
        for phase, metric, median in zip(rows["phase"], rows["metric"], rows["median"], strict=True):
            if median:
                mine[phases.index(phase)] += [numbers[metric], rounded(float(median), _DIGITS)]
    return {"phases": phases, "metrics": [[m, units[m]] for m in sorted(units)], "points": points}


def _short(value: Any) -> float | None:
    return None if pd.isna(value) or math.isinf(value) else rounded(float(value), _DIGITS)
