"""An engine without keys and values, from its experiment to its report."""

from __future__ import annotations

import pytest

from .conftest import BINARIES, Checkout

DRIVER = BINARIES / "kvdyno-sampling"

TINY = """\
title: Tiny sampling
engines:
  - {engine: sampling, preset: tiering-tagging, label: tagging}
  - {engine: sampling, preset: tiering-tombstones, label: tombstones}
  - {engine: sampling, preset: aggregate-tree, label: tree}
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
claims:
  - {id: some, text: tagging does something, engine: tagging, at_least: 1}
  - {id: longer, text: larger takes longer, metric: sample.latency.mean, phase: sample, engine: tagging,
     along: {k: [100, 10]}, at_least: 0.001}
"""


@pytest.fixture
def sampling(checkout: Checkout) -> Checkout:
    if not DRIVER.is_file():
        pytest.skip("kvdyno-sampling is not built")
    (checkout.binaries / DRIVER.name).symlink_to(DRIVER)
    checkout.experiment("sampling", TINY)
    return checkout


def test_an_experiment_runs_to_its_report(sampling: Checkout) -> None:
    answer = sampling.kvdyno("run", "sampling", "--uncapped", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["measured"] == 12
    report = sampling.kvdyno("report", "sampling", "--uncapped", "--json")
    assert report.status == 0, report.err
    for name in ("updates", "sample", "spread"):
        assert list((sampling.root / "results").rglob(f"{name}.svg")), name
    claims = sampling.kvdyno("claims", "sampling", "--uncapped", "--json")
    assert "tagging does something" in claims.out, "its exit status depends on the machine"


def test_the_engine_is_listed_and_describes_itself(sampling: Checkout) -> None:
    listed = sampling.kvdyno("engines")
    assert "sampling" in listed.out
    described = sampling.kvdyno("describe", "sampling", "--json")
    assert described.status == 0, described.err
    assert "filter_false_positives" in described.out


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
