"""The few lines that a command prints when a sweep ends."""

from __future__ import annotations

from typing import Any

import pandas as pd

from kvdyno.model.results import Analysis, Summary, SummaryRow
from plots.units import axis_text, quantity, three_digits

from .words import metric_title


def summarise(analysis: Analysis) -> Summary:
    """One row per point with the headline metric, and a sentence per contender and claim."""
    metric = analysis.headline_metric
    points = analysis.select(analysis.estimates[analysis.estimates["headline"]], where={}, metric=metric)
    claims = (f"{claim.verdict}: {claim.text} ({claim.why})" for claim in analysis.claims)
    return Summary(
        title=analysis.experiment,
        metric=f"{metric_title(metric)} of {phases_text(analysis)}",
        columns=("engine", *analysis.axis_names),
        rows=tuple(_row(point, analysis) for _, point in points.iterrows()),
        overall=overall_sentences(analysis),
        verdicts=tuple(claims),
        cautions=analysis.cautions,
        failures=analysis.failures,
    )


def overall_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Such as "LevelDB: 1.05x (1.03x to 1.07x) the throughput of RocksDB, … over 11 points: faster"."""
    rows = analysis.overall
    rows = rows[rows["metric"] == analysis.headline_metric]
    rows = rows[rows["baseline"] == analysis.baseline]
    what = metric_title(analysis.headline_metric).lower()
    return tuple(
        f"{r['label']}: {ratio_text(r)} the {what} of {r['baseline']}, geometric mean over "
        f"{_points_text(r, analysis)}: {verdict_text(r)}"
        for _, r in rows.iterrows()
    )


def phases_text(analysis: Analysis) -> str:
    """The phases that points are judged by: "phase run", or "phase run, else build"."""
    return f"phase {', else '.join(analysis.headline_phases)}"


def _points_text(mean: Any, analysis: Analysis) -> str:
    """Such as "12 points", or "11 of 12 points (missing: C 1 GiB)"."""
    names = list(analysis.axis_names)
    rows = analysis.ratios[analysis.ratios["headline"]]
    for column in ("label", "baseline", "metric"):
        rows = rows[rows[column] == mean[column]]
    planned = analysis.planned.loc[analysis.planned["label"] == mean["label"], names]
    keys = [tuple(map(str, row)) for row in rows[names].itertuples(index=False)]
    missing = [
        point_text(point, analysis) for _, point in planned.iterrows() if tuple(map(str, point)) not in keys
    ]
    if not missing:
        return f"{len(planned)} point{'s' if len(planned) != 1 else ''}"
    return f"{len(planned) - len(missing)} of {len(planned)} points (missing: {', '.join(missing)})"


def point_text(point: Any, analysis: Analysis) -> str:
    """The varying axes of a point: "C 1 GiB"."""
    return " ".join(axis_text(point[a.name], a.unit) for a in analysis.varying) or "the only point"


def ratio_text(row: Any) -> str:
    """Such as "1.28x (1.21x to 1.34x)"; without an interval, the ratio alone."""
    if pd.isna(row["low"]):
        return f"{three_digits(row['ratio'])}x"
    low, high = three_digits(row["low"]), three_digits(row["high"])
    return f"{three_digits(row['ratio'])}x ({low}x to {high}x)"


def verdict_text(row: Any) -> str:
    """The verdict; if undecided, how many repetitions would probably settle it."""
    if row["verdict"] != "undecided" or pd.isna(row["needed"]):
        return str(row["verdict"])
    if row["needed"] == 0:
        return "undecided: more than 1000 repetitions would settle it, if the true ratio is the observed one"
    needed = f"about {row['needed']} repetitions would settle it"
    return f"undecided: {needed}, if the true ratio is the observed one"


def interval_text(row: Any, unit: str) -> str:
    """Such as "44.1 kop/s to 54.7 kop/s", or "" where there is none."""
    if pd.isna(row["low"]):
        return ""
    return f"{quantity(row['low'], unit)} to {quantity(row['high'], unit)}"


def _row(point: Any, analysis: Analysis) -> SummaryRow:
    ratio = _ratio_at(point, analysis)
    units = analysis.units
    return SummaryRow(
        label=str(point["label"]),
        axes={name: axis_text(point[name], units[name]) for name in analysis.axis_names},
        value=quantity(point["median"], point["unit"]),
        interval=interval_text(point, point["unit"]),
        n=int(point["n"]),
        ratio="" if ratio is None else ratio_text(ratio),
        verdict="" if ratio is None else str(ratio["verdict"]),
    )


def _ratio_at(point: Any, analysis: Analysis) -> Any | None:
    """The row of `Analysis.ratios` for a point's headline metric against the baseline, if there is one."""
    rows = analysis.ratios
    keep = (rows["metric"] == point["metric"]) & (rows["phase"] == point["phase"])
    keep &= (rows["baseline"] == analysis.baseline) & (rows["label"] == point["label"])
    for name in analysis.axis_names:
        keep &= rows[name].isna() if pd.isna(point[name]) else rows[name] == point[name]
    found = rows[keep]
    return found.iloc[0] if len(found) else None
