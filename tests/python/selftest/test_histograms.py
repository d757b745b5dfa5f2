"""A record's quantiles are compared with what the histogram log holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.analysis.histograms import read_log
from kvdyno.model.record import Metric, Record
from kvdyno.selftest.histograms import compared, disagreements
from tests.python.fakes_records import Fake, fake_sweep


@pytest.fixture(name="sweep_record")
def _sweep_record(tmp_path: Path) -> tuple[Record, Path]:
    sweep = fake_sweep(Fake(tmp_path, repetitions=1, workloads=("C",)))
    record = sweep.records[0]
    return record, sweep.run_dirs[record.run_id] / "latency.hlog"


def _with(record: Record, metrics: dict[str, Metric]) -> Record:
    assert record.outcome is not None
    phases = tuple(
        phase.model_copy(update={"metrics": {**phase.metrics, **metrics}})
        if phase.name == "measure"
        else phase
        for phase in record.outcome.phases
    )
    return record.model_copy(update={"outcome": record.outcome.model_copy(update={"phases": phases})})


def test_numbers_of_the_log_agree_and_others_do_not(sweep_record: tuple[Record, Path]) -> None:
    record, path = sweep_record
    log = read_log(path)
    histogram = log["measure.read"]
    count = Metric(value=histogram.get_total_count(), unit="op")
    median = Metric(value=histogram.get_value_at_percentile(50), unit="ns")
    sound = _only(_with(record, {"read.operations": count, "read.latency.p50": median}))
    assert compared(sound) == 2
    assert disagreements(sound, log) == ()
    off = Metric(value=median.value * 1.01, unit="ns")
    (found,) = disagreements(_only(_with(record, {"read.operations": count, "read.latency.p50": off})), log)
    assert found.metric == "measure.read.latency.p50"
    assert found.read == median.value


def test_a_tag_that_the_log_lacks_disagrees(sweep_record: tuple[Record, Path]) -> None:
    record, path = sweep_record
    scans = _only(_with(record, {"scan.operations": Metric(value=5, unit="op")}))
    assert [each.read for each in disagreements(scans, read_log(path)) if "scan" in each.metric] == [0.0]


def _only(record: Record) -> Record:
    """The record with the measured phase alone, and of that only what the test set."""
    assert record.outcome is not None
    keep = ("read.operations", "read.latency.p50", "scan.operations")
    phases = tuple(
        phase.model_copy(update={"metrics": {k: v for k, v in phase.metrics.items() if k in keep}})
        for phase in record.outcome.phases
        if phase.name == "measure"
    )
    return record.model_copy(update={"outcome": record.outcome.model_copy(update={"phases": phases})})
