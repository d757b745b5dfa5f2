"""Advice: each rule fires on its problem and stays silent on a healthy run; what it sets; what tests it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.model.advice import Change, Condition, Rule
from kvdyno.model.document import read_document
from kvdyno.model.engine import OptionDescription
from kvdyno.model.project import Project
from kvdyno.model.reading import read_form
from kvdyno.spec.advice import AdviceForm
from kvdyno.tuning.advice import experiment_of, judge_rule, step_of, value_of

ADAPTERS = Project.find(start=Path(__file__)).adapters
SHIPPED = [
    (path.parent.name, rule.id, rule)
    for path in sorted(ADAPTERS.glob("*/advice.yaml"))
    for rule in read_form(read_document(path), AdviceForm).rules
]
SIZE = OptionDescription(
    name="size", type="bytes", default="4MiB", scales=True, min=1 << 10, max=1 << 40, effect=""
)


@pytest.mark.parametrize(("engine", "name", "rule"), SHIPPED, ids=[f"{e}-{n}" for e, n, _ in SHIPPED])
def test_a_rule_fires_on_its_problem_and_is_silent_on_a_healthy_run(
    engine: str, name: str, rule: Rule
) -> None:
    assert judge_rule(rule, rule.fires)
    assert judge_rule(rule, rule.silent) is None
    for condition in rule.when:
        assert value_of(condition, rule.silent) is not None, f"{condition.meaning}: known, and not so"


def test_a_fact_that_is_not_known_keeps_a_rule_silent() -> None:
    condition = Condition(meaning="m", sum=("a",), over=("b",), above=0)
    assert value_of(condition, {"a": 1.0}) is None
    assert value_of(condition, {"a": 1.0, "b": 0.0}) is None
    assert value_of(condition, {"a": 1.0, "b": 4.0}) == 0.25


@pytest.mark.parametrize(
    ("change", "current", "after", "written"),
    [
        (Change(times=2), 4 << 20, "8 MiB", str(1 << 30)),
        (Change(times=0.5), 4 << 20, "2 MiB", str(1 << 28)),
        (Change(to="64MiB"), 4 << 20, "512 KiB", str(64 << 20)),
    ],
)
def test_a_step_is_taken_at_the_profiles_scale_and_written_at_paper_scale(
    change: Change, current: int, after: str, written: str
) -> None:
    step = step_of(SIZE, change, current=current, scale=1 / 128)
    assert step
    assert (step.before, step.after, step.written) == ("4 MiB", after, written)


def test_a_step_that_changes_nothing_is_none() -> None:
    assert step_of(SIZE, Change(times=2), current=1 << 40, scale=1) is None, "at the range's end"
    assert step_of(SIZE, Change(to="4MiB"), current=4 << 20, scale=1) is None
    assert step_of(SIZE, Change(times=2), current="adaptive", scale=1) is None


def test_the_experiment_has_both_and_a_claim() -> None:
    rule = SHIPPED[0][2]
    finding = judge_rule(rule, rule.fires)
    step = step_of(SIZE, Change(times=2), current=4 << 20, scale=1)
    assert finding
    assert step
    document = experiment_of(
        finding, [step], title="t", engine={"engine": "e", "preset": "p", "options": {"other": "1"}},
        grid={"workload": ["a"]}, shared={"cap": "2GiB"},
    )  # fmt: skip
    before, advised = document["engines"]
    assert before["options"] == {"other": "1"}
    assert advised["options"] == {"other": "1", "size": str(8 << 20)}
    (claim,) = document["claims"]
    assert (claim["engine"], claim["relative_to"]) == ("advised", "before")
    assert document["cap"] == "2GiB"
