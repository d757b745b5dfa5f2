"""How long runs take and how much disk they need, before anything has run.

Deliberately rough, from rates of a small machine with a virtual disk, or the write rate of a slower device;
a sweep's own progress corrects it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvdyno.model.axes import LOAD_SECONDS, MEASURE_BYTES, MEASURE_SECONDS, OPERATIONS, WARMUP_SECONDS
from kvdyno.model.point import Dataset, Plan

from .costs import described_cost
from .mix import record_bytes, scan_rows, scan_share, write_share
from .resolve import Resolved

START_SECONDS = 0.7  # making the cgroup, starting the driver, opening the store
SETTLE_SECONDS = 1.5  # settle after a load, drain after writes
REST_SECONDS = 0.5  # settle after a warm-up that writes
LOAD_BYTES_PER_SECOND = 60 << 20
COPY_BYTES_PER_SECOND = 300 << 20
OPERATIONS_PER_SECOND = 30_000
AGE_OPERATIONS_PER_SECOND = 40_000  # blind puts
ROWS_PER_SECOND = 200_000  # of scans
SPACE_AMPLIFICATION = 1.5  # a settled store's files over its keys and values


@dataclass(frozen=True)
class Estimate:
    """Costs of a whole plan with nothing cached: `seconds` includes loads, which include ageing; `disk_bytes`
    is the peak, snapshots included.
    """

    seconds: float
    load_seconds: float
    age_seconds: float
    snapshots: int
    snapshot_bytes: int
    disk_bytes: int


def estimate(plan: Plan) -> Estimate:
    """All runs, and each load once; on disk every snapshot, and the largest point beside them."""
    datasets = plan.datasets
    load_seconds = sum(dataset.expected_seconds for dataset in datasets)
    snapshots = sum(round(dataset.bytes * SPACE_AMPLIFICATION) for dataset in datasets)
    return Estimate(
        seconds=load_seconds + sum(run.point.expected_seconds for run in plan.runs),
        load_seconds=load_seconds,
        age_seconds=sum(age_seconds_of(dataset) for dataset in datasets),
        snapshots=len(datasets),
        snapshot_bytes=snapshots,
        disk_bytes=snapshots + max((point.expected_disk_bytes for point in plan.points), default=0),
    )


def expected_load_seconds(size: int, *, records: int, age: float) -> float:
    """Loading `size` bytes of keys and values, ageing them, and settling after each."""
    return START_SECONDS + size / LOAD_BYTES_PER_SECOND + SETTLE_SECONDS + _age_seconds(records, age)


def age_seconds_of(dataset: Dataset) -> float:
    """The part of a load that ages the data."""
    return _age_seconds(dataset.records, dataset.age)


def _age_seconds(records: int, age: float) -> float:
    return age * records / AGE_OPERATIONS_PER_SECOND + SETTLE_SECONDS if age else 0


def expected_seconds(resolved: Resolved, *, dataset: Dataset | None, loaded_bytes: int) -> float:
    """One run: start, copy of the snapshot or load, warm-up, rest, measured phase, drain; with a recovery
    another start, and the time that it is watched.

    A snapshot of an engine that writes files once is linked, in no time worth counting. A driver that
    describes the time of its runs is believed.
    """
    if described := described_cost(resolved, "time"):
        return START_SECONDS + described
    if "load" in resolved.phases:
        return START_SECONDS + _loading_seconds(resolved, loaded_bytes) + SETTLE_SECONDS
    linked = bool(resolved.engine.description.engine.write_once_files)
    copied = 0 if linked or dataset is None else dataset.bytes * SPACE_AMPLIFICATION
    settles = {"rest": REST_SECONDS, "drain": SETTLE_SECONDS} if write_share(resolved) else {}
    settling = sum(seconds for phase, seconds in settles.items() if phase in resolved.phases)
    phases = resolved.number(WARMUP_SECONDS) + _measure_seconds(resolved) + settling
    if resolved.recovery:
        phases += START_SECONDS + resolved.recovery.watch_seconds
    return START_SECONDS + copied / COPY_BYTES_PER_SECOND + phases


def window_seconds(resolved: Resolved, *, loaded_bytes: int) -> float:
    """What a run measures: its load, or the phase after it. 0: nothing that a length is known of."""
    return _loading_seconds(resolved, loaded_bytes) if resolved.measures_load else _measure_seconds(resolved)


def expected_disk_bytes(resolved: Resolved, *, loaded_bytes: int) -> int:
    """The run's own store: what its driver describes, or else what was loaded, and what is written before
    compaction removes old versions.

    The written part is bounded by the data once more: beyond that, compaction keeps up.
    """
    if described := described_cost(resolved, "disk"):
        return round(described)
    if "load" in resolved.phases:
        filled = _loading_seconds(resolved, loaded_bytes) * _at_most(LOAD_BYTES_PER_SECOND, resolved)
        return round(min(filled, loaded_bytes) * SPACE_AMPLIFICATION)
    written = _measure_seconds(resolved) * _written_bytes_per_second(resolved)
    return round(loaded_bytes * SPACE_AMPLIFICATION + min(written, loaded_bytes))


def _loading_seconds(resolved: Resolved, loaded_bytes: int) -> float:
    """A measured load takes the time that it is given, for which there are records enough, or all records."""
    return resolved.number(LOAD_SECONDS) or loaded_bytes / _at_most(LOAD_BYTES_PER_SECOND, resolved)


def _at_most(rate: float, resolved: Resolved) -> float:
    """The rate of writing, or the device's if that is less. Nothing is known of its reads beforehand."""
    limit = resolved.device.write_bytes_per_second if resolved.device else None
    return min(rate, limit or rate)


def _measure_seconds(resolved: Resolved) -> float:
    """The first of the limits that is reached, at the assumed rates."""
    rows = scan_share(resolved) * scan_rows(resolved)
    written = _written_bytes_per_second(resolved)
    per_operation = 1 / _operations_per_second(resolved) + rows / ROWS_PER_SECOND
    limits = [
        resolved.number(MEASURE_SECONDS),
        resolved.number(OPERATIONS) * per_operation,
        resolved.number(MEASURE_BYTES) / written if written else 0,
    ]
    return min((limit for limit in limits if limit > 0), default=0)


def _written_bytes_per_second(resolved: Resolved) -> float:
    return _operations_per_second(resolved) * write_share(resolved) * record_bytes(resolved)


def _operations_per_second(resolved: Resolved) -> float:
    """The assumed rate, less if the device cannot write so much."""
    written = OPERATIONS_PER_SECOND * write_share(resolved) * record_bytes(resolved)
    return OPERATIONS_PER_SECOND * (_at_most(written, resolved) / written if written else 1)
