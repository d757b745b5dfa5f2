"""What the driver itself costs: its CPU time per operation on the engine that does nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kvdyno.model.axes import THREADS, WORKLOAD
from kvdyno.model.noise import DriverCost
from kvdyno.model.record import Record


def driver_costs(records: Sequence[Record]) -> tuple[DriverCost, ...]:
    """An entry per workload, threads and image, from the measured phase of runs that ended well."""
    found: dict[tuple[str | None, str, int], list[float]] = {}
    for record in records:
        phase = record.phase("measure") if record.status == "ok" else None
        cost = phase.metrics.get("cpu.per_operation") if phase else None
        if cost:
            axes, image = record.point.axes, record.runner.details.get("image")
            found.setdefault((image, str(axes[WORKLOAD]), int(axes[THREADS])), []).append(cost.value)
    return tuple(
        DriverCost(
            image=image,
            workload=workload,
            threads=threads,
            runs=len(values),
            median_ns=statistics.median(values),
            lowest_ns=min(values),
            highest_ns=max(values),
        )
        for (image, workload, threads), values in sorted(found.items(), key=lambda entry: entry[0][1:])
    )
