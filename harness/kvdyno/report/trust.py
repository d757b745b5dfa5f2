"""The second section, whether it can be believed: cautions by weight and by point, noise, runs over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kvdyno.model.results import GRAVE, Analysis, Caution, CautionKind, FailedRun
from plots.units import quantity, status_text

from .spots import Spot, Spots
from .summary import point_text

#: Cautions that say how the runs were made, without doubting a number.
_NOTES: frozenset[CautionKind] = frozenset({"noise", "device", "readahead", "excluded", "run"})
#: Cautions that qualify numbers, those that may turn a verdict first.
_LIMITS: tuple[CautionKind, ...] = (
    *("missing", "arrivals", "spread", "repetitions", "unsteady", "disturbed", "gauge", "drift", "busy"),
    *("durability", "amplification", "ambiguous", "loads"),
)
#: The picture of runs reaches at least this far from the median, as a share.
_LEAST_REACH = 0.05


@dataclass(frozen=True)
class FailureRow:
    """Runs of one point that ended alike; `log_tail` is the first one's."""

    point: str
    status: str
    reason: str
    repetitions: str
    log_tail: str


@dataclass(frozen=True)
class Dot:
    """A run in the picture of all runs: `left` and `top` in percent, None for `top` where it has no value."""

    left: float
    top: float | None
    rank: int
    spot: Spot
    text: str


@dataclass(frozen=True)
class Drift:
    """Every run against its point's median, by the clock. `reach` is a share: the picture's half height."""

    dots: tuple[Dot, ...]
    reach: float
    begin: str
    end: str
    sweeps: int


@dataclass(frozen=True)
class Weight:
    """Cautions of one weight."""

    name: str
    title: str
    cautions: tuple[Caution, ...]


def weighed(cautions: Iterable[Caution]) -> list[Caution]:
    """The gravest first: those that put the comparison in doubt, those that qualify numbers, then notes."""
    ranks = {kind: rank for rank, kind in enumerate(_LIMITS)}
    return sorted(
        cautions, key=lambda c: (c.kind not in GRAVE, c.kind in _NOTES, ranks.get(c.kind, len(ranks)))
    )


def by_weight(cautions: Iterable[Caution]) -> tuple[Weight, ...]:
    """Cautions by weight, without empty weights."""
    found = weighed(cautions)
    weights = (
        Weight("grave", "They put the comparison in doubt", tuple(c for c in found if c.kind in GRAVE)),
        Weight("limits", "They qualify numbers",
               tuple(c for c in found if c.kind not in GRAVE | _NOTES)),
        Weight("notes", "Notes", tuple(c for c in found if c.kind in _NOTES)),
    )  # fmt: skip
    return tuple(weight for weight in weights if weight.cautions)


def doubts_of(analysis: Analysis) -> Mapping[str, int]:
    """How many cautions name a point, by its name; a point that lost runs has one more."""
    named = [point for caution in analysis.cautions for point in caution.points]
    return Counter([*named, *dict.fromkeys(run.point for run in analysis.failures)])


def failure_rows(failures: Iterable[FailedRun]) -> list[FailureRow]:
    """Failed runs, those of one point that ended alike in one row."""
    groups: dict[tuple[str, str, str], list[FailedRun]] = {}
    for run in failures:
        groups.setdefault((run.point, status_text(run.status), run.reason), []).append(run)
    return [
        FailureRow(*key, ", ".join(str(run.repetition) for run in runs), runs[0].log_tail)
        for key, runs in groups.items()
    ]


def spread_sentence(analysis: Analysis) -> str:
    """How wide the intervals of the headline metric are, at the worst point."""
    rows = analysis.estimates[analysis.estimates["headline"]]
    rows = rows[(rows["metric"] == analysis.headline_metric) & rows["width"].notna()]
    if rows.empty:
        return "No point has an interval: each was measured once."
    worst = rows.sort_values("width").iloc[-1]
    least, most = int(rows["n"].min()), int(rows["n"].max())
    counts = f"{most} repetitions" if least == most else f"{least} to {most} repetitions"
    return (
        f"In this sweep, 95 % intervals of a point reach at most ± {_percent(worst['width'])} "
        f"({worst['label']} {point_text(worst, analysis)}), from {counts} of each point."
    )


def drift(analysis: Analysis, spots: Spots) -> Drift | None:
    """All runs by the clock; None where none has the headline metric."""
    runs = analysis.runs.sort_values("started_at", kind="stable")
    values = headline_values(analysis)
    logs = _off_median(values, analysis, spots)
    if not logs:
        return None
    times = [_seconds(text) for text in runs["started_at"]]
    begin, length = times[0], max(times[-1] - times[0], 1e-9)
    far = max(math.expm1(max(abs(log) for log in logs.values())), _LEAST_REACH)
    scale = math.log1p(far) * 1.08
    dots = []
    for row, time in zip(runs.to_dict("records"), times, strict=True):
        spot, log = spots.of(row), logs.get(row["run_id"])
        known = values.get(row["run_id"])
        said = f"{quantity(*known)}, {math.expm1(log):+.1%}" if known and log is not None else row["status"]
        text = f"{spot.name}, repetition {row['repetition']}, {row['started_at'][11:19]}: {said}"
        top = None if log is None else 50 - 50 * log / scale
        dots.append(Dot(100 * (time - begin) / length, top, spot.rank, spot, text))
    first, last = str(runs["started_at"].iloc[0]), str(runs["started_at"].iloc[-1])
    return Drift(tuple(dots), far, _clock(first), _clock(last), runs["sweep_id"].nunique())


def headline_values(analysis: Analysis) -> dict[str, tuple[float, str]]:
    """The headline metric of each run that has it, with its unit."""
    rows = analysis.frame[analysis.frame["headline"]]
    rows = rows[(rows["metric"] == analysis.headline_metric) & rows["value"].notna()]
    cells = zip(rows["run_id"], rows["value"], rows["unit"], strict=True)
    return {str(run): (float(value), str(unit)) for run, value, unit in cells}


def _off_median(
    values: Mapping[str, tuple[float, str]], analysis: Analysis, spots: Spots
) -> dict[str, float]:
    """The logarithm of each run's value over the median of its point."""
    rows = analysis.estimates[analysis.estimates["headline"]]
    rows = rows[(rows["metric"] == analysis.headline_metric) & (rows["median"] > 0)]
    medians = {spots.of(row).anchor: float(row["median"]) for row in rows.to_dict("records")}
    found: dict[str, float] = {}
    for run in analysis.runs.to_dict("records"):
        median, value = medians.get(spots.of(run).anchor), values.get(str(run["run_id"]))
        if median and value and value[0] > 0:
            found[str(run["run_id"])] = math.log(value[0] / median)
    return found


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _clock(text: str) -> str:
    return text[:16].replace("T", " ")


def points_with_doubts(spots: Sequence[Spot], doubts: Mapping[str, int]) -> tuple[tuple[Spot, int], ...]:
    """The points that cautions name, most cautions first."""
    named = [(spot, doubts[spot.name]) for spot in spots if doubts.get(spot.name)]
    return tuple(sorted(named, key=lambda pair: -pair[1]))
