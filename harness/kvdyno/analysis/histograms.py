"""Latency histograms: the standard HdrHistogram logs of a point's repetitions, added up.

Histograms add without loss, percentiles do not average: the percentile of a merged histogram is that of all
operations of all repetitions together (Tene, "How not to measure latency"; HdrHistogram log format 1.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from kvdyno.errors import StoreError

_LOWEST_NS, _HIGHEST_NS, _DIGITS = 1, 3_600_000_000_000, 3
#: Steps between a percentile and the next halving of what is left above it.
_STEPS_PER_HALVING = 4


@dataclass(frozen=True)
class CurvePoint:
    """`value` ns is not exceeded by `percentile` % of `count` operations."""

    percentile: float
    value: float
    count: int


def read_log(path: Path) -> dict[str, HdrHistogram]:
    """Tag (`measure.read`) to histogram, intervals of equal tag added up.

    Raises StoreError if the file cannot be read or is no histogram log.
    """
    found: dict[str, HdrHistogram] = {}
    try:
        reader = HistogramLogReader(str(path), HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _DIGITS))
        try:
            while (histogram := reader.get_next_interval_histogram()) is not None:
                _add(found, histogram.get_tag() or "", histogram)
        finally:
            reader.close()
    except Exception as error:  # the decoder lets zlib's, struct's and its own errors through
        raise StoreError(f"expected an HdrHistogram log, found: {error}", where=str(path)) from error
    if not found:
        raise StoreError("expected an HdrHistogram log, found no histogram in it", where=str(path))
    return found


def merge(logs: Iterable[Mapping[str, HdrHistogram]]) -> dict[str, HdrHistogram]:
    """Histograms of equal tag added up over several logs. The inputs are not changed."""
    total: dict[str, HdrHistogram] = {}
    for log in logs:
        for tag, histogram in log.items():
            _add(total, tag, histogram)
    return total


def curve(histogram: HdrHistogram) -> tuple[CurvePoint, ...]:
    """The percentile curve, denser towards the tail, up to the percentile that one operation in all makes.

    The last point is 100 %: the largest value.
    """
    count = int(histogram.get_total_count())
    if count == 0:
        return ()
    levels = [p for p in _levels() if (1 - p / 100) * count >= 1]
    values = histogram.get_percentile_to_value_dict(levels)  # in one walk over its counts
    points = [CurvePoint(p, float(values[p]), count) for p in levels]
    return (*points, CurvePoint(100.0, float(histogram.get_max_value()), count))


def _levels() -> list[float]:
    """Percentiles that halve what is left in four steps, with the usual round ones among them."""
    halvings = range(1, 20 * _STEPS_PER_HALVING)
    spread = [100 * (1 - math.exp2(-step / _STEPS_PER_HALVING)) for step in halvings]
    return sorted({*spread, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999})


def _add(total: dict[str, HdrHistogram], tag: str, histogram: HdrHistogram) -> None:
    if tag not in total:
        total[tag] = HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _DIGITS)
    total[tag].add(histogram)
