"""What the driver itself costs: its CPU time per operation on the engine that does nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kvdyno.model.axes import THREADS, WORKLOAD
from kvdyno.model.noise import DriverCost
from kvdyno.model.record import Record


def driver_costs(records: Sequence[Record]) -> tuple[DriverCost, ...]:
    """An entry per workload and number of threads, from the measured phase of the runs that ended well."""
    found: dict[tuple[str, int], list[float]] = {}
    for record in records:
        phase = record.phase("measure") if record.status == "ok" else None
        cost = phase.metrics.get("cpu.per_operation") if phase else None
        if cost:
            axes = record.point.axes
            found.setdefault((str(axes[WORKLOAD]), int(axes[THREADS])), []).append(cost.value)
    return tuple(
        DriverCost(
            workload=workload,
            threads=threads,
            runs=len(values),
            median_ns=statistics.median(values),
            lowest_ns=min(values),
            highest_ns=max(values),
        )
        for (workload, threads), values in found.items()
    )
