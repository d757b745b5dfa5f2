"""An engine without keys and values, from its experiment to its report."""

from __future__ import annotations

import csv

import pytest

from .conftest import BINARIES, Checkout

DRIVER = BINARIES / "kvdyno-sampling"

TINY = """\
title: Tiny sampling
engines:
  - {engine: sampling, preset: tiering-tagging, label: tagging}
  - {engine: sampling, preset: tiering-tombstones, label: tombstones}
  - {engine: sampling, preset: aggregate-tree, label: tree}
  - {engine: sampling, preset: external-tombstones, label: external,
     options: {buffer_records: 500, memory_levels: 0, memory_bytes: 256MiB}}
grid:
  records: [640000]
  k: [10, 100]
properties: {queries: 20, delete.share: 0.2}
cap: 4GiB
metrics:
  - {id: time_per_sample, sum: [seconds], over: [sample.rows]}
figures:
  - {id: updates, kind: bars, x: k}
  - {id: sample, kind: lines, metric: time_per_sample, phase: sample, x: k}
  - {id: spread, kind: percentiles, metric: sample, phase: sample, where: {k: 100}}
tables:
  - {id: updates-table, rows: k, columns: engine, ratio_to: tree}
  - {id: memory-table, metric: engine.memory, phase: sample, rows: k, columns: engine}
  - {id: disk-table, metric: engine.disk, phase: sample, rows: k, columns: engine}
claims:
  - {id: some, text: tagging does something, engine: tagging, at_least: 1}
  - {id: longer, text: larger takes longer, metric: sample.latency.mean, phase: sample, engine: tagging,
     along: {k: [100, 10]}, at_least: 0.001}
"""


@pytest.fixture
def sampling(checkout: Checkout) -> Checkout:
    assert DRIVER.is_file(), "kvdyno-sampling is not built: run `make build` first"
    (checkout.binaries / DRIVER.name).symlink_to(DRIVER)
    checkout.experiment("sampling", TINY)
    return checkout


def test_an_experiment_runs_to_its_report(sampling: Checkout) -> None:
    answer = sampling.kvdyno("run", "sampling", "--uncapped", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["measured"] == 16
    report = sampling.kvdyno("report", "sampling", "--uncapped", "--json")
    assert report.status == 0, report.err
    for name in ("updates", "sample", "spread"):
        assert list((sampling.root / "results").rglob(f"{name}.svg")), name
    (table,) = (sampling.root / "results").rglob("disk-table.csv")
    sizes = {
        row["engine"]: float(row["value"]) for row in csv.DictReader(table.read_text("utf-8").splitlines())
    }
    assert sizes.keys() == {"tagging", "tombstones", "external"}, "baselines have no files"
    assert sizes["external"] > 24 * 640000 / 64 / 2 > sizes["tagging"] == 0
    claims = sampling.kvdyno("claims", "sampling", "--uncapped", "--json")
    assert "tagging does something" in claims.out, "its exit status depends on the machine"


def test_the_engine_is_listed_and_describes_itself(sampling: Checkout) -> None:
    listed = sampling.kvdyno("engines")
    assert "sampling" in listed.out
    described = sampling.kvdyno("describe", "sampling", "--json")
    assert described.status == 0, described.err
    assert "filter_false_positives" in described.out


TUNE = (
    *("tune", "sampling", "--objective", "throughput,sample.p99", "--uncapped", "--json", "--tries", "1"),
    *("--repeat", "2", "--property", "records=1M", "--property", "queries=20", "--property", "k=50"),
)


def test_a_search_needs_nothing_of_its_own(sampling: Checkout) -> None:
    found = sampling.kvdyno(*TUNE)
    assert found.status == 0, found.err
    (first,) = found.json["tries"]
    assert first["failure"] == ""
    assert set(first["options"]) <= {
        *("layout", "deletes", "scale_factor", "buffer_records", "max_deleted", "filter_false_positives"),
        "background",
    }
    rows = [row for each in found.json["confirmed"] for row in each["rows"]]
    assert {row["metric"] for row in rows} == {"throughput", "sample.latency.p99"}
    assert {row["workload"]: row["unseen"] for row in rows} == {
        "pareto-1.2": False, "unit": True, "pareto-2.5": True,
    }  # fmt: skip


def test_a_search_takes_any_axis_for_its_workloads(sampling: Checkout) -> None:
    found = sampling.kvdyno(*TUNE, "--workload", "delete.share=0.05,0.25", "--unseen", "0.4")
    assert found.status == 0, found.err
    rows = [row for each in found.json["confirmed"] for row in each["rows"]]
    assert {row["workload"]: row["unseen"] for row in rows} == {"0.05": False, "0.25": False, "0.4": True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sampling", "--workload", "a"), "expected AXIS=A,B: the driver has no workloads"),
        (("sampling", "--dataset", "1GiB"), "the driver of sampling has no dataset"),
        (("sampling", "--workload", "delete.shares=0.1"), "delete.share"),
        (("sampling", "--property", "records"), "expected NAME=VALUE"),
        (("memory", "--workload", "threads=1,2"), "expected workloads, found the axis 'threads'"),
    ],
)
def test_a_search_that_is_wrong(sampling: Checkout, arguments: tuple[str, ...], message: str) -> None:
    answer = sampling.kvdyno("tune", *arguments, "--uncapped")
    assert answer.status != 0
    assert message in " ".join(answer.err.split())


def test_a_plan_shows_the_memory_that_runs_need_and_refuses_more_than_the_cap(sampling: Checkout) -> None:
    plan = sampling.kvdyno("plan", "sampling", "--json")
    assert plan.status == 0, plan.err
    records = 640000 // 64
    assert 24 * records < plan.json["memory_bytes"] < 24 * records + (16 << 20)
    assert "memory: a run needs up to about" in sampling.kvdyno("plan", "sampling").out
    sampling.experiment("large", TINY.replace("640000", "500000000"))
    refused = sampling.kvdyno("plan", "large")
    assert refused.status != 0
    assert "needs about" in refused.err
    assert "raise cap" in refused.err
    assert sampling.kvdyno("plan", "large", "--uncapped").status == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (TINY.replace("k: [10, 100]", "k: [0]"), "k"),
        (TINY.replace("records: [640000]", "dataset: [1GiB]"), "dataset"),
        (TINY.replace("metric: engine.memory", "metric: engine.stall_micros"), "engine.stall_micros"),
        (TINY.replace("phase: sample, x: k", "phase: measure, x: k"), "measure"),
        (TINY.replace("preset: aggregate-tree", "preset: aggregate"), "aggregate"),
    ],
)
def test_an_experiment_with_a_mistake_is_refused(sampling: Checkout, wrong: str, message: str) -> None:
    assert wrong != TINY
    sampling.experiment("wrong", wrong)
    answer = sampling.kvdyno("plan", "wrong")
    assert answer.status != 0
    assert message in answer.err
