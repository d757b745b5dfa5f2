"""What an experiment's words mean: engines, grid, properties and sizes, checked against the catalog.

Every function adds what is wrong to `mistakes` and goes on with what is right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import EngineError, SpecError, UsageError
from kvdyno.host.external import chosen_engine
from kvdyno.model.axes import DEVICE, FULL_SPEED, OWNED_PROPERTIES, WORKLOAD, axis_of, axis_words
from kvdyno.model.document import Mistakes, Place
from kvdyno.model.engine import Engine, OptionDescription, RunnerName
from kvdyno.model.experiment import AxisValue, EngineChoice, Profile
from kvdyno.model.image import remedy_for
from kvdyno.model.options import line_of, parse_value, value_text
from kvdyno.model.project import Project
from kvdyno.model.properties import read_properties
from kvdyno.model.units import distinct_sizes, human_bytes
from kvdyno.model.versions import SYSTEM, build_remedy, read_versions, split_version, versioned
from kvdyno.model.words import shown, unknown

from .form import EngineForm
from .option_names import option_hint, owners_of_option
from .profiles import Settings

# What a driver needs for itself, histograms and threads included, before an engine gets a byte.
CAP_BYTES_MIN = 24 << 20
_OPTION_NAME = re.compile(r"[\w.:-]+", re.ASCII)


@dataclass(frozen=True)
class Chosen:
    """An engine of the experiment: as the file chose it, and as it was built; None: not built, nor wanted."""

    choice: EngineChoice
    engine: Engine | None


def check_built(choice: EngineChoice, *, catalog: Container[str], project: Project, where: str) -> None:
    """Raise EngineError when the name is an engine's, but this checkout has not built it for the runner.

    Also when the engine has no such version.
    """
    adapter = project.adapters / choice.engine
    if not (adapter / "CMakeLists.txt").is_file():
        return
    versions = read_versions(project)
    if choice.version:
        versions.check(choice.engine, choice.version, where=where)
    if choice.key in catalog:
        return
    packages = (adapter / "packages.txt").relative_to(project.root)
    version = choice.version or versions.default_of(choice.engine)
    if choice.runner == "docker":
        remedy = remedy_for(versions.resolve(versioned(choice.engine, choice.version)))
    elif version == SYSTEM:
        remedy = f"make build; if its library is missing, install what {packages} lists first"
    else:
        remedy = build_remedy(choice.engine, version)
    raise EngineError(f"engine {choice.key!r} is not built", where=where, remedy=remedy)


def engine_named(
    name: str,
    *,
    catalog: Mapping[str, Engine],
    project: Project,
    where: str,
    runner: RunnerName = "local",
    others: Iterable[str] = (),
) -> Engine:
    """The catalog's engine of this name. `others` are names that its place knows as well.

    Raises EngineError for one that this checkout has not built for the runner, UsageError for an unknown one.
    """
    if name not in catalog:
        engine, version = split_version(name)
        asked = EngineChoice(engine=engine, version=version, runner=None if runner == "local" else runner)
        check_built(asked, catalog=catalog, project=project, where=where)
        raise UsageError(
            unknown("engine", name, dict.fromkeys([*others, *catalog])), where=where, remedy="kvdyno engines"
        )
    return catalog[name]


def read_choice(form: EngineForm, *, project: Project) -> EngineChoice:
    """What an item of `engines` means; its options are still as written."""
    engine, version = (form.engine, None) if form.external else split_version(form.engine)
    return EngineChoice(
        engine=engine,
        version=version,
        runner=form.runner,
        preset=form.preset,
        options=form.options,
        label=form.label or _label(form),
        external=Path(os.path.realpath(project.root / form.external)) if form.external else None,
        twin_of=form.twin_of,
    )


def check_engines(
    forms: Sequence[EngineForm],
    *,
    catalog: Mapping[str, Engine],
    project: Project,
    wanted: Collection[str] | None,
    mistakes: Mistakes,
) -> tuple[Chosen, ...]:
    """The engines of the file, with their options in canonical spelling.

    Those whose labels are `wanted` (None: all) must be built; of the others, what is not has no engine.
    """
    chosen: list[Chosen] = []
    for index, form in enumerate(forms):
        place = ("engines", index)
        choice = read_choice(form, project=project)
        optional = wanted is not None and choice.label not in wanted
        engine = None
        try:
            if not form.external:
                check_built(choice, catalog=catalog, project=project, where=mistakes.where(place))
        except EngineError:
            if not optional:
                raise
        else:
            try:
                engine = chosen_engine(choice, catalog=catalog)
            except EngineError as error:
                if not (optional and form.external):
                    mistakes.add((*place, "external" if form.external else "engine"), error.message)
                    continue
        if choice.label in (other.choice.label for other in chosen):
            mistakes.add(place, f"label {choice.label!r} is taken: expected a label for each engine")
            continue
        # What is not built stays as it is written.
        if engine:
            choice = check_choice(choice, engine, place=place, mistakes=mistakes)
        chosen.append(Chosen(choice, engine))
    return tuple(chosen)


def check_choice(choice: EngineChoice, engine: Engine, *, place: Place, mistakes: Mistakes) -> EngineChoice:
    """The choice with its options as the engine reads them; it knows the preset, too."""
    if choice.preset not in engine.presets:
        mistakes.add((*place, "preset"), unknown("preset", choice.preset, engine.presets))
    options = check_options(choice.options, engine=engine, place=(*place, "options"), mistakes=mistakes)
    return choice.model_copy(update={"options": options})


def check_grid(
    grid: Mapping[str, Sequence[AxisValue]],
    *,
    engines: Sequence[Engine],
    devices: Collection[str],
    project: Project,
    place: Place,
    mistakes: Mistakes,
    all_built: bool = True,
) -> Mapping[str, tuple[AxisValue, ...]]:
    """Axes with typed values: sizes are bytes at paper scale, durations seconds.

    Unless `all_built`, an axis that no engine knows may mean something to one that is not: it is left out.
    """
    checked: dict[str, tuple[AxisValue, ...]] = {}
    for axis, values in grid.items():
        readings = [reading for engine in engines if (reading := axis_of(engine, axis))]
        if not readings and not all_built:
            continue
        if not readings:
            hint = f" (set by {OWNED_PROPERTIES[axis]})" if axis in OWNED_PROPERTIES else ""
            hint += option_hint(axis, engines)
            mistakes.add((*place, axis), unknown("axis", axis, axis_words(engines)) + hint)
            continue
        parsed = _axis_values(values, readings=readings, place=(*place, axis), mistakes=mistakes)
        if axis == WORKLOAD:
            parsed = _workloads(
                parsed, engines=engines, project=project, place=(*place, axis), mistakes=mistakes
            )
        if axis == DEVICE:
            _check_known(parsed, devices=(FULL_SPEED, *devices), place=(*place, axis), mistakes=mistakes)
        checked[axis] = parsed
    return checked


def check_devices(
    devices: Collection[str], *, grids: Iterable[Mapping[str, Sequence[AxisValue]]], mistakes: Mistakes
) -> None:
    """Every device has a name of its own, and is measured in some profile."""
    axes = [grid[DEVICE] for grid in grids if DEVICE in grid]
    if devices and not axes:
        mistakes.add(("devices",), f"devices: expected an axis {DEVICE!r} in the grid that names them")
        return
    used = {value for values in axes for value in values}
    for name in devices:
        if name == FULL_SPEED:
            message = f"device {name!r} is the disk as it is: expected another name"
            mistakes.add(("devices", name), message)
        elif name not in used:
            message = f"device {name!r} is not used: expected it on the axis {DEVICE!r} of a grid"
            mistakes.add(("devices", name), message)


def check_needed_axes(
    grid: Mapping[str, Sequence[AxisValue]], *, engines: Iterable[Engine], mistakes: Mistakes
) -> None:
    """A key-value driver measures nothing without a workload and a dataset."""
    for axis in ("workload", "dataset"):
        if axis not in grid and any(axis_of(engine, axis) for engine in engines):
            mistakes.add(("grid",), f"missing axis {axis!r}")


def check_properties(
    properties: Mapping[str, str],
    *,
    engines: Sequence[Engine],
    grid: Container[str],
    mistakes: Mistakes,
) -> Mapping[str, str]:
    """Driver properties in canonical spelling; each is known to at least one of the drivers."""
    checked = {}
    for name, text in properties.items():
        place = ("properties", name)
        if name in OWNED_PROPERTIES:
            mistakes.add(place, f"{name}: expected it to be set by {OWNED_PROPERTIES[name]}")
            continue
        if name in grid:
            mistakes.add(place, f"{name}: expected a value here or in the grid, found both")
            continue
        found = _property_value(name, text, engines=engines)
        if isinstance(found, ValueError):
            mistakes.add(place, str(found))
        else:
            checked[name] = value_text(found)
    return checked


def check_sizes(
    cap_bytes: int, *, settings: Settings, profile: Profile, volume_axis: bool, mistakes: Mistakes
) -> None:
    """Sizes and times that cannot work at the profile's scale; `volume_axis`: the grid has volumes."""
    scaled = round(cap_bytes * profile.scale)
    if scaled < CAP_BYTES_MIN:
        least, found = distinct_sizes(CAP_BYTES_MIN, scaled)
        found = f"{human_bytes(cap_bytes)} x {profile.scale:g} = {found}"
        mistakes.add(("cap",), f"cap: expected at least {least} at profile {profile.name!r}, found {found}")
    phases, timeout = settings.phases, settings.timeout_seconds
    ends = (phases.measure_operations, phases.measure_seconds, phases.measure_volume)
    if not volume_axis and all(end is None for end in ends):
        found = (
            "bytes alone, which a workload without writes never reaches" if phases.measure_bytes else "none"
        )
        mistakes.add(
            ("phases", "measure"), f"measure: expected a volume, operations or seconds, found {found}"
        )
    needed = phases.warmup_seconds + (phases.measure_seconds or 0)
    if phases.recovery:
        needed = max(needed, phases.recovery.watch_seconds)
        if phases.measure_bytes:
            message = (
                "recovery: expected a volume, operations or seconds to end the measured phase, found bytes"
            )
            mistakes.add(("phases", "recovery"), message)
    if needed >= timeout:
        mistakes.add(
            ("timeout",), f"timeout: expected more than the phases' {needed:g} s, found {timeout:g} s"
        )


def _label(form: EngineForm) -> str:
    parts = [
        form.engine,
        "external" if form.external else "",
        form.runner or "",
        form.preset if form.preset != "default" else "",
    ]
    return "-".join(filter(None, parts))


def check_options(
    options: Mapping[str, str], *, engine: Engine, place: Place, mistakes: Mistakes
) -> Mapping[str, str]:
    """The options in canonical spelling, of those that the engine can read."""
    checked = {}
    for name, text in options.items():
        option = engine.description.option(name)
        if option is None and engine.description.accepts_other_options:
            mistake = _foreign_mistake(name, text, engine=engine)
            if mistake:
                mistakes.add((*place, name), mistake)
            checked[name] = text
            continue
        if option is None:
            known = [each.name for each in engine.description.options]
            mistakes.add((*place, name), unknown(f"option of {engine.name}", name, known))
            continue
        try:
            checked[name] = value_text(parse_value(option, text))
        except ValueError as error:
            mistakes.add((*place, name), str(error))
    return checked


def _foreign_mistake(name: str, text: str, *, engine: Engine) -> str | None:
    """What is wrong with an option that no driver describes; None if it reaches the binding as one line."""
    if owners_of_option(name, [engine]):
        return f"{name}: expected a name without the engine's" + option_hint(name, [engine])
    if _OPTION_NAME.fullmatch(name) is None:
        return f"{shown(name)}: expected a name of letters, digits, '.', '_', ':' and '-'"
    try:
        line_of(text)
    except ValueError as error:
        return f"{name}: {error}"
    return None


def _axis_values(
    values: Sequence[AxisValue], *, readings: Sequence[OptionDescription], place: Place, mistakes: Mistakes
) -> tuple[AxisValue, ...]:
    """Each value as every engine that knows the axis can read it."""
    parsed: dict[AxisValue, None] = {}
    for index, value in enumerate(values):
        try:
            typed = _typed(value, readings)
        except ValueError as error:
            mistakes.add((*place, index), str(error))
            continue
        if typed in parsed:
            mistakes.add((*place, index), f"{place[-1]}: {shown(value)} stands here twice")
        parsed[typed] = None
    return tuple(parsed)


def _typed(value: AxisValue, readings: Sequence[OptionDescription]) -> AxisValue:
    """The value as the first reads it, once all can. Raises ValueError."""
    typed = [parse_value(reading, value) for reading in readings]
    return typed[0]


def _check_known(
    names: Iterable[AxisValue], *, devices: Sequence[str], place: Place, mistakes: Mistakes
) -> None:
    for index, name in enumerate(map(str, names)):
        if name not in devices:
            mistakes.add((*place, index), unknown("device", name, devices))


def _workloads(
    names: Iterable[AxisValue],
    *,
    engines: Sequence[Engine],
    project: Project,
    place: Place,
    mistakes: Mistakes,
) -> tuple[AxisValue, ...]:
    known = {path.stem: path for path in sorted(project.workloads.glob("*.properties"))}
    checked = []
    for index, name in enumerate(map(str, names)):
        if name not in known:
            mistakes.add((*place, index), unknown("workload", name, known))
        else:
            _check_workload(known[name], engines=engines, mistakes=mistakes)
            checked.append(name)
    return tuple(checked)


def _check_workload(path: Path, *, engines: Sequence[Engine], mistakes: Mistakes) -> None:
    try:
        properties = read_properties(path)
    except SpecError as error:
        mistakes.add_at(error.where or str(path), error.message)
        return
    for name, value in properties.items():
        found = _property_value(name, value.text, engines=engines)
        if isinstance(found, ValueError):
            mistakes.add_at(f"{path}:{value.line}", str(found))


def _property_value(name: str, text: str, *, engines: Sequence[Engine]) -> AxisValue | ValueError:
    """The typed value, or why no driver or not every driver can take it."""
    described = [found for engine in engines if (found := engine.description.property(name))]
    if not described:
        known = {each.name for engine in engines for each in engine.description.properties}
        return ValueError(unknown("property", name, sorted(known)) + option_hint(name, engines))
    try:
        return _typed(text, described)
    except ValueError as error:
        return error
