"""The commands that choose options, with real engines in a checkout of their own."""

from __future__ import annotations

from pathlib import Path

from .conftest import Checkout

STUDY = """\
title: What does keeping the map cost?
engine: memory
grid: {workload: [load, a, c], dataset: [256MiB]}
cap: 2GiB
hypotheses:
  - id: forgetting
    statement: A map that is not kept is a thousand times as fast
    why: Settling writes nothing.
    options: {persist: false}
    expect: {workload: [load, a], at_least: 1000}
"""
TUNE = ("tune", "memory", "--dataset", "256MiB", "--cap", "2GiB", "--uncapped", "--strategy", "sweep")


def test_a_study_prints_its_verdicts_and_measures_nothing_twice(checkout: Checkout) -> None:
    (checkout.root / "experiments" / "tuning").mkdir()
    (checkout.root / "experiments" / "tuning" / "map.yaml").write_text(STUDY)
    answer = checkout.kvdyno("tuning", "report", "map", "--uncapped", "--json")
    assert answer.status == 0, answer.err
    (tested,) = answer.json["hypotheses"]
    assert tested["on_best"]["verdict"] in ("refuted", "undecided")
    assert not tested["adopted"]
    again = checkout.kvdyno("tuning", "report", "map", "--uncapped")
    assert "every run is stored already" in again.out
    assert "no hypothesis was adopted" in again.out
    page = checkout.root / "results" / "reports" / "study-map-quick" / "study.html"
    assert page.is_file()


def test_without_a_name_the_studies_are_listed(checkout: Checkout) -> None:
    (checkout.root / "experiments" / "tuning").mkdir()
    (checkout.root / "experiments" / "tuning" / "map.yaml").write_text(STUDY)
    answer = checkout.kvdyno("tuning", "report")
    assert answer.status == 2
    assert "map" in answer.err
    assert checkout.kvdyno("tuning", "report", "mpa").status == 2


def test_a_search_prints_what_it_tried_and_can_be_asked_again(checkout: Checkout) -> None:
    command = (*TUNE, "--tries", "2", "--unseen", "c", "--repeat", "2", "--beside", "noop")
    answer = checkout.kvdyno(*command, "--json")
    assert answer.status == 0, answer.err
    assert [one["options"]["persist"] for one in answer.json["tries"]] == ["false", "true"]
    assert all(Path(answer.json[form]).is_file() for form in ("html", "markdown", "latex", "trail"))
    (rival,) = answer.json["rivals"]
    assert {row["workload"] for row in rival["over_default"]} == {"a", "c"}
    count = len(checkout.records())
    again = checkout.kvdyno(*command)
    assert "sweep tried " in again.out
    assert "beside noop" in again.out
    assert len(checkout.records()) == count, "nothing was measured again"


def test_short_runs_are_shorter_and_refused_where_nothing_can_be(checkout: Checkout) -> None:
    command = (*TUNE, "--tries", "1", "--unseen", "", "--repeat", "2", "--workload", "c", "--short", "0.25")
    answer = checkout.kvdyno(*command, "--json")
    assert answer.status == 0, answer.err
    (one,) = answer.json["tries"]
    assert len(one["each"]) == 1
    assert one["short"]
    assert 0 < one["short_seconds"] < one["seconds"]
    refused = checkout.kvdyno(*TUNE, "--workload", "load", "--short", "0.25")
    assert refused.status == 2
    assert "--short" in refused.err
    assert "between 0 and 1" in checkout.kvdyno(*TUNE, "--short", "1").err


def test_a_budget_or_a_range_that_is_none_is_refused(checkout: Checkout) -> None:
    answer = checkout.kvdyno(*TUNE, "--budget", "1s")
    assert (answer.status, checkout.records()) == (2, [])
    assert "expected a budget for one try and the confirmation" in answer.err
    assert "did you mean 'noop'" in checkout.kvdyno(*TUNE, "--beside", "nop").err
    assert "--budget" in checkout.kvdyno(*TUNE, "--budget", "soon").err
    assert "OPTION=FROM..TO" in checkout.kvdyno(*TUNE, "--range", "persist").err
