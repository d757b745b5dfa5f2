"""`kvdyno advise` as it is typed, from a run's counters to the experiment that tests the advice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import REPOSITORY, Checkout

RULES = """\
rules:
  - id: kept
    problem: The map is written to disk
    when: [{meaning: operations, sum: [operations], above: 0}]
    change: {persist: {to: "false"}}
    expect: {metric: throughput, at_least: 0.1}
    why: Nothing needs it.
    fires: {operations: 1}
    silent: {operations: 0}
  - id: quiet
    problem: Impossible
    when: [{meaning: operations, sum: [operations], below: 0}]
    change: {persist: {to: "false"}}
    expect: {metric: throughput, at_least: 1}
    why: It never fires.
    fires: {operations: -1}
    silent: {operations: 0}
"""


@pytest.fixture
def advised(checkout: Checkout) -> Path:
    """The engine memory has rules here."""
    adapters = checkout.root / "engines" / "adapters"
    adapters.unlink()
    for name in ("memory", "noop"):
        shutil.copytree(REPOSITORY / "engines" / "adapters" / name, adapters / name)
    rules = adapters / "memory" / "advice.yaml"
    rules.write_text(RULES)
    return rules


def test_advice_has_evidence_and_an_experiment_that_runs(checkout: Checkout, advised: Path) -> None:
    assert checkout.kvdyno("run", "tiny", "--uncapped", "--engines", "memory").status == 0
    answer = checkout.kvdyno("advise", "memory.a")
    assert answer.status == 0, answer.err
    assert "1 of 2 rules fire" in answer.out
    assert "persist: false (was true)" in answer.out
    assert all(len(line) <= 80 for line in answer.out.splitlines() if "test it" not in line)
    (point,) = checkout.kvdyno("advise", "memory.a", "--json").json
    (advice,) = point["advice"]
    assert advice["evidence"][0]["value"] > 0
    tested = checkout.kvdyno("run", advice["experiment"], "--uncapped", "--profile", point["profile"])
    assert tested.status == 0, tested.err
    assert "kept" in tested.out


def test_loads_of_a_points_data_are_left_out(checkout: Checkout, advised: Path) -> None:
    checkout.kvdyno("run", "tiny", "--uncapped", "--engines", "memory")
    assert list(checkout.runs.glob("*.load-*")), "runs start from loads"
    assert all("load" not in each["point"] for each in checkout.kvdyno("advise", "memory", "--json").json)
    assert "found loads of their data alone" in checkout.kvdyno("advise", ".load").err


def test_a_rule_that_is_wrong_is_named_with_its_line(checkout: Checkout, advised: Path) -> None:
    checkout.kvdyno("run", "tiny", "--uncapped", "--engines", "memory")
    advised.write_text(
        RULES.replace("persist:", "persit:", 1).replace(
            "sum: [operations], below", "sum: [option.kept], below"
        )
    )
    answer = checkout.kvdyno("advise", "memory.a")
    assert answer.status == 3
    assert "did you mean 'persist'" in answer.err or "persist" in answer.err
    assert f"{advised}:" in answer.err


def test_an_engine_without_rules_and_an_unknown_run_have_a_remedy(measured: Checkout) -> None:
    answer = measured.kvdyno("advise", "noop.a")
    assert answer.status == 4
    assert "advice.yaml" in answer.err
    assert "`kvdyno show` lists" in measured.kvdyno("advise", "nothing").err
