"""The driver's latency log, read by the library that the harness and the rest of the world use."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from kvdyno.model.project import Project

PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99")
REPOSITORY = Path(__file__).parents[3]


@dataclass(frozen=True)
class Tagged:
    """One line of the log."""

    tag: str
    start_seconds: float
    length_seconds: float
    histogram: HdrHistogram


@dataclass(frozen=True)
class Left:
    """What a run left behind."""

    metrics: dict[str, dict[str, float]]
    seconds: dict[str, float]
    log: dict[str, Tagged]


def read_log(path: Path) -> dict[str, Tagged]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    found: dict[str, Tagged] = {}
    while (histogram := reader.get_next_interval_histogram()) is not None:
        length = (histogram.get_end_time_stamp() - histogram.get_start_time_stamp()) / 1000
        tag = histogram.get_tag()
        found[tag] = Tagged(tag, histogram.get_start_time_stamp() / 1000, length, histogram)
    reader.close()
    return found


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    binary = Project.find(start=REPOSITORY).binaries / "kvdyno-memory"
    if not binary.is_file():
        pytest.skip(f"{binary} is not built; make build")
    folder = tmp_path_factory.mktemp("driver")
    properties = {
        "data.dir": folder / "data",
        "output.dir": folder,
        "recordcount": 2000,
        "operationcount": 20000,
        "readproportion": 0.5,
        "updateproportion": 0.4,
        "scanproportion": 0.1,
        "maxscanlength": 50,
        "target": 100000,
        "threadcount": 2,
    }
    command = [str(binary), "-load", "-run"]
    for name, value in properties.items():
        command += ["-p", f"{name}={value}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    outcome = json.loads((folder / "outcome.json").read_text())
    return Left(
        metrics={p["name"]: {n: m["value"] for n, m in p["metrics"].items()} for p in outcome["phases"]},
        seconds={p["name"]: p["seconds"] for p in outcome["phases"]},
        log=read_log(folder / outcome["histograms"]),
    )


def test_every_phase_and_operation_has_a_line(left: Left) -> None:
    measured = {f"measure.{op}{kind}" for op in ("read", "update", "scan") for kind in ("", ".service")}
    assert set(left.log) == {"load.insert"} | measured


@pytest.mark.parametrize("operation", ["read", "update", "scan"])
@pytest.mark.parametrize(("suffix", "metric"), [("", "latency"), (".service", "service")])
def test_the_library_finds_the_percentiles_that_the_driver_reports(
    left: Left, operation: str, suffix: str, metric: str
) -> None:
    histogram = left.log[f"measure.{operation}{suffix}"].histogram
    reported = left.metrics["measure"]
    assert histogram.get_total_count() == reported[f"{operation}.operations"]
    for percentile in PERCENTILES:
        value = histogram.get_value_at_percentile(float(percentile[1:]))
        assert value == reported[f"{operation}.{metric}.{percentile}"], percentile
    assert histogram.get_mean_value() == pytest.approx(reported[f"{operation}.{metric}.mean"], rel=1e-3)
    assert histogram.get_max_value() == pytest.approx(reported[f"{operation}.{metric}.max"], rel=1e-3)
    assert histogram.get_min_value() == pytest.approx(reported[f"{operation}.{metric}.min"], rel=1e-3)


def test_lines_hold_when_and_how_long(left: Left) -> None:
    assert left.log["measure.read"].length_seconds == pytest.approx(left.seconds["measure"], abs=0.01)
    assert left.log["measure.read"].start_seconds > left.log["load.insert"].start_seconds


def test_lines_merge_by_adding(left: Left) -> None:
    both = HdrHistogram(1, 3_600_000_000_000, 3)
    both.add(left.log["measure.read"].histogram)
    both.add(left.log["measure.update"].histogram)
    parts = left.metrics["measure"]
    assert both.get_total_count() == parts["read.operations"] + parts["update.operations"]
    p50s = sorted((parts["read.latency.p50"], parts["update.latency.p50"]))
    assert p50s[0] <= both.get_value_at_percentile(50) <= p50s[1]
