"""Every point with its runs, every run with its record."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kvdyno.model.results import Analysis, Caution
from plots.units import quantity, status_text

from .spots import Spot, Spots
from .summary import interval_text
from .trust import headline_values


@dataclass(frozen=True)
class RunRow:
    """A run: `value` is the headline metric's, else how the run ended. `record` is a link relative to the
    page, "" where the record's folder is not known.
    """

    repetition: int
    load: int
    started_at: str
    value: str
    ok: bool
    record: str


@dataclass(frozen=True)
class PointRuns:
    """A point: its headline, what is to be known of it, and its runs."""

    spot: Spot
    headline: str
    doubts: int
    notes: tuple[str, ...]
    cautions: tuple[Caution, ...]
    runs: tuple[RunRow, ...]


def points_with_runs(analysis: Analysis, spots: Spots, *, out: Path) -> tuple[PointRuns, ...]:
    """All points, in the order of the plan; `out` is the folder of the page."""
    values = headline_values(analysis)
    headlines = _headlines(analysis, spots)
    notes = _notes(analysis, spots)
    rows: dict[str, list[RunRow]] = {}
    for run in analysis.runs.to_dict("records"):
        rows.setdefault(spots.of(run).anchor, []).append(_row(run, values, out))
    found = []
    for spot in spots.all:
        cautions = tuple(caution for caution in analysis.cautions if spot.name in caution.points)
        runs = tuple(rows[spot.anchor])
        doubts = len(cautions) + any(not run.ok for run in runs)
        headline = headlines.get(spot.anchor, "no run ended well")
        found.append(PointRuns(spot, headline, doubts, notes.get(spot.anchor, ()), cautions, runs))
    return tuple(found)


def _row(run: dict[Any, Any], values: dict[str, tuple[float, str]], out: Path) -> RunRow:
    value = values.get(str(run["run_id"]))
    ok = run["status"] == "ok"
    return RunRow(
        repetition=int(run["repetition"]),
        load=int(run["load"]),
        started_at=str(run["started_at"])[:19].replace("T", " "),
        value=quantity(*value) if value else "no value" if ok else status_text(str(run["status"])),
        ok=ok,
        record=_link(str(run["folder"]), out),
    )


def _link(folder: str, out: Path) -> str:
    if not folder:
        return ""
    return quote(os.path.relpath(Path(folder) / "record.json", out).replace(os.sep, "/"))


def _headlines(analysis: Analysis, spots: Spots) -> dict[str, str]:
    rows = analysis.estimates[analysis.estimates["headline"]]
    rows = rows[rows["metric"] == analysis.headline_metric]
    found = {}
    for row in rows.to_dict("records"):
        interval = interval_text(row, row["unit"])
        text = f"{quantity(row['median'], row['unit'])} ({interval or 'no interval'}, n = {row['n']})"
        found[spots.of(row).anchor] = text
    return found


def _notes(analysis: Analysis, spots: Spots) -> dict[str, tuple[str, ...]]:
    """How steady the points' runs were."""
    found: dict[str, tuple[str, ...]] = {}
    axes = ["label", *analysis.axis_names]
    for _, runs in analysis.steadiness.groupby(axes, dropna=False, sort=False):
        texts = runs["finding"].where(runs["finding"] != "", runs["state"])
        counts = texts.value_counts(sort=False)
        said = tuple(f"{count} of {len(runs)} runs: {text}" for text, count in counts.items())
        found[spots.of(runs.iloc[0]).anchor] = said
    return found
