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


class ConditionForm(Condition):
    """An item of `when`."""

    sum: Words
    over: Words = ()

    @model_validator(mode="after")
    def _one_bound(self) -> ConditionForm:
        if (self.above is None) == (self.below is None):
            raise ValueError("expected either `above` or `below`")
        return self


class ChangeForm(Change):
    """A value of `change`: a factor, or a value at paper scale."""

    times: Annotated[float, Field(gt=0)] | None = None
    to: Text | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> ChangeForm:
        if (self.times is None) == (self.to is None):
            raise ValueError("expected either `times` or `to`")
        return self


class PromiseForm(Promise):
    """`expect`: bounds of the advised run's metric over the run's before."""

    @model_validator(mode="after")
    def _bounds(self) -> PromiseForm:
        if self.at_least is None and self.at_most is None:
            raise ValueError("expected `at_least` or `at_most`: nothing could refute it")
        return self


class RuleForm(Rule):
    """An item of `rules`."""

    id: Id
    when: Annotated[tuple[ConditionForm, ...], Field(min_length=1)]
    change: Annotated[Mapping[str, ChangeForm], Field(min_length=1)]
    expect: PromiseForm


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
    for number, rule in enumerate(form.rules):
        for name, change in rule.change.items():
            if problem := _problem(engine, name, change):
                mistakes.add(("rules", number, "change", name), problem)
        for where, condition in enumerate(rule.when):
            for fact in (*condition.sum, *condition.over):
                name = fact.removeprefix(_OPTION)
                if fact != name and (problem := _problem(engine, name, Change())):
                    mistakes.add(("rules", number, "when", where), problem)
    mistakes.check()
    return form.rules


def _problem(engine: Engine, name: str, change: Change) -> str | None:
    """What is wrong with an option's name, or with the value that it should get."""
    option = engine.description.option(name)
    if option is None:
        return unknown(f"option of {engine.name}", name, [o.name for o in engine.description.options])
    try:
        if change.to is not None:
            parse_value(option, change.to)
    except ValueError as error:
        return str(error)
    return None
