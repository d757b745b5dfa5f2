"""Series of all runs, small enough for the page: fewer columns first, then means over equal stretches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kvdyno.model.results import Analysis

from .spots import Spots
from .words import metric_title

#: Numbers that the page holds in all, times among them. A line keeps at least `_FEWEST` of its intervals and
#: at most `_MOST`.
_BUDGET, _FEWEST, _MOST = 50_000, 30, 300
#: The columns that are kept first where there is no room for all.
_FIRST = (
    *("throughput", "read.latency.p99", "update.latency.p99", "scan.latency.p99", "cgroup.memory.page_cache"),
    *("cgroup.memory.anonymous", "io.write_bytes", "io.read_bytes", "engine.stall_micros", "latency.p99"),
    *("memory.rss", "engine.pending_compaction_bytes", "engine.level0_files"),
)


@dataclass(frozen=True)
class Timeline:
    """Series as the page's script reads them.

    `columns` are name, title and unit; `runs` are point, repetition, times (s) and for each column its
    values, None where a run lacks the column. `left_out` counts columns for which there was no room.
    """

    columns: tuple[tuple[str, str, str], ...]
    runs: tuple[tuple[int, int, list[float], list[list[float] | None]], ...]
    averaged: bool
    left_out: int


def build_timeline(analysis: Analysis, spots: Spots) -> Timeline | None:
    """The series of all runs that left one; None if there are none."""
    series = analysis.series
    if series.empty:
        return None
    units = dict(zip(series["column"], series["unit"], strict=True))
    runs = series["run_id"].nunique()
    columns = _chosen(series, analysis.headline_metric, room=_BUDGET // (runs * _FEWEST) - 1)
    length = max(_FEWEST, min(_MOST, _BUDGET // (runs * (len(columns) + 1))))
    kept = series[series["column"].isin(columns)]
    lines = []
    longest = 0
    for _, run in kept.groupby("run_id", sort=False):
        wide = run.pivot_table(index="elapsed", columns="column", values="value", sort=True)
        longest = max(longest, len(wide))
        values = [_thinned(wide[c], length, 3) if c in wide else None for c in columns]
        times = _thinned(pd.Series(wide.index), length, 4)
        place = spots.index[spots.of(run.iloc[0]).anchor]
        lines.append((place, int(run["repetition"].iloc[0]), times, values))
    return Timeline(
        columns=tuple((name, metric_title(name), units[name]) for name in columns),
        runs=tuple(lines),
        averaged=longest > length,
        left_out=len(units) - len(columns),
    )


def _chosen(series: pd.DataFrame, headline: str, *, room: int) -> list[str]:
    """The columns that there is room for, the headline first; a column that is 0 throughout shows nothing."""
    varied = series.groupby("column", sort=False)["value"].agg(lambda v: bool((v != 0).any()))
    names = [str(name) for name, some in varied.items() if some] or [str(series["column"].iloc[0])]
    first = [headline, *_FIRST]
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(first))}
    ordered = sorted(names, key=lambda name: ranks.get(name, len(ranks)))
    return ordered[: max(1, room)]


def _thinned(values: pd.Series[Any], most: int, digits: int) -> list[float]:
    """At most `most` values of so many digits: means over equal stretches if there are more."""
    numbers = values.to_numpy(dtype=float)
    size = -(-len(numbers) // most)
    starts = np.arange(0, len(numbers), size)
    sums = np.add.reduceat(np.nan_to_num(numbers), starts)
    means = sums / np.diff([*starts, len(numbers)])
    return [rounded(float(mean), digits) for mean in means]


def rounded(value: float, digits: int) -> float:
    """A number of so many significant digits; whole ones without a point, so that JSON is short."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
