"""Each shipped rule has engines in experiments/advice/ that make its problem and follow its advice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kvdyno.model.advice import Rule
from kvdyno.model.document import read_document
from kvdyno.model.project import Project
from kvdyno.model.reading import read_form
from kvdyno.model.units import parse_bytes
from kvdyno.spec.advice import AdviceForm
from kvdyno.spec.form import ClaimForm, EngineForm, ExperimentForm

PROJECT = Project.find(start=Path(__file__))
ENGINES = sorted(path.parent.name for path in PROJECT.adapters.glob("*/advice.yaml"))


def rules_of(engine: str) -> Mapping[str, Rule]:
    form = read_form(read_document(PROJECT.adapters / engine / "advice.yaml"), AdviceForm)
    return {rule.id: rule for rule in form.rules}


def experiment_of(engine: str) -> ExperimentForm:
    return read_form(read_document(PROJECT.experiments / "advice" / f"{engine}.yaml"), ExperimentForm)


def check_arms(rules: Mapping[str, Rule], experiment: ExperimentForm) -> None:
    """Each rule has both arms and a claim, and nothing is there without a rule."""
    arms = {each.label: each for each in experiment.engines if isinstance(each, EngineForm)}
    claims = {claim.id: claim for claim in experiment.claims}
    assert set(arms) == {label for name in rules for label in (name, f"{name}-advised")}
    assert set(claims) == set(rules)
    for name, rule in rules.items():
        check_options(rule, arms[name].options, arms[f"{name}-advised"].options)
        check_claim(rule, claims[name])


def check_options(rule: Rule, before: Mapping[str, str], advised: Mapping[str, str]) -> None:
    """The advised arm follows the rule, and differs in nothing else."""
    assert set(before) == set(advised)
    assert {name for name in advised if advised[name] != before[name]} == set(rule.change)
    for name, change in rule.change.items():
        if change.to is not None:
            assert advised[name] == change.to
        else:
            assert size(advised[name]) == size(before[name]) * float(change.times or 1), name


def check_claim(rule: Rule, claim: ClaimForm) -> None:
    """The claim is what the rule expects."""
    expect = rule.expect
    assert (claim.engine, claim.relative_to) == (f"{rule.id}-advised", rule.id)
    assert (claim.metric, claim.phase) == (expect.metric, expect.phase)
    assert (claim.at_least, claim.at_most) == (expect.at_least, expect.at_most)


def size(text: str) -> float:
    return float(text) if text.replace(".", "").isdigit() else float(parse_bytes(text))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_rule_has_an_arm_with_its_problem_and_one_that_follows_it(engine: str) -> None:
    check_arms(rules_of(engine), experiment_of(engine))


def test_a_rule_without_an_arm_and_an_arm_without_a_rule_are_found() -> None:
    rules = rules_of("leveldb")
    added = {**rules, "another": rules["small-cache"].model_copy(update={"id": "another"})}
    fewer = {name: rule for name, rule in rules.items() if name != "small-cache"}
    for wrong in (added, fewer):
        with pytest.raises(AssertionError):
            check_arms(wrong, experiment_of("leveldb"))


def test_an_arm_that_does_not_follow_its_rule_is_found() -> None:
    rules = rules_of("leveldb")
    rule = rules["small-cache"]
    change = {"cache_size": rule.change["cache_size"].model_copy(update={"times": 3})}
    with pytest.raises(AssertionError, match="cache_size"):
        check_arms(
            {**rules, "small-cache": rule.model_copy(update={"change": change})}, experiment_of("leveldb")
        )
