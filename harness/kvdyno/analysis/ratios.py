"""Ratios between contenders, paired inside a repetition.

Runs of one repetition follow each other closely, so that a disturbance of the machine hits both sides; their
ratio cancels it, which the ratio of two medians does not. Only runs of one sweep are paired: the same number
of a repetition in two sweeps means nothing. Nor are runs paired between which their host stepped
(drift.py). The logarithms of the paired ratios are averaged: the ratio quoted is the geometric mean of the
paired ratios (Fleming & Wallace, "How not to lie with statistics", CACM 29(3), 1986).

A ratio cannot hold a value that is 0 or negative, and leaving its repetition out would flatter. Where a pair
has one, the row holds *differences* instead: in the metric's unit, their arithmetic mean.

Which values are the sample: levels.py. Intervals, p-values and verdicts: verdicts.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .frame import BLOCK, groups_of
from .levels import Mean, Values, difference, mean_of, mean_over_points, weighted
from .verdicts import conclude

#: What a comparison is before `conclude`.
_COMPARED = ("kind", "n", "mean", "error", "freedom", "zero", "method")
_MEASURE = ("phase", "metric", "unit")


@dataclass(frozen=True)
class Side:
    """One side's runs of a point: values, and the repetition of a sweep (`blocks`) and load of each."""

    values: Values
    blocks: Sequence[object]
    loads: Sequence[object]

    def at(self, places: NDArray[np.intp]) -> Side:
        """Some of the runs."""
        blocks, loads = ([listed[place] for place in places] for listed in (self.blocks, self.loads))
        return Side(self.values[places], blocks, loads)


@dataclass(frozen=True)
class Pairing:
    """Two sides of a point. If `paired`, equal places are runs of one block."""

    after: Side
    before: Side
    paired: bool

    @property
    def has_ratio(self) -> bool:
        """Whether all values are positive."""
        return bool((self.after.values > 0).all() and (self.before.values > 0).all())

    @property
    def compared(self) -> tuple[object, ...]:
        """The cells of _COMPARED."""
        kind = "ratio" if self.has_ratio else "difference"
        mean = means_of([self], log=self.has_ratio)
        zero = not self.after.values.any() and not self.before.values.any()
        method = method_of(mean, log=self.has_ratio, paired=self.paired)
        return (kind, mean.n, mean.value, mean.error, mean.freedom, zero, method)


def means_of(points: Sequence[Pairing], *, log: bool) -> Mean:
    """The mean of after - before over points: of logarithms, or of the values themselves.

    Pairs are subtracted, then averaged inside each repetition. Points whose runs do not pair up are averaged
    side by side, and the sides compared as independent samples.
    """
    paired = [p for p in points if p.paired]
    apart = [p for p in points if not p.paired]
    parts = []
    if paired:
        sides = [_subtracted(p, log=log) for p in paired]
        parts.append((_side_mean(sides), len(paired) / len(points)))
    if apart:
        after, before = ([_logged(s, log=log) for s in sides] for sides in _sides(apart))
        parts.append((difference(_side_mean(after), _side_mean(before)), len(apart) / len(points)))
    return weighted(parts)


def method_of(mean: Mean, *, log: bool, paired: bool) -> str:
    """How the interval was found: "log t", "t", "Welch log t" or "Welch t", with " over loads"; "" if
    none.
    """
    if np.isnan(mean.error):
        return ""
    return ("" if paired else "Welch ") + ("log t" if log else "t") + (" over loads" if mean.by_load else "")


def _sides(points: Sequence[Pairing]) -> tuple[list[Side], list[Side]]:
    return [p.after for p in points], [p.before for p in points]


def _logged(side: Side, *, log: bool) -> Side:
    return Side(np.log(side.values), side.blocks, side.loads) if log else side


def _subtracted(pairing: Pairing, *, log: bool) -> Side:
    after, before = _logged(pairing.after, log=log), _logged(pairing.before, log=log)
    loads = list(zip(after.loads, before.loads, strict=True))
    return Side(after.values - before.values, after.blocks, loads)


def _side_mean(sides: Sequence[Side]) -> Mean:
    """The mean over points and repetitions. Points may start from different sets of loads, or measure the
    load itself: a repetition then belongs to the least of its loads' names, which most of its points share.
    """
    if len(sides) == 1:
        return mean_of(sides[0].values, loads=sides[0].loads)
    loads: dict[object, Any] = {}
    for side in sides:
        for block, load in zip(side.blocks, side.loads, strict=True):
            loads[block] = min(load, loads.get(block, load))
    places = {block: place for place, block in enumerate(loads)}
    cells = np.full((len(sides), len(places)), np.nan)
    for row, side in enumerate(sides):
        cells[row, [places[block] for block in side.blocks]] = side.values
    return mean_over_points(cells, loads=list(loads.values()))


@dataclass(frozen=True)
class Ratios:
    """`Analysis.ratios` and `Analysis.overall`, and what to know about them.

    `apart` holds the points (label, engine, preset, axes) measured in other sweeps than their baseline;
    `ambiguous` the baselines with several points where another contender has one.
    """

    points: pd.DataFrame
    overall: pd.DataFrame
    apart: pd.DataFrame
    ambiguous: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    """A point and metric that both sides have: label, …, axes, phase, metric, unit; whether no sweep has
    both.
    """

    key: tuple[Any, ...]
    baseline: str
    headline: bool
    pairing: Pairing
    apart: bool


def ratios_to(
    frame: pd.DataFrame, *, axes: Sequence[str], baselines: Iterable[str], metric: str, margin: float
) -> Ratios:
    """Ratios of a tidy frame, its headlines marked, to each of the baselines.

    Runs pair up by axes, sweep, host, stretch and repetition: what differs between hosts, or changed on one,
    is in no ratio. A run whose partner is missing is left out. A point of which no run has a partner is
    compared as an independent sample, within a stretch that both sides have; without one it has no row. An
    axis that only one side has (an option of one engine) does not separate pairs; where the baseline has
    several runs for one, their (geometric) mean is the partner.
    Rows of one metric, phase and baseline are one family (verdicts.py); those of the headline
    `metric` in the phases that points are judged by are one, too. `margin`: see verdicts.py.
    """
    measured = frame[frame["metric"].notna() & np.isfinite(frame["value"])]
    for name, always in (("host", ""), ("stretch", 0)):
        if name not in measured:  # metrics that were committed before the column was in them
            measured = measured.assign(**{name: always})
    identity = ["label", "engine", "preset", *axes]
    found: list[_Found] = []
    ambiguous = []
    for baseline in dict.fromkeys(baselines):
        reference = measured[measured["label"] == baseline]
        for _, others in measured[measured["label"] != baseline].groupby("label", sort=False):
            shared = [a for a in axes if reference[a].notna().any() and others[a].notna().any()]
            partners, several = _partners(reference, [*shared, *_MEASURE])
            ambiguous += [baseline] if several else []
            found += _pairings(others, partners, identity=identity, shared=shared, baseline=baseline)
    return Ratios(
        _points(found, identity=identity, metric=metric, margin=margin),
        _overall(found, margin=margin),
        _apart(found, identity),
        tuple(dict.fromkeys(ambiguous)),
    )


def _partners(reference: pd.DataFrame, keys: Sequence[str]) -> tuple[pd.DataFrame, bool]:
    """The baseline's value for each key, sweep and repetition; whether several runs had to share one.
    Several become their geometric mean, or their mean where one is not positive.
    """
    positive = reference["value"].where(reference["value"] > 0)
    groups = reference.assign(log=np.log(positive)).groupby([*keys, *BLOCK], dropna=False, sort=False)
    found = groups.agg(
        size=("value", "size"), mean=("value", "mean"), log=("log", "mean"), least=("value", "min"),
        load_b=("load", "min"),
    )  # fmt: skip
    several = (found["size"] > 1) & (found["least"] > 0)
    partners = found.assign(value_b=found["mean"].where(~several, np.exp(found["log"])))
    return partners[["value_b", "load_b"]].reset_index(), bool((found["size"] > 1).any())


def _pairings(
    others: pd.DataFrame,
    partners: pd.DataFrame,
    *,
    identity: Sequence[str],
    shared: Sequence[str],
    baseline: str,
) -> Iterator[_Found]:
    """Every point and metric that both sides have in some stretch, or in different sweeps or hosts."""
    keys = [*shared, *_MEASURE]
    matched = others.merge(partners, on=[*keys, *BLOCK], how="left")
    matched = matched.merge(partners.drop_duplicates(keys)[keys], on=keys)
    names = list(matched[[*identity, *_MEASURE]].itertuples(index=False, name=None))
    after, before = side(matched), side(matched, suffix="_b")
    headline, has_partner = matched["headline"].tolist(), np.isfinite(before.values)
    for places in groups_of(matched, [*identity, *_MEASURE]):
        pairs, first, apart = places[has_partner[places]], int(places[0]), False
        if len(pairs):
            pairing = Pairing(after.at(pairs), before.at(pairs), paired=True)
        else:
            same = partners.merge(matched.iloc[places[:1]][keys], on=keys)
            apart = set(same["sweep_id"]).isdisjoint(matched["sweep_id"].iloc[places])
            mine, same = within_stretches(matched.iloc[places], same)
            if mine.empty or same.empty:
                continue
            pairing = Pairing(side(mine), side(same, suffix="_b"), paired=False)
        yield _Found(names[first], baseline, headline[first], pairing, apart)


def within_stretches(after: pd.DataFrame, before: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sides as independent samples, between which no host stepped: where one sweep measured both on one
    host, its runs are those of one stretch, the one with the most runs of both; none if no stretch has both.
    """
    places = [list(zip(*(rows[name] for name in BLOCK[:3]), strict=True)) for rows in (after, before)]
    counts = [Counter(each) for each in places]
    hosts = set.intersection(*({place[:2] for place in each} for each in counts))
    shared: dict[tuple[object, ...], list[tuple[object, ...]]] = {}
    for place in counts[0]:
        if place in counts[1]:
            shared.setdefault(place[:2], []).append(place)
    chosen = {max(some, key=lambda place: min(each[place] for each in counts)) for some in shared.values()}
    kept = [np.array([p[:2] not in hosts or p in chosen for p in each], dtype=bool) for each in places]
    return after[kept[0]], before[kept[1]]


def side(rows: pd.DataFrame, *, suffix: str = "") -> Side:
    """Runs of a point as one side of a comparison."""
    blocks = list(zip(rows["sweep_id"], rows["repetition"], strict=True))
    return Side(rows[f"value{suffix}"].to_numpy(dtype=float), blocks, rows[f"load{suffix}"].tolist())


def _points(found: Sequence[_Found], *, identity: Sequence[str], metric: str, margin: float) -> pd.DataFrame:
    """`Analysis.ratios`."""
    cells = [
        (*f.key, f.baseline, f.pairing.paired, f.headline, *_family(f, metric), *f.pairing.compared)
        for f in found
    ]
    columns = [*identity, *_MEASURE, "baseline", "paired", "headline", "family"]
    table = compared_rows(cells, columns=columns, families=["baseline", "metric", "family"], margin=margin)
    return table.astype({"paired": bool, "headline": bool}).drop(columns="family")


def _family(found: _Found, metric: str) -> tuple[str]:
    """What separates families of one metric and baseline: the phase, or that points are judged by it."""
    phase, name, _ = found.key[-3:]
    return ("(headline)",) if found.headline and name == metric else (phase,)


def _overall(found: Sequence[_Found], *, margin: float) -> pd.DataFrame:
    """`Analysis.overall`: the mean over the points of a contender that have a ratio."""
    groups: dict[tuple[Any, ...], list[Pairing]] = {}
    for f in found:
        if f.headline and f.pairing.has_ratio:
            groups.setdefault((f.key[0], f.baseline, *f.key[-2:]), []).append(f.pairing)
    rows = []
    for key, some in groups.items():
        mean = means_of(some, log=True)
        method = method_of(mean, log=True, paired=all(p.paired for p in some))
        rows.append((*key, len(some), "ratio", mean.n, mean.value, mean.error, mean.freedom, False, method))
    columns = ["label", "baseline", "metric", "unit", "points"]
    return compared_rows(rows, columns=columns, families=["baseline", "metric"], margin=margin)


def _apart(found: Sequence[_Found], identity: Sequence[str]) -> pd.DataFrame:
    """Points of which no metric pairs up. One may have no pair where others have: a counter that is rare,
    say.
    """
    points = [((f.baseline, *f.key[: len(identity)]), f) for f in found]
    together = {point for point, f in points if f.pairing.paired}
    apart = dict.fromkeys(point[1:] for point, f in points if f.apart and point not in together)
    return pd.DataFrame(list(apart), columns=list(identity))


def compared_rows(
    rows: Sequence[tuple[object, ...]], *, columns: Sequence[str], families: Sequence[str], margin: float
) -> pd.DataFrame:
    """A table of comparisons, each of which ends in `Pairing.compared`, concluded."""
    table = pd.DataFrame(rows, columns=[*columns, *_COMPARED])
    table = table.astype({"mean": float, "error": float, "freedom": float, "zero": bool})
    return conclude(table, families=families, margin=margin).drop(columns="zero")
