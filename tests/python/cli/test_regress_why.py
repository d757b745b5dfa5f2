"""`kvdyno regress --why`: what it shows of a point that is worse, with two real engines as arms."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Answer, Checkout, make_checkout

#: Only puts, which the engine noop forgets: memory needs more memory, whatever else the machine does.
SUITE = """\
title: Puts
engines: [noop]
grid:
  workload: [p]
  dataset: [256MiB]
cap: 2GiB
repetitions: 12
phases:
  measure: {operations: 640000}
gate:
  metrics: [{metric: memory.peak_rss, phase: measure}]
  margin: 0.05
  budget: 10min
"""


@pytest.fixture(scope="module")
def puts(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = make_checkout(tmp_path_factory.mktemp("puts") / "checkout")
    (checkout.root / "experiments" / "regress").mkdir()
    checkout.experiment("regress/puts", SUITE)
    return checkout


def regress(checkout: Checkout, *more: str) -> Answer:
    return checkout.kvdyno("regress", "noop", "memory", "--suite", "puts", "--uncapped", *more)


def test_functions_counters_and_a_flame_graph_stand_beside_the_outcome(
    puts: Checkout, tmp_path: Path
) -> None:
    markdown = tmp_path / "gate.md"
    answer = regress(puts, "--why", "--json", "--markdown", str(markdown))
    assert answer.status == 1, answer.err
    (reason,) = answer.json["why"]
    assert reason["missing"] is None
    calls = reason["instructions"]
    assert calls["head"] > calls["base"] > 0
    assert any(each["head"] > each["base"] for each in calls["functions"])
    counters = {each["name"]: each for each in reason["counters"]}
    assert counters, "the CPU time of a put at least"
    assert all(each["pairs"] >= 2 for each in counters.values())
    picture = ElementTree.parse(reason["flames"]).getroot()
    assert picture.tag.endswith("svg")
    assert Path(reason["flames"]).parent.parent == Path(answer.json["report"]).parent
    (line,) = [line for line in markdown.read_text().splitlines() if line.startswith("why ")]
    assert "instructions an operation" in line


def test_the_terminal_lists_them_and_no_why_leaves_them_out(puts: Checkout) -> None:
    answer = regress(puts)
    assert answer.status == 1, answer.err
    text = " ".join(answer.out.split())
    assert "function, instructions an operation" in text
    assert "all of the client's" in text
    assert "flame graph: results/reports/" in text
    pictures = list(puts.root.glob("results/reports/*/why/*.svg"))
    assert len(pictures) == 1
    without = regress(puts, "--no-why", "--json")
    assert json.loads(without.out)["why"] == []


def test_what_instructions_alone_decide_has_functions_and_a_flame_graph_too(puts: Checkout) -> None:
    (metrics,) = [line for line in SUITE.splitlines() if "metrics:" in line]
    puts.experiment("regress/counted", SUITE.replace(metrics, "  metrics: [instructions.per_operation]"))
    answer = puts.kvdyno("regress", "noop", "memory", "--suite", "counted", "--uncapped", "--json")
    assert (answer.status, answer.json["runs_measured"], answer.json["report"]) == (1, 0, None), answer.err
    (reason,) = answer.json["why"]
    assert reason["counters"] == []
    assert reason["instructions"]["head"] > reason["instructions"]["base"]
    assert Path(reason["flames"]).is_file()
    page = puts.kvdyno("regress", "noop", "memory", "--suite", "counted", "--uncapped")
    assert "no pair was measured, so there are no counters" in page.out


def test_without_valgrind_the_counters_are_left_and_the_remedy_is_named(
    puts: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvdyno.profiling.callgrind._VALGRIND", "no-such-valgrind")
    answer = regress(puts, "--why")
    assert answer.status == 1, answer.err
    assert "no call profile: valgrind is not installed: apt-get install valgrind" in answer.out
    assert "counter" in answer.out
