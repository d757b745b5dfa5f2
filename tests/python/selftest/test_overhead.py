"""What the driver costs, from records of runs on the engine that does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes_records import SIZES, Fake, fake_sweep

from kvdyno.model.noise import DriverCost
from kvdyno.model.record import Metric, Record
from kvdyno.selftest.overhead import driver_costs


def _costing(record: Record, nanoseconds: float, *, threads: int, status: str = "ok") -> Record:
    assert record.outcome is not None
    metrics = {"cpu.per_operation": Metric(value=nanoseconds, unit="ns/op")}
    phases = tuple(
        phase.model_copy(update={"metrics": metrics if phase.name == "measure" else {}})
        for phase in record.outcome.phases
    )
    axes = {**record.point.axes, "threads": threads}
    return record.model_copy(
        update={
            "point": record.point.model_copy(update={"axes": axes}),
            "outcome": record.outcome.model_copy(update={"phases": phases}),
            "status": status,
        }
    )


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return fake_sweep(Fake(tmp_path, repetitions=1, workloads=("C",), sizes=SIZES[:1], files=False)).records[
        0
    ]


def test_costs_are_medians_by_workload_and_threads(record: Record) -> None:
    ran = [_costing(record, 90.0, threads=2), _costing(record, 1e6, threads=2, status="timeout")]
    ran += [_costing(record, cost, threads=1) for cost in (50.0, 70.0, 52.0)]
    assert driver_costs(ran) == (
        DriverCost(workload="C", threads=1, runs=3, median_ns=52, lowest_ns=50, highest_ns=70),
        DriverCost(workload="C", threads=2, runs=1, median_ns=90, lowest_ns=90, highest_ns=90),
    )


def test_runs_without_a_cost_are_left_out(record: Record) -> None:
    assert driver_costs([record.model_copy(update={"outcome": None, "status": "crash"})]) == ()
