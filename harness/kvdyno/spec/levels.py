"""Loads, ages and twins: what an experiment's words for its levels must agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kvdyno.model.axes import AGE, RECORDS, SETTLE, VOLUME
from kvdyno.model.document import Mistakes, Place
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import AxisValue, EngineChoice
from kvdyno.model.options import value_text
from kvdyno.model.project import Project
from kvdyno.model.words import unknown

from .form import ExperimentForm, SettingsForm
from .profiles import Settings
from .workloads import RUN, spans_of

Grid = Mapping[str, tuple[AxisValue, ...]]

_TWIN_NAMES = frozenset({"label", "twin_of", "twin"})


def check_levels(form: ExperimentForm, *, settings: Settings, profile: str, mistakes: Mistakes) -> None:
    """Loads are at most the repetitions; an age or a volume stands in one place, a key or an axis."""
    axes = {*form.grid, *(form.profiles[profile].grid if profile in form.profiles else ())}
    for layer, place in _layers(form, profile=profile):
        if layer.loads is not None and layer.loads > settings.repetitions:
            message = (
                f"loads: expected at most the repetitions, {settings.repetitions} at profile {profile!r}, "
                f"found {layer.loads}"
            )
            mistakes.add((*place, "loads"), message)
        if layer.age is not None and AGE in axes:
            mistakes.add((*place, AGE), f"{AGE}: expected a value here or in the grid, found both")
        if layer.phases.measure.volume is not None and VOLUME in axes:
            message = f"{VOLUME}: expected a value here or in the grid, found both"
            mistakes.add((*place, "phases", "measure", VOLUME), message)


def _layers(form: ExperimentForm, *, profile: str) -> Iterable[tuple[SettingsForm, Place]]:
    yield form, ()
    if profile in form.profiles:
        yield form.profiles[profile], ("profiles", profile)


def check_ages(
    form: ExperimentForm,
    *,
    grid: Grid,
    age: float,
    engines: Mapping[str, Engine],
    places: Mapping[str, Place],
    profile: str,
    project: Project,
    mistakes: Mistakes,
) -> None:
    """Every engine (by label, with its place in the file) can age its data, if an age above 0 is asked for.

    `age` holds where the grid has no such axis. An engine whose driver has no property `age`, or that cannot
    settle, has young data only.
    """
    oldest = max((float(value) for value in grid.get(AGE, (age,))), default=0.0)
    if not oldest or RUN not in spans_of(grid, project=project):
        return
    for label, engine in engines.items():
        why = _cannot_age(engine)
        if why:
            message = (
                f"{AGE}: expected 0 for {label}, which {why}; found {value_text(oldest)} "
                f"at profile {profile!r}; set `{AGE}: 0`, or leave {label} out"
            )
            mistakes.add(_age_place(form, profile=profile) or places.get(label, ("engines",)), message)


def _cannot_age(engine: Engine) -> str | None:
    if engine.description.property(RECORDS) is None:
        return None
    if engine.description.property(AGE) is None:
        return "has a driver that cannot age data"
    return None if SETTLE in engine.description.phases else "cannot settle, so that aged data were half-done"


def _age_place(form: ExperimentForm, *, profile: str) -> Place | None:
    """Where the experiment sets the age; None where only the profile does."""
    override = form.profiles.get(profile)
    written: list[tuple[bool, Place]] = [
        (override is not None and AGE in override.grid, ("profiles", profile, "grid", AGE)),
        (override is not None and override.age is not None, ("profiles", profile, AGE)),
        (AGE in form.grid, ("grid", AGE)),
        (form.age is not None, (AGE,)),
    ]
    return next((place for said, place in written if said), None)


def number_twins(choices: Sequence[EngineChoice], *, mistakes: Mistakes) -> tuple[EngineChoice, ...]:
    """The choices, each twin with its number among the twins of the same choice.

    A twin repeats another choice in everything but the label.
    """
    originals = {choice.label: choice for choice in choices if choice.twin_of is None}
    counts: dict[str, int] = {}
    numbered = []
    for index, choice in enumerate(choices):
        if choice.twin_of is not None:
            _check_twin(choice, originals, place=("engines", index), mistakes=mistakes)
            counts[choice.twin_of] = counts.get(choice.twin_of, 0) + 1
        number = counts.get(choice.twin_of, 0) if choice.twin_of is not None else 0
        numbered.append(choice.model_copy(update={"twin": number}))
    return tuple(numbered)


def _check_twin(
    choice: EngineChoice, originals: Mapping[str, EngineChoice], *, place: Place, mistakes: Mistakes
) -> None:
    original = originals.get(str(choice.twin_of))
    if original is None:
        mistakes.add((*place, "twin_of"), unknown("engine", str(choice.twin_of), originals))
        return
    mine, others = (each.model_dump(exclude=set(_TWIN_NAMES)) for each in (choice, original))
    for name in (name for name in mine if mine[name] != others[name]):
        message = f"{name}: expected {_said(others[name])} as {original.label} has, found {_said(mine[name])}"
        mistakes.add((*place, name), message)


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {text}" for name, text in value.items()) or "none"
    return "none" if value is None else repr(str(value))
