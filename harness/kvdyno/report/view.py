"""What the HTML template shows, prepared: texts, bars and rows, so that the template only places them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvdyno.model.results import GRAVE, Analysis, Caution, FailedRun
from plots.units import axis_text, quantity, status_text

from .summary import interval_text, point_text, ratio_text, verdict_text
from .words import metric_title

#: Half widths that the interval pictures may have: factors to each side of 1.
_FACTORS = (1.25, 1.5, 2.0, 4.0, 10.0, 100.0)


@dataclass(frozen=True)
class RatioRow:
    """One comparison. `bar` is left and width of its interval in percent of the picture, `centre` its ratio;
    None where there is none. `verdict` is one word, `explanation` is for reading.
    """

    point: str
    label: str
    text: str
    n: int
    verdict: str
    explanation: str
    paired: bool
    centre: float | None
    bar: tuple[float, float] | None


@dataclass(frozen=True)
class FailureRow:
    """Runs of one point that ended alike; `log_tail` is the first one's."""

    point: str
    status: str
    reason: str
    repetitions: str
    log_tail: str


@dataclass(frozen=True)
class Listing:
    """A plain table: headers and rows of texts; `numeric` marks the columns that are numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]


@dataclass(frozen=True)
class PointDetail:
    """All metrics of one point: a row per metric, a column per phase, and how its runs went."""

    name: str
    headline: str
    notes: tuple[str, ...]
    listing: Listing


def split_cautions(cautions: Iterable[Caution]) -> tuple[list[Caution], list[Caution]]:
    """Those that put the comparison in doubt, and the others."""
    found = list(cautions)
    return [c for c in found if c.kind in GRAVE], [c for c in found if c.kind not in GRAVE]


def ratio_view(analysis: Analysis) -> tuple[list[RatioRow], float]:
    """The headline metric of every point against the baseline, the mean over points last; and the factor
    that the pictures reach to each side of 1.
    """
    metric = analysis.headline_metric
    rows = analysis.select(analysis.ratios[analysis.ratios["headline"]], where={}, metric=metric)
    rows = rows[rows["baseline"] == analysis.baseline]
    means = analysis.overall
    means = means[(means["metric"] == metric) & (means["points"] > 1)]
    means = means[means["baseline"] == analysis.baseline]
    named = [(point_text(row, analysis), row) for _, row in rows.iterrows()]
    named += [(f"geometric mean, {row['points']} points", row) for _, row in means.iterrows()]
    reach = max((abs(math.log(row["ratio"])) for _, row in named if row["kind"] == "ratio"), default=0.0)
    factor = next((f for f in _FACTORS if math.log(f) >= 1.1 * reach), _FACTORS[-1])
    margin = analysis.same_within
    return [_ratio_row(row, name, factor, margin=margin) for name, row in named], factor


def failure_rows(failures: Iterable[FailedRun]) -> list[FailureRow]:
    """Failed runs, those of one point that ended alike in one row."""
    groups: dict[tuple[str, str, str], list[FailedRun]] = {}
    for run in failures:
        groups.setdefault((run.point, status_text(run.status), run.reason), []).append(run)
    return [
        FailureRow(*key, ", ".join(str(run.repetition) for run in runs), runs[0].log_tail)
        for key, runs in groups.items()
    ]


def metric_listing(analysis: Analysis, *, metrics: Iterable[str]) -> Listing | None:
    """A row per point with the medians of some metrics in its headline phase; None if no record has any."""
    rows = analysis.estimates[analysis.estimates["headline"]]
    wanted = [m for m in metrics if (rows["metric"] == m).any()]
    if not wanted:
        return None
    rows = rows[rows["metric"].isin(wanted)]
    lines = []
    for _, point in _points(rows, analysis):
        values = {r["metric"]: _value_text(r) for _, r in point.iterrows()}
        identity = _identity(point.iloc[0], analysis)
        lines.append((*identity, *(values.get(m, "–") for m in wanted), str(point["n"].max())))
    headers = ("engine", *_axis_headers(analysis), *map(metric_title, wanted), "n")
    numeric = (*(False,) * (1 + len(analysis.varying)), *(True,) * (len(wanted) + 1))
    return Listing(headers, tuple(lines), numeric)


def latency_listing(analysis: Analysis) -> Listing | None:
    """Percentiles of the merged histograms: a row per point, phase and operation; None without histograms."""
    levels = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)
    rows = analysis.percentiles[analysis.percentiles["percentile"].isin(levels)]
    lines = []
    for (_, phase, operation), group in rows.groupby(
        [_point_keys(rows, analysis), "phase", "operation"], sort=False, dropna=False
    ):
        values = dict(zip(group["percentile"], group["value"], strict=True))
        cells = (quantity(values[level], "ns") if level in values else "–" for level in levels)
        count = quantity(float(group["count"].iloc[0]), "")
        identity = _identity(group.iloc[0], analysis)
        lines.append((*identity, str(phase), str(operation), *cells, count, str(group["n"].iloc[0])))
    if not lines:
        return None
    names = ("p50", "p90", "p99", "p99.9", "p99.99", "max", "operations", "n")
    headers = ("engine", *_axis_headers(analysis), "phase", "operation", *names)
    return Listing(headers, tuple(lines), (*(False,) * (len(headers) - len(names)), *(True,) * len(names)))


def point_details(analysis: Analysis) -> list[PointDetail]:
    """Every point with all that was measured, for those who look further."""
    return [_detail(point, analysis) for _, point in _points(analysis.estimates, analysis)]


def flat_facts(facts: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested facts as dotted names and texts, sizes with units; empty ones are left out."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping):
            found += flat_facts(value, prefix=f"{full}.")
        elif isinstance(value, (list, tuple)):
            found += [(full, ", ".join(map(str, value)))] if value else []
        elif value is not None and value != "":
            is_size = name.endswith("bytes") and isinstance(value, int)
            found.append((full, quantity(value, "byte") if is_size else axis_text(value, "")))
    return found


def _ratio_row(row: pd.Series[Any], point: str, factor: float, *, margin: float) -> RatioRow:
    bar = centre = None
    if row["kind"] == "ratio":
        centre = _place(row["ratio"], factor)
        if not pd.isna(row["low"]):
            left, right = _place(row["low"], factor), _place(row["high"], factor)
            bar = (left, right - left)
    paired = bool(row.get("paired", True))  # a mean over points has no say in it
    explanation = verdict_text(row, margin) + ("" if paired else "; unpaired")
    text, verdict = ratio_text(row), str(row["verdict"])
    return RatioRow(point, row["label"], text, int(row["n"]), verdict, explanation, paired, centre, bar)


def _place(ratio: float, factor: float) -> float:
    """Where a ratio stands in the picture, in percent: 1 in the middle, logarithmic, clipped at the ends."""
    share = math.log(ratio) / math.log(factor)
    return 50 + 50 * max(-1.0, min(1.0, share))


def _detail(point: pd.DataFrame, analysis: Analysis) -> PointDetail:
    first = point.iloc[0]
    phases = list(point["phase"].drop_duplicates())
    lines = []
    for metric, group in point.groupby("metric", sort=True):
        cells = {r["phase"]: _value_text(r) for _, r in group.iterrows()}
        lines.append((str(metric), *(cells.get(phase, "–") for phase in phases)))
    headline = point[point["metric"] == analysis.headline_metric]
    headline = headline[headline["headline"]]
    texts = [_with_interval(r) for _, r in headline.iterrows()]
    listing = Listing(("metric", *phases), tuple(lines), (False, *(True,) * len(phases)))
    name = " ".join(_identity(first, analysis))
    return PointDetail(name, "; ".join(texts), _notes(first, analysis), listing)


def _notes(point: pd.Series[Any], analysis: Analysis) -> tuple[str, ...]:
    """How steady the point's runs were."""
    runs = _same_point(analysis.steadiness, point, analysis)
    texts = runs["finding"].where(runs["finding"] != "", runs["state"])
    counts = texts.value_counts(sort=False)
    return tuple(f"{count} of {len(runs)} runs: {text}" for text, count in counts.items())


def _with_interval(row: pd.Series[Any]) -> str:
    interval = interval_text(row, row["unit"])
    return f"{quantity(row['median'], row['unit'])} ({interval or 'no interval'}, n = {row['n']})"


def _value_text(row: pd.Series[Any]) -> str:
    return quantity(row["median"], row["unit"])


def _identity(row: pd.Series[Any], analysis: Analysis) -> tuple[str, ...]:
    return (str(row["label"]), *(axis_text(row[a.name], a.unit) for a in analysis.varying))


def _axis_headers(analysis: Analysis) -> tuple[str, ...]:
    return tuple(axis.name for axis in analysis.varying)


def _points(table: pd.DataFrame, analysis: Analysis) -> Iterable[tuple[Any, pd.DataFrame]]:
    return table.groupby(_point_keys(table, analysis), sort=False)


def _point_keys(table: pd.DataFrame, analysis: Analysis) -> pd.Series[int]:
    """A number for each point of a table, in order of appearance."""
    return table.groupby(["label", *analysis.axis_names], sort=False, dropna=False).ngroup()


def _same_point(table: pd.DataFrame, point: pd.Series[Any], analysis: Analysis) -> pd.DataFrame:
    keep = table["label"] == point["label"]
    for name in analysis.axis_names:
        keep &= table[name].isna() if pd.isna(point[name]) else table[name] == point[name]
    found: pd.DataFrame = table[keep]
    return found
