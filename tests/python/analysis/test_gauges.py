"""Cautions about what the machine did to runs, from records that are made up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes_records import MIB, SIZES, Fake, fake_sweep

from kvdyno.analysis.gauges import machine_cautions
from kvdyno.model.record import Metric, PhaseOutcome, Record
from kvdyno.model.results import Caution

UNITS = {"workload": ""}
QUIET: dict[str, float] = {
    "cpu.loop_ms": 5.0,
    "disk.read_4k_p50_us": 80.0,
    "disk.write_mib_per_second": 900.0,
}


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    """Two engines, three repetitions, equal gauges."""
    fake = Fake(folder=tmp_path, repetitions=3, workloads=("A",), sizes=SIZES[:1], files=False)
    return [record.model_copy(update={"gauges": dict(QUIET)}) for record in fake_sweep(fake).records]


def with_gauges(record: Record, **gauges: float | None) -> Record:
    named = {name.replace("__", "."): value for name, value in gauges.items()}
    return record.model_copy(update={"gauges": {**record.gauges, **named}})


def with_details(record: Record, **details: object) -> Record:
    runner = record.runner.model_copy(update={"details": {**record.runner.details, **details}})
    return record.model_copy(update={"runner": runner})


def counted(record: Record, metrics: Mapping[str, float], *phases: Mapping[str, Any]) -> Record:
    """A record whose span `run` has these metrics, and whose phases these counters."""
    assert record.outcome
    span = PhaseOutcome(
        name="run",
        covers=("measure", "drain"),
        started_at=0,
        seconds=10,
        metrics={name: Metric(value=value, unit="byte") for name, value in metrics.items()},
    )
    names = ("warmup", "measure", "drain")
    listed = [{"phase": name, **phase} for name, phase in zip(names, phases, strict=True)]
    outcome = record.outcome.model_copy(update={"phases": (span,)})
    return with_details(record.model_copy(update={"outcome": outcome}), phases=listed)


def cautions(records: list[Record]) -> list[Caution]:
    return machine_cautions(records, units=UNITS)


def test_a_quiet_machine_has_none(records: list[Record]) -> None:
    assert cautions(records) == []


@pytest.mark.parametrize(
    ("gauge", "value", "said"),
    [
        ("disk__read_4k_p50_us", 6000.0, "4 KiB reads took up to 6e+03 us, normal on this host is 80 "),
        (
            "disk__write_mib_per_second",
            300.0,
            "writes went at down to 300 MiB/s, normal on this host is 900 ",
        ),
        ("cpu__loop_ms", 5.8, "a fixed CPU loop took up to 5.8 ms, normal on this host is 5 "),
    ],
)
def test_a_gauge_that_is_off_names_point_and_repetition(
    records: list[Record], gauge: str, value: float, said: str
) -> None:
    records[3] = with_gauges(records[3], **{gauge: value})
    (caution,) = cautions(records)
    assert caution.kind == "gauge"
    assert said in caution.message
    assert "(median of 6 runs)" in caution.message
    assert f"before LevelDB A (repetition {records[3].repetition})" in caution.message
    assert "--force" in caution.remedy or "again" in caution.remedy


@pytest.mark.parametrize(
    ("gauge", "value"),
    [
        ("disk__read_4k_p50_us", 150.0),
        ("disk__read_4k_p50_us", 1.0),
        ("disk__write_mib_per_second", 9000.0),
        ("cpu__loop_ms", 5.4),
        ("cpu__loop_ms", 1.0),
        ("cpu__loop_ms", None),
    ],
)
def test_what_is_a_little_worse_or_any_better_is_normal(
    records: list[Record], gauge: str, value: float | None
) -> None:
    records[3] = with_gauges(records[3], **{gauge: value})
    assert cautions(records) == []


def test_on_a_host_that_scatters_no_run_stands_out(records: list[Record]) -> None:
    scattered = [60.0, 90.0, 120.0, 150.0, 180.0, 310.0]
    found = [
        with_gauges(record, disk__read_4k_p50_us=value)
        for record, value in zip(records, scattered, strict=True)
    ]
    assert cautions(found) == []


def test_few_runs_define_no_normal_and_hosts_have_their_own(records: list[Record]) -> None:
    few = [with_gauges(records[0], cpu__loop_ms=50.0), *records[1:4]]
    assert cautions(few) == []
    elsewhere = [
        with_gauges(record, cpu__loop_ms=50.0).model_copy(
            update={"environment": record.environment.model_copy(update={"host_id": "slow"})}
        )
        for record in records
    ]
    assert cautions([*records, *elsewhere]) == []


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ({"steal_seconds": 0.5}, "took up to 5.0% of the CPU time"),
        ({"swap_ins": 12}, "up to 12 pages came back from swap"),
        ({"throttlings": 3}, "up to 3 times"),
        (
            {"pressure_memory_some_seconds": 2.0, "own_pressure_memory_some_seconds": 0.5},
            "waited for memory during up to 15%",
        ),
        ({"pressure_io_some_seconds": 9.0, "own_pressure_io_some_seconds": 1.0}, "a disk during up to 80%"),
    ],
)
def test_disturbances_while_a_run_measured_are_named(
    records: list[Record], phase: dict[str, float], said: str
) -> None:
    records[0] = with_details(records[0], phases=[{"phase": "measure", "seconds": 10.0, **phase}])
    (caution,) = cautions(records)
    assert caution.kind == "disturbed"
    assert said in caution.message
    assert "RocksDB A (repetition 1)" in caution.message
    assert caution.remedy


@pytest.mark.parametrize(
    "phase",
    [
        {"steal_seconds": 0.05},
        {"swap_ins": 0, "throttlings": 0},
        {"pressure_io_some_seconds": 9.0},
        {"pressure_io_some_seconds": 9.0, "own_pressure_io_some_seconds": 8.9},
    ],
)
def test_what_the_run_itself_waited_for_or_nothing_counted_disturbs_nothing(
    records: list[Record], phase: dict[str, float]
) -> None:
    records[0] = with_details(records[0], phases=[{"phase": "measure", "seconds": 10.0, **phase}])
    assert cautions(records) == []


FILES = {"engine.flush_write_bytes": 100 * MIB, "engine.compact_write_bytes": 200 * MIB}
NOTHING: dict[str, float] = {}


@pytest.mark.parametrize("logs", [0, 100])
@pytest.mark.parametrize(("process", "disagree"), [(310, False), (390, False), (200, True), (620, True)])
def test_the_engine_and_its_process_must_agree(
    records: list[Record], process: int, disagree: bool, logs: int
) -> None:
    """390 MiB are within a quarter of 310, and of 300 with 100 of logs."""
    metrics = {**FILES, "io.write_bytes": process * MIB * (0.9 if not logs and process == 390 else 1)}
    if logs:
        metrics["engine.wal_bytes"] = logs * MIB
    records[0] = counted(records[0], metrics, NOTHING, NOTHING, NOTHING)
    found = cautions(records)
    assert bool(found) == disagree
    if disagree:
        assert found[0].kind == "amplification"
        assert f"its process {process} MiB" in found[0].message
        assert "RocksDB A (repetition 1)" in found[0].message


@pytest.mark.parametrize(
    ("disk", "dirty_before", "dirty_after", "cancelled", "disagree"),
    [
        (300, 0, 0, 0, False),
        (500, 0, 0, 0, True),  # others wrote
        (500, 150, 0, 0, False),  # dirtied in the warm-up
        (100, 0, 0, 0, True),  # written, and never seen by the disk
        (100, 0, 190, 0, False),  # still dirty at the end
        (100, 0, 0, 190, False),  # removed before it was written back
        (100, 0, None, 0, False),  # the kernel does not say what is dirty
    ],
)
def test_the_process_and_the_disk_must_agree_but_for_unwritten_pages(
    records: list[Record],
    disk: int,
    dirty_before: int,
    dirty_after: int | None,
    cancelled: int,
    disagree: bool,
) -> None:
    dirty = {} if dirty_after is None else {"dirty_bytes": dirty_after * MIB}
    records[1] = counted(
        records[1],
        {"io.write_bytes": 300 * MIB, "io.cancelled_write_bytes": cancelled * MIB},
        {"disk_write_bytes": 5000 * MIB, "dirty_bytes": dirty_before * MIB},
        {"disk_write_bytes": (disk - 10) * MIB},
        {"disk_write_bytes": 10 * MIB, **dirty},
    )
    found = cautions(records)
    assert bool(found) == disagree
    if disagree:
        assert f"the process wrote 300 MiB, the disk {disk} MiB" in found[0].message


def test_small_counts_may_differ_by_any_factor(records: list[Record]) -> None:
    metrics = {"engine.table_write_bytes": 1 * MIB, "io.write_bytes": 10 * MIB}
    records[0] = counted(records[0], metrics, NOTHING, NOTHING, NOTHING)
    assert cautions(records) == []


def test_runs_that_failed_are_not_compared(records: list[Record]) -> None:
    failed = counted(records[0], {**FILES, "io.write_bytes": 1}, NOTHING, NOTHING, NOTHING)
    assert cautions([failed.model_copy(update={"status": "crash"}), *records[1:]]) == []


def test_a_rate_that_did_not_hold_is_named(records: list[Record]) -> None:
    held = {
        "write_bytes_per_second": {"limit": 150.0, "highest": 182.0, "held": False},
        "read_bytes_per_second": {"limit": 150.0, "highest": 150.0, "held": True},
    }
    records[0] = with_details(records[0], device_held=held)
    (caution,) = cautions(records)
    assert caution.kind == "device"
    assert (
        "write_bytes_per_second reached 1.21 times its limit at RocksDB A (repetition 1)" in caution.message
    )


def test_many_points_are_counted_and_not_listed(tmp_path: Path) -> None:
    fake = Fake(folder=tmp_path, repetitions=2, files=False)
    disturbed = [
        with_details(record, phases=[{"phase": "measure", "seconds": 1.0, "swap_ins": 1}])
        for record in fake_sweep(fake).records
    ]
    (caution,) = machine_cautions(disturbed, units={"workload": "", "dataset": "byte"})
    assert "(repetitions 1, 2)" in caution.message
    assert caution.message.endswith("and 20 more")
