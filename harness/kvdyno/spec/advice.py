"""The rules of an engine's advice: its adapter's advice.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from kvdyno.model.advice import Change, Condition, Promise, Rule
from kvdyno.model.document import Mistakes, read_document
from kvdyno.model.engine import Engine
from kvdyno.model.options import parse_value
from kvdyno.model.project import Project
from kvdyno.model.reading import Text, read_form
from kvdyno.model.words import unknown

from .form import Form, Id, Words

FILE = "advice.yaml"
_OPTION = "option."


class ConditionForm(Form):
    """An item of `when`."""

    meaning: str
    sum: Words
    over: Words = ()
    times: float = 1
    above: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> ConditionForm:
        if (self.above is None) == (self.below is None):
            raise ValueError("expected either `above` or `below`")
        return self


class ChangeForm(Form):
    """A value of `change`: a factor, or a value at paper scale."""

    times: Annotated[float, Field(gt=0)] | None = None
    to: Text | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> ChangeForm:
        if (self.times is None) == (self.to is None):
            raise ValueError("expected either `times` or `to`")
        return self


class PromiseForm(Form):
    """`expect`: bounds of the advised run's metric over the run's before."""

    metric: str
    phase: str = "run"
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounds(self) -> PromiseForm:
        if self.at_least is None and self.at_most is None:
            raise ValueError("expected `at_least` or `at_most`: nothing could refute it")
        return self


class RuleForm(Form):
    """An item of `rules`."""

    id: Id
    problem: str
    phase: str = "measure"
    when: Annotated[tuple[ConditionForm, ...], Field(min_length=1)]
    change: Annotated[Mapping[str, ChangeForm], Field(min_length=1)]
    expect: PromiseForm
    why: str
    fires: Mapping[str, float]
    silent: Mapping[str, float]


class AdviceForm(Form):
    """An adapter's advice.yaml."""

    rules: Annotated[tuple[RuleForm, ...], Field(min_length=1)]


def load_rules(engine: Engine, *, project: Project) -> tuple[Rule, ...]:
    """The engine's rules; none without the file. Raises SpecError that lists what is wrong with it."""
    path = project.adapters / engine.description.engine.name / FILE
    if not path.is_file():
        return ()
    document = read_document(path)
    form = read_form(document, AdviceForm)
    mistakes = Mistakes(document)
    known = [option.name for option in engine.description.options]
    for number, rule in enumerate(form.rules):
        for name, change in rule.change.items():
            option = engine.description.option(name)
            place = ("rules", number, "change", name)
            if option is None:
                mistakes.add(place, unknown(f"option of {engine.name}", name, known))
            elif change.to is not None:
                try:
                    parse_value(option, change.to)
                except ValueError as error:
                    mistakes.add(place, str(error))
        for where, condition in enumerate(rule.when):
            for fact in (*condition.sum, *condition.over):
                if fact.startswith(_OPTION) and fact.removeprefix(_OPTION) not in known:
                    name = fact.removeprefix(_OPTION)
                    mistakes.add(
                        ("rules", number, "when", where), unknown(f"option of {engine.name}", name, known)
                    )
    mistakes.check()
    return tuple(_rule(each) for each in form.rules)


def _rule(form: RuleForm) -> Rule:
    return Rule(
        id=form.id,
        problem=form.problem,
        phase=form.phase,
        when=tuple(Condition(**each.model_dump()) for each in form.when),
        change={name: Change(**each.model_dump()) for name, each in form.change.items()},
        expect=Promise(**form.expect.model_dump()),
        why=form.why,
        fires=form.fires,
        silent=form.silent,
    )
