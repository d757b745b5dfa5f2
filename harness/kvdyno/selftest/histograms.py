"""Do the driver's histograms say what HdrHistogram's own reader finds in its log?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from kvdyno.model.record import Record

_QUANTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
#: Three significant digits: neighbouring buckets differ by a thousandth.
TOLERANCE = 0.001


@dataclass(frozen=True)
class Disagreement:
    """A metric of a record, and what the log holds instead."""

    run_id: str
    metric: str
    recorded: float
    read: float


def compared(record: Record) -> int:
    """How many numbers of the record `disagreements` compares."""
    return sum(1 for _ in _pairs(record))


def disagreements(record: Record, log: Mapping[str, HdrHistogram]) -> tuple[Disagreement, ...]:
    """Counts that differ, and quantiles that differ by more than a bucket, of every operation and phase."""
    found = []
    for tag, metric, value, quantile in _pairs(record):
        histogram = log.get(tag)
        if histogram is None:
            read = 0.0
        elif quantile is None:
            read = float(histogram.get_total_count())
        else:
            read = float(histogram.get_value_at_percentile(quantile))
        limit = 0 if quantile is None else TOLERANCE * value
        if abs(read - value) > limit:
            found.append(Disagreement(record.run_id, f"{tag}.{metric}", value, read))
    return tuple(found)


def _pairs(record: Record) -> list[tuple[str, str, float, float | None]]:
    """Tag, metric, its value and its quantile (None: a count), of closed loops; spans have no histograms."""
    found: list[tuple[str, str, float, float | None]] = []
    for phase in record.outcome.phases if record.outcome else ():
        if phase.covers:
            continue
        for name, metric in phase.metrics.items():
            operation, _, rest = name.partition(".")
            tag = f"{phase.name}.{operation}"
            if rest == "operations" and metric.value > 0:
                found.append((tag, rest, metric.value, None))
            elif rest.startswith("latency.") and rest.removeprefix("latency.") in _QUANTILES:
                found.append((tag, rest, metric.value, _QUANTILES[rest.removeprefix("latency.")]))
    return found
