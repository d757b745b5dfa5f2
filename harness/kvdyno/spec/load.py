"""From an experiment's name to a checked Experiment, resolved for one profile."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from kvdyno.errors import KvdynoError, UsageError
from kvdyno.model.axes import AGE, VOLUME, axis_of
from kvdyno.model.document import Mistakes, Place, read_document
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.experiment import AxisValue, DeviceLimits, EngineChoice, Experiment, FigureSpec, TableSpec
from kvdyno.model.project import Project
from kvdyno.model.reading import read_form
from kvdyno.model.versions import split_version
from kvdyno.model.words import shown, unknown

from .bindings import Words, check_bindings
from .check import (
    Chosen,
    check_devices,
    check_engines,
    check_grid,
    check_needed_axes,
    check_properties,
    check_sizes,
    engine_named,
    read_choice,
)
from .form import ExperimentForm
from .kinds import figure_kinds
from .levels import check_ages, check_levels, number_twins
from .profiles import profile_of, read_profiles, settle_settings
from .published import read_published
from .workloads import BUILD, spans_of

Grid = Mapping[str, tuple[AxisValue, ...]]
SpecT = TypeVar("SpecT", FigureSpec, TableSpec)

_PROFILES = "profiles"


@dataclass(frozen=True)
class ExperimentSummary:
    """An experiment file as a list shows it. `problem` is why it cannot be read."""

    name: str
    path: Path
    title: str
    description: str
    problem: str | None = None


def list_experiments(project: Project) -> tuple[ExperimentSummary, ...]:
    """Every experiment of the checkout, by name; words are not checked against a catalog."""
    return tuple(_summary(name, path) for name, path in _experiment_files(project).items())


def load_experiment(
    path_or_name: str | Path,
    *,
    project: Project,
    catalog: Mapping[str, Engine],
    profile: str = "quick",
    engines: Sequence[str] | None = None,
) -> Experiment:
    """The experiment in that file, or of that name under `experiments/`, checked for one profile.

    `engines` keeps only these: labels of the experiment, or engines of the catalog, which then take
    part with their default preset. Raises UsageError for a wrong argument, and one SpecError that
    lists every mistake of the file with its line.
    """
    document = read_document(_find(path_or_name, project=project))
    form = read_form(document, ExperimentForm)
    forms = read_profiles(project)
    chosen_profile = profile_of(profile, forms=forms)
    settings = settle_settings(forms[profile], form, form.profiles.get(profile))

    mistakes = Mistakes(document)
    _check_profile_names(form, known=forms, mistakes=mistakes)
    chosen = check_engines(form.engines, catalog=catalog, project=project, wanted=engines, mistakes=mistakes)
    mistakes.check()
    chosen = _with_twins(chosen, mistakes=mistakes)
    selected = _select(chosen, names=engines, catalog=catalog, project=project)
    everyone = tuple({each.choice.label: each for each in (*chosen, *selected)}.values())
    built = [each.engine for each in everyone if each.engine]
    all_built = len(built) == len(everyone)
    grids = _grids(
        form, age=settings.age, engines=built, all_built=all_built, project=project, mistakes=mistakes
    )
    check_devices(form.devices, grids=grids.values(), mistakes=mistakes)
    grid = {**grids[""], **grids.get(profile, {})}
    check_sizes(
        form.cap,
        settings=settings,
        profile=chosen_profile,
        volume_axis=VOLUME in grid,
        mistakes=mistakes,
    )
    check_levels(form, settings=settings, profile=profile, mistakes=mistakes)
    check_ages(
        form,
        grid=grid,
        age=settings.age,
        engines={each.choice.label: each.engine for each in selected if each.engine},
        places={each.choice.label: ("engines", index) for index, each in enumerate(chosen)},
        profile=profile,
        project=project,
        mistakes=mistakes,
    )
    check_needed_axes(grid, engines=built, mistakes=mistakes)
    properties = check_properties(form.properties, engines=built, grid=grid, mistakes=mistakes)
    words = _words(everyone, form=form, grids=grids, project=project)
    bound = check_bindings(form, words=words, mistakes=mistakes)
    mistakes.check()

    labels = {each.choice.label for each in selected}
    comparable = labels | {each.choice.engine for each in selected if each.choice.version}
    return Experiment(
        name=_name_of(document.path, project=project),
        title=form.title,
        description=form.description,
        path=document.path,
        profile=chosen_profile,
        engines=tuple(each.choice for each in selected),
        grid=grid,
        properties=properties,
        cap_bytes=form.cap,
        devices={name: DeviceLimits(name=name, **each.model_dump()) for name, each in form.devices.items()},
        cache=form.cache,
        repetitions=settings.repetitions,
        loads=settings.loads,
        phases=settings.phases,
        timeout_seconds=settings.timeout_seconds,
        metrics=form.metrics,
        figures=tuple(_without_absent_ratio(figure, known=comparable) for figure in bound.figures),
        tables=tuple(_without_absent_ratio(table, known=comparable) for table in bound.tables),
        claims=bound.claims,
        published=bound.published,
        baseline=form.baseline if form.baseline in labels else None,
        same_within=form.same_within,
        gate=form.gate.spec if form.gate else None,
    )


def _with_twins(chosen: Sequence[Chosen], *, mistakes: Mistakes) -> tuple[Chosen, ...]:
    choices = number_twins([each.choice for each in chosen], mistakes=mistakes)
    return tuple(replace(each, choice=choice) for each, choice in zip(chosen, choices, strict=True))


def engines_named(
    path_or_name: str | Path,
    *,
    project: Project,
    labels: Sequence[str] = (),
    runner: RunnerName = "local",
) -> Mapping[RunnerName, tuple[str, ...]]:
    """Names of the engines that the file asks for, built or not, by what will run them.

    Names have the versions that the file names. `runner` runs those that the file names no runner for.
    Upstream binaries are none of them. With `labels` only these; a word that is no label is a name itself.
    """
    form = read_form(read_document(_find(path_or_name, project=project)), ExperimentForm)
    choices = [
        (read_choice(each, project=project), each.engine) for each in form.engines if not each.external
    ]
    by_label = {choice.label: (choice.runner or runner, name) for choice, name in choices}
    wanted = [by_label.get(label, (runner, label)) for label in labels] if labels else by_label.values()
    found: dict[RunnerName, dict[str, None]] = {}
    for its_runner, name in wanted:
        found.setdefault(its_runner, {})[name] = None
    return {its_runner: tuple(names) for its_runner, names in found.items()}


def suite_engine(path_or_name: str | Path, *, project: Project) -> EngineChoice:
    """The first engine that a suite's file asks for, built or not. Raises UsageError without `gate`."""
    form = read_form(read_document(_find(path_or_name, project=project)), ExperimentForm)
    if form.gate is None:
        raise UsageError(
            "expected a suite, found an experiment without `gate`",
            where=str(path_or_name),
            remedy="add metrics, margin and budget under `gate` (docs/formats.md), or name a suite",
        )
    return read_choice(form.engines[0], project=project)


def experiment_name(path_or_name: str | Path, *, project: Project) -> str:
    """What the experiment in that file, or of that name, is called. Raises UsageError if there is none."""
    return _name_of(_find(path_or_name, project=project), project=project)


def _find(path_or_name: str | Path, *, project: Project) -> Path:
    text = str(path_or_name)
    if text.endswith((".yaml", ".yml")) or "/" in text:
        path = Path(text)
        try:
            known = path.is_file()
        except OSError as error:  # a name that no file can have
            raise UsageError(f"no such experiment file: {error.strerror}", where=shown(text)) from None
        if not known:
            raise UsageError("no such experiment file", where=text)
        return path.resolve()
    files = _experiment_files(project)
    if text not in files:
        raise UsageError(unknown("experiment", text, files))
    return files[text]


def _experiment_files(project: Project) -> Mapping[str, Path]:
    paths = (p for p in project.experiments.rglob("*.yaml") if not p.is_relative_to(project.studies))
    names = {_name_of(path, project=project): path for path in paths}
    return {name: names[name] for name in sorted(names) if name != _PROFILES}


def _name_of(path: Path, *, project: Project) -> str:
    """The file's, after those of its folders under `experiments/`: adoc/ycsb.yaml is adoc-ycsb."""
    inside = path.is_relative_to(project.experiments)
    named = path.relative_to(project.experiments) if inside else Path(path.name)
    return "-".join(named.with_suffix("").parts)


def _summary(name: str, path: Path) -> ExperimentSummary:
    try:
        form = read_form(read_document(path), ExperimentForm)
    except KvdynoError as error:
        return ExperimentSummary(name, path, title="", description="", problem=str(error))
    return ExperimentSummary(name, path, title=form.title, description=form.description.strip())


def _check_profile_names(form: ExperimentForm, *, known: Iterable[str], mistakes: Mistakes) -> None:
    for name in form.profiles:
        if name not in known:
            mistakes.add((_PROFILES, name), unknown("profile", name, known))


def _without_absent_ratio(spec: SpecT, *, known: Container[str]) -> SpecT:
    """Instead of ratios to an engine that was not selected, the values themselves; the title states it.

    An engine's name stands for the first of its versions that were selected.
    """
    if spec.ratio_to is None or spec.ratio_to in known:
        return spec
    note = f" ({spec.ratio_to} was left out: values, not ratios)"
    title = spec.title and spec.title + note
    return spec.model_copy(update={"ratio_to": None, "title": title})


def _select(
    chosen: Sequence[Chosen],
    *,
    names: Sequence[str] | None,
    catalog: Mapping[str, Engine],
    project: Project,
) -> tuple[Chosen, ...]:
    if names is None:
        return tuple(chosen)
    labels = {each.choice.label: each for each in chosen}
    selected = []
    for name in dict.fromkeys(names):
        if name in labels:
            selected.append(labels[name])
        else:
            engine, version = split_version(name)
            built = engine_named(name, catalog=catalog, project=project, where="--engines", others=labels)
            selected.append(Chosen(EngineChoice(engine=engine, version=version, label=name), built))
    if not selected:
        raise UsageError("expected at least one engine, found none")
    return tuple(selected)


def _grids(
    form: ExperimentForm,
    *,
    age: float,
    engines: Sequence[Engine],
    all_built: bool,
    project: Project,
    mistakes: Mistakes,
) -> Mapping[str, Grid]:
    """The checked grid under "", and what each profile replaces of it under the profile's name.

    A reader of results must see how old the data were: `age` is an axis where the file has none.
    """
    written: dict[str, tuple[Place, Grid]] = {"": (("grid",), form.grid)}
    for name, override in form.profiles.items():
        written[name] = ((_PROFILES, name, "grid"), override.grid)
    grids = {
        name: check_grid(
            grid,
            engines=engines,
            devices=form.devices,
            project=project,
            place=place,
            mistakes=mistakes,
            all_built=all_built,
        )
        for name, (place, grid) in written.items()
    }
    if AGE not in form.grid and any(axis_of(engine, AGE) for engine in engines):
        grids[""] = {**grids[""], AGE: (age,)}
    return grids


def _words(
    engines: Sequence[Chosen], *, form: ExperimentForm, grids: Mapping[str, Grid], project: Project
) -> Words:
    values: dict[str, dict[AxisValue, None]] = {}
    for grid in grids.values():
        for axis, its_values in grid.items():
            values.setdefault(axis, {}).update(dict.fromkeys(its_values))
    if not all(each.engine for each in engines):
        values |= {axis: {} for axis in form.grid if axis not in values}
    grid = {axis: tuple(its_values) for axis, its_values in values.items()}
    return Words(
        labels=tuple(each.choice.label for each in engines),
        engines=tuple(each.engine for each in engines if each.engine),
        presets=tuple(dict.fromkeys(each.choice.preset for each in engines)),
        grid=grid,
        kinds=figure_kinds(project.root / "plots"),
        derived=tuple(metric.id for metric in form.metrics),
        documents=read_published(project),
        only_loads=spans_of(grid, project=project) == {BUILD},
    )
