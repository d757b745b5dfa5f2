"""Hosts that are slower than the others by their gauges, from records that are made up."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes_records import SIZES, Fake, fake_sweep

from kvdyno.analysis.outliers import NORMAL_HOSTS, host_cautions, host_outliers
from kvdyno.model.record import Record

QUIET: dict[str, float] = {
    "cpu.loop_ms": 5.0,
    "disk.read_4k_p50_us": 80.0,
    "disk.write_mib_per_second": 900.0,
    "store.read_4k_p50_us": 80.0,
}
NAMES = [f"host{number}" for number in range(6)]


@pytest.fixture
def template(tmp_path: Path) -> Record:
    fake = Fake(folder=tmp_path, repetitions=1, workloads=("A",), sizes=SIZES[:1], files=False)
    return fake_sweep(fake).records[0]


def on_hosts(template: Record, gauges: Mapping[str, Mapping[str, float]], *, runs: int = 5) -> list[Record]:
    """So many runs of each host, with these gauges where they differ from QUIET."""
    return [
        template.model_copy(
            update={
                "gauges": QUIET | dict(own),
                "environment": template.environment.model_copy(update={"host_id": host}),
            }
        )
        for host, own in gauges.items()
        for _ in range(runs)
    ]


@pytest.mark.parametrize(
    ("gauge", "value"),
    [("disk.read_4k_p50_us", 200.0), ("disk.write_mib_per_second", 300.0), ("cpu.loop_ms", 6.0)],
)
def test_a_slow_host_is_named(template: Record, gauge: str, value: float) -> None:
    (found,) = host_outliers(on_hosts(template, {name: {} for name in NAMES} | {"host3": {gauge: value}}))
    assert (found.host_id, found.gauge) == ("host3", gauge)
    assert (found.value, found.normal, found.hosts) == (value, QUIET[gauge], 6)


def test_a_fast_host_is_none(template: Record) -> None:
    fast = {"disk.read_4k_p50_us": 20.0, "disk.write_mib_per_second": 4000.0, "cpu.loop_ms": 2.0}
    assert host_outliers(on_hosts(template, {name: {} for name in NAMES} | {"host3": fast})) == ()


def test_hosts_that_scatter_as_much_are_none(template: Record) -> None:
    latencies = (40.0, 60.0, 80.0, 100.0, 150.0, 220.0)
    gauges = {n: {"disk.read_4k_p50_us": v} for n, v in zip(NAMES, latencies, strict=True)}
    assert host_outliers(on_hosts(template, gauges)) == ()


def test_stores_are_not_compared_between_hosts(template: Record) -> None:
    slow = {"store.read_4k_p50_us": 900.0}
    assert host_outliers(on_hosts(template, {name: {} for name in NAMES} | {"host3": slow})) == ()


def test_one_slow_run_makes_no_outlier(template: Record) -> None:
    found = on_hosts(template, {name: {} for name in NAMES})
    found[0] = found[0].model_copy(update={"gauges": QUIET | {"disk.read_4k_p50_us": 9000.0}})
    assert host_outliers(found) == ()


def test_too_few_hosts_or_runs_define_no_normal(template: Record) -> None:
    slow = {"cpu.loop_ms": 50.0}
    few = {name: {} for name in NAMES[: NORMAL_HOSTS - 2]} | {"slow": slow}
    assert host_outliers(on_hosts(template, few)) == ()
    assert host_outliers(on_hosts(template, {name: {} for name in NAMES} | {"host3": slow}, runs=4)) == ()


def test_equal_hosts_are_seldom_named(template: Record) -> None:
    """Six equal hosts whose medians differ by 2 %: at most one sweep in twenty names one."""
    draw = random.Random(7)
    named = 0
    for _ in range(200):
        gauges = {n: {g: v * draw.lognormvariate(0, 0.02) for g, v in QUIET.items()} for n in NAMES}
        named += bool(host_outliers(on_hosts(template, gauges)))
    assert named <= 10, "seed 7"


def test_the_caution_names_the_host_and_its_points(template: Record) -> None:
    slow = {name: {} for name in NAMES} | {"host3": {"cpu.loop_ms": 6.0}}
    (caution,) = host_cautions(on_hosts(template, slow), units={"workload": ""})
    assert "on host host3 a fixed CPU loop took 6 ms" in caution.message
    assert "normal is 5 ms (median of 6 hosts)" in caution.message
    assert "kvdyno exclude host3 --because" in caution.remedy
    assert len(caution.points) == 1
