"""How long runs take and how much disk they need, before anything has run.

Deliberately rough, from rates of a small machine with a virtual disk, or the write rate of a slower device;
a sweep's own progress corrects it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvdyno.model.axes import LOAD_SECONDS, MEASURE_BYTES, MEASURE_SECONDS, OPERATIONS, WARMUP_SECONDS
from kvdyno.model.point import Dataset, Plan

from .dataset import record_bytes
from .resolve import Resolved

START_SECONDS = 0.7  # making the cgroup, starting the driver, opening the store
SETTLE_SECONDS = 1.5  # settle after a load, drain after writes
LOAD_BYTES_PER_SECOND = 60 << 20
COPY_BYTES_PER_SECOND = 300 << 20
OPERATIONS_PER_SECOND = 30_000
ROWS_PER_SECOND = 200_000  # of scans
SPACE_AMPLIFICATION = 1.5  # a settled store's files over its keys and values

_WRITES = ("update", "insert", "readmodifywrite")


@dataclass(frozen=True)
class Estimate:
    """Of a whole plan with nothing cached: `seconds` includes loads; `disk_bytes` is the peak."""

    seconds: float
    load_seconds: float
    disk_bytes: int


def estimate(plan: Plan) -> Estimate:
    """All runs, and one load per dataset; on disk every snapshot, and the largest point beside them."""
    datasets = {point.dataset.identity: point.dataset for point in plan.points if point.dataset}
    load_seconds = sum(load_seconds_of(dataset.bytes) for dataset in datasets.values())
    snapshots = sum(round(dataset.bytes * SPACE_AMPLIFICATION) for dataset in datasets.values())
    return Estimate(
        seconds=load_seconds + sum(run.point.expected_seconds for run in plan.runs),
        load_seconds=load_seconds,
        disk_bytes=snapshots + max((point.expected_disk_bytes for point in plan.points), default=0),
    )


def load_seconds_of(size: int) -> float:
    """Loading `size` bytes of keys and values, and settling."""
    return START_SECONDS + size / LOAD_BYTES_PER_SECOND + SETTLE_SECONDS


def expected_seconds(resolved: Resolved, *, dataset: Dataset | None, loaded_bytes: int) -> float:
    """One run: start, copy of the snapshot or load, warm-up, measured phase, drain.

    A snapshot of an engine that writes files once is linked, in no time worth counting.
    """
    if "load" in resolved.phases:
        return START_SECONDS + _loading_seconds(resolved, loaded_bytes) + SETTLE_SECONDS
    linked = bool(resolved.engine.description.engine.write_once_files)
    copied = 0 if linked or dataset is None else dataset.bytes * SPACE_AMPLIFICATION
    drain = SETTLE_SECONDS if "drain" in resolved.phases and _write_share(resolved) else 0
    phases = resolved.number(WARMUP_SECONDS) + _measure_seconds(resolved) + drain
    return START_SECONDS + copied / COPY_BYTES_PER_SECOND + phases


def expected_disk_bytes(resolved: Resolved, *, loaded_bytes: int) -> int:
    """The run's own store: what was loaded, and what is written before compaction removes old versions.

    The written part is bounded by the data once more: beyond that, compaction keeps up.
    """
    if "load" in resolved.phases:
        filled = _loading_seconds(resolved, loaded_bytes) * _at_most(LOAD_BYTES_PER_SECOND, resolved)
        return round(min(filled, loaded_bytes) * SPACE_AMPLIFICATION)
    written = _measure_seconds(resolved) * _written_bytes_per_second(resolved)
    return round(loaded_bytes * SPACE_AMPLIFICATION + min(written, loaded_bytes))


def _loading_seconds(resolved: Resolved, loaded_bytes: int) -> float:
    """A measured load takes the time that it is given, for which there are records enough, or all records."""
    return resolved.number(LOAD_SECONDS) or loaded_bytes / _at_most(LOAD_BYTES_PER_SECOND, resolved)


def _at_most(rate: float, resolved: Resolved) -> float:
    """The rate of writing, or the device's if that is less. Of its reads nothing is known beforehand."""
    limit = resolved.device.write_bytes_per_second if resolved.device else None
    return min(rate, limit or rate)


def _write_share(resolved: Resolved) -> float:
    return min(1, sum(resolved.number(f"{operation}proportion") for operation in _WRITES))


def _measure_seconds(resolved: Resolved) -> float:
    """The first of the limits that is reached, at the assumed rates."""
    rows = resolved.number("scanproportion") * _mean_rows(resolved)
    written = _written_bytes_per_second(resolved)
    per_operation = 1 / _operations_per_second(resolved) + rows / ROWS_PER_SECOND
    limits = [
        resolved.number(MEASURE_SECONDS),
        resolved.number(OPERATIONS) * per_operation,
        resolved.number(MEASURE_BYTES) / written if written else 0,
    ]
    return min((limit for limit in limits if limit > 0), default=0)


def _written_bytes_per_second(resolved: Resolved) -> float:
    return _operations_per_second(resolved) * _write_share(resolved) * record_bytes(resolved)


def _operations_per_second(resolved: Resolved) -> float:
    """The assumed rate, less if the device cannot write so much."""
    written = OPERATIONS_PER_SECOND * _write_share(resolved) * record_bytes(resolved)
    return OPERATIONS_PER_SECOND * (_at_most(written, resolved) / written if written else 1)


def _mean_rows(resolved: Resolved) -> float:
    return (resolved.number("minscanlength") + resolved.number("maxscanlength")) / 2
