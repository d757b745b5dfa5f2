"""The few lines that a command prints when a sweep ends."""

from __future__ import annotations

from typing import Any

import pandas as pd

from kvdyno.model.engine import Durability
from kvdyno.model.results import Analysis, Summary, SummaryRow
from kvdyno.model.words import verdict_words
from plots.units import axis_text, quantity, three_digits

from .words import metric_title

#: A p-value up to this would decide a comparison that stood alone.
_LEVEL = 0.05


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
        f"{_points_text(r, analysis)}: {verdict_text(r, analysis.same_within)}"
        f"{durability_text(str(r['label']), analysis)}"
        for _, r in rows.iterrows()
    )


def phases_text(analysis: Analysis) -> str:
    """The phases that points are judged by: "phase run", or "phase run, else build"."""
    return f"phase {', else '.join(analysis.headline_phases)}"


def _points_text(mean: Any, analysis: Analysis) -> str:
    """Such as "12 points", or "11 of 12 points (missing: C 1 GiB)"."""
    names = list(analysis.axis_names)
    rows = analysis.ratios[analysis.ratios["headline"] & (analysis.ratios["kind"] == "ratio")]
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
    """Such as "1.28x (1.21x to 1.34x)"; without an interval, the ratio alone. Where there is no ratio, the
    difference: "+12.0 stall/s (3.10 to 20.9)".
    """
    if row["kind"] == "difference":
        return _difference_text(row)
    if pd.isna(row["low"]):
        return f"{three_digits(row['ratio'])}x"
    low, high = three_digits(row["low"]), three_digits(row["high"])
    return f"{three_digits(row['ratio'])}x ({low}x to {high}x)"


def _difference_text(row: Any) -> str:
    if row["difference"] == 0 and row["verdict"] == "equal":
        return "0 on both sides"
    sign = "+" if row["difference"] > 0 else ""
    value = f"{sign}{quantity(row['difference'], row['unit'])}"
    ends = (
        ""
        if pd.isna(row["low"])
        else " ({} to {})".format(*(quantity(row[e], row["unit"]) for e in ("low", "high")))
    )
    return f"difference {value}{ends}"


def verdict_text(row: Any, margin: float) -> str:
    """The verdict; if undecided, why, and how many repetitions would probably settle it."""
    if row["verdict"] != "undecided" or pd.isna(row["needed"]):
        return _words(row, margin)
    among = " among so many comparisons" if row["p"] <= _LEVEL else ""
    if row["needed"] == 0:
        return f"undecided{among}: more than 1000 repetitions would settle it, if the observed ratio is true"
    return (
        f"undecided{among}: a new sweep of about {row['needed']} repetitions would settle it, "
        "if the observed ratio is true"
    )


def _words(row: Any, margin: float) -> str:
    return verdict_words(str(row["verdict"]), within=bool(row["within"]), margin=margin)


def durability_text(label: str, analysis: Analysis) -> str:
    """What a crash takes from a contender and from the baseline, if they differ; else ""."""
    known = {c.label: c.durability for c in analysis.contenders}
    one, other = known.get(label), known.get(analysis.baseline)
    if one is None or other is None:
        return ""
    parts = []
    if one.process != other.process:
        kept = label if one.process == "kept" else analysis.baseline
        parts.append(f"a killed process keeps the writes of {kept} only")
    if power_loss_text(one) != power_loss_text(other):
        parts.append(
            f"a power cut may lose {power_loss_text(one)} of its writes, "
            f"of {analysis.baseline}'s {power_loss_text(other)}"
        )
    elif one.power == "lost" and one.consistent_prefix != other.consistent_prefix:
        whole = label if one.consistent_prefix else analysis.baseline
        parts.append(f"after a power cut only {whole} is left with all writes up to some moment")
    return "".join(f"; {part}" for part in parts)


def power_loss_text(durability: Durability) -> str:
    """How much a power cut may take: "nothing", "the last 1 s", "all not yet written back"."""
    if durability.power == "kept":
        return "nothing"
    if durability.power_loss_seconds is None:
        return "all not yet written back"
    return f"the last {durability.power_loss_seconds:g} s"


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
        verdict="" if ratio is None else _words(ratio, analysis.same_within),
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
