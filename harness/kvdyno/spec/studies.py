"""From a study's file to a checked Study: hypotheses about an engine's options (docs/tuning.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from kvdyno.errors import UsageError
from kvdyno.host.external import chosen_engine
from kvdyno.model.axes import WORKLOAD
from kvdyno.model.document import Mistakes, read_document
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import SAME_WITHIN, AxisValue, CachePolicy
from kvdyno.model.metrics import metrics_of
from kvdyno.model.options import parse_value, value_text
from kvdyno.model.project import Project
from kvdyno.model.published import PublishedNumbers, PublishedSeries
from kvdyno.model.reading import Text, read_form
from kvdyno.model.study import Expectation, Hypothesis, Published, PublishedStep, Study
from kvdyno.model.words import unknown

from .check import check_built, check_grid, check_options, read_choice
from .form import Bytes, EngineForm, Form, Id, OverridesForm, SettingsForm, Values, Words
from .published import read_published
from .workloads import span_of

#: Keys that every round's experiment takes over as written.
_SHARED = (
    *("grid", "properties", "cap", "cache", "same_within", "profiles"),
    *("repetitions", "loads", "age", "phases", "timeout"),
)
_ESTIMATES = "estimates"
#: The number of a published report that a study stands beside.
_THROUGHPUT = "throughput"


class ExpectForm(Form):
    """What a hypothesis predicts."""

    metric: str = "throughput"
    workload: Words
    at_least: Annotated[float, Field(gt=0)] | None = None
    at_most: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> ExpectForm:
        if self.at_least is None and self.at_most is None:
            raise ValueError("expected at_least or at_most, found neither: nothing could refute it")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"expected at_least below at_most, found {self.at_least:g} and {self.at_most:g}")
        return self


class HypothesisForm(Form):
    """An item of `hypotheses`."""

    id: Id
    statement: str
    why: str
    options: Annotated[Mapping[str, Text], Field(min_length=1)]
    expect: ExpectForm
    published: Annotated[int, Field(ge=1)] | None = None


class PublishedForm(Form):
    """`published`: a document of results/published/, and how its set-up differs."""

    document: str
    differences: Words


class StudyForm(SettingsForm):
    """A study's file."""

    title: str
    description: str = ""
    engine: EngineForm
    grid: Annotated[Mapping[str, Values], Field(min_length=1)]
    properties: Mapping[str, Text] = Field(default_factory=dict)
    cap: Bytes = 16 << 30
    cache: CachePolicy | None = None
    same_within: Annotated[float, Field(gt=0, lt=1)] = SAME_WITHIN
    profiles: Mapping[str, OverridesForm] = Field(default_factory=dict)
    hypotheses: Annotated[tuple[HypothesisForm, ...], Field(min_length=1)]
    published: PublishedForm | None = None


def list_studies(project: Project) -> Mapping[str, Path]:
    """The studies of the checkout, by name."""
    return {path.stem: path for path in sorted(project.studies.glob("*.yaml"))}


def load_study(path_or_name: str, *, project: Project, catalog: Mapping[str, Engine]) -> Study:
    """The study in that file, or of that name under experiments/tuning/.

    Raises UsageError if there is none, EngineError if its engine is not built, and one SpecError that lists
    every mistake of the file with its line.
    """
    document = read_document(_find(path_or_name, project=project))
    form = read_form(document, StudyForm)
    mistakes = Mistakes(document)
    choice = read_choice(form.engine, project=project)
    check_built(choice, catalog=catalog, project=project, where=mistakes.where(("engine",)))
    engine = chosen_engine(choice, catalog=catalog)
    if choice.preset not in engine.presets:
        mistakes.add(("engine", "preset"), unknown("preset", choice.preset, engine.presets))
        mistakes.check()
    start = check_options(choice.options, engine=engine, place=("engine", "options"), mistakes=mistakes)
    grid = check_grid(
        form.grid, engines=[engine], devices=(), project=project, place=("grid",), mistakes=mistakes
    )
    workloads = tuple(map(str, grid.get(WORKLOAD, ())))
    for axis, values in grid.items():
        if axis != WORKLOAD and len(values) != 1:
            mistakes.add(("grid", axis), f"{axis}: expected one value in a study, found {len(values)}")
    if not workloads:
        mistakes.add(("grid",), "missing axis 'workload'")
    before = {**engine.presets[choice.preset].options, **start}
    hypotheses = tuple(
        _hypothesis(each, number, engine, before, workloads, mistakes)
        for number, each in enumerate(form.hypotheses)
    )
    _demand_distinct(hypotheses, mistakes)
    mistakes.check()
    return Study(
        name=document.path.stem,
        title=form.title,
        description=form.description.strip(),
        path=document.path,
        engine=engine,
        choice=form.engine.engine,
        preset=choice.preset,
        start=start,
        workloads=workloads,
        phases={name: span_of(name, project=project) for name in workloads},
        shared={key: document.data[key] for key in _SHARED if key in document.data},
        hypotheses=hypotheses,
        published=_published(form.published, hypotheses, project=project, mistakes=mistakes),
    )


def _find(path_or_name: str, *, project: Project) -> Path:
    if path_or_name.endswith((".yaml", ".yml")) or "/" in path_or_name:
        path = Path(path_or_name)
        if not path.is_file():
            raise UsageError("no such study file", where=path_or_name)
        return path.resolve()
    studies = list_studies(project)
    if path_or_name not in studies:
        raise UsageError(unknown("study", path_or_name, studies))
    return studies[path_or_name]


def _hypothesis(
    form: HypothesisForm,
    number: int,
    engine: Engine,
    before: Mapping[str, str],
    workloads: tuple[str, ...],
    mistakes: Mistakes,
) -> Hypothesis:
    place = ("hypotheses", number)
    options = check_options(form.options, engine=engine, place=(*place, "options"), mistakes=mistakes)
    if options and all(
        _value(engine, name, before) == _typed(engine, name, v) for name, v in options.items()
    ):
        message = f"{form.id}: expected options that differ from the start's, found the same"
        mistakes.add((*place, "options"), message)
    for index, name in enumerate(form.expect.workload):
        if name not in workloads:
            mistakes.add((*place, "expect", "workload", index), unknown("workload", name, workloads))
    offer = metrics_of(engine)
    if offer and not offer.has(form.expect.metric, table=_ESTIMATES):
        message = unknown("metric", form.expect.metric, offer.of(_ESTIMATES))
        mistakes.add((*place, "expect", "metric"), message)
    expect = form.expect
    return Hypothesis(
        id=form.id,
        statement=form.statement,
        why=form.why.strip(),
        options=options,
        expect=Expectation(
            metric=expect.metric,
            workloads=expect.workload,
            at_least=expect.at_least,
            at_most=expect.at_most,
        ),
        published=form.published,
    )


def _typed(engine: Engine, name: str, text: str) -> AxisValue:
    option = engine.description.option(name)
    return parse_value(option, text) if option else text


def _value(engine: Engine, name: str, options: Mapping[str, str]) -> AxisValue | None:
    """The value in force, None for an option that no driver describes and that is not set."""
    option = engine.description.option(name)
    text = options.get(name, option.default if option else None)
    return None if text is None else _typed(engine, name, text)


def _demand_distinct(hypotheses: tuple[Hypothesis, ...], mistakes: Mistakes) -> None:
    for number, each in enumerate(hypotheses):
        for earlier in hypotheses[:number]:
            if earlier.id == each.id:
                mistakes.add(("hypotheses", number, "id"), f"id {each.id!r} is taken: expected an own one")
            elif earlier.options == each.options:
                message = f"{each.id}: expected options of its own, found those of {earlier.id}"
                mistakes.add(("hypotheses", number, "options"), message)


def _published(
    form: PublishedForm | None,
    hypotheses: tuple[Hypothesis, ...],
    *,
    project: Project,
    mistakes: Mistakes,
) -> Published | None:
    if form is None:
        return None
    documents = read_published(project)
    if form.document not in documents:
        mistakes.add(("published", "document"), unknown("document", form.document, documents))
        mistakes.check()
    document = documents[form.document]
    steps = tuple(
        PublishedStep(
            options={name: value_text(value) for name, value in series.at.items()},
            throughput=_by_workload(numbers, series),
        )
        for numbers in document.numbers
        if numbers.id == _THROUGHPUT
        for series in numbers.series
    )
    for index, each in enumerate(hypotheses):
        if each.published is not None and each.published >= len(steps):
            message = (
                f"published: expected a step of {form.document} below {len(steps)}, found {each.published}"
            )
            mistakes.add(("hypotheses", index, "published"), message)
    mistakes.check()
    return Published(source=document.citation, steps=steps, differences=form.differences)


def _by_workload(numbers: PublishedNumbers, series: PublishedSeries) -> Mapping[str, float]:
    names = numbers.along.get(WORKLOAD, ())
    pairs = zip(map(str, names), series.values, strict=False)
    return {name: value for name, value in pairs if value is not None}
