"""From one combination to the properties that a driver gets, everything at the profile's scale.

Later wins: the workload's file, the distribution, the experiment's properties, the grid, the options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kvdyno.model import axes as axis_words
from kvdyno.model.axes import axis_of
from kvdyno.model.engine import Engine, OptionDescription
from kvdyno.model.experiment import (
    AxisValue,
    CachePolicy,
    DeviceLimits,
    EngineChoice,
    Experiment,
    Phases,
    Recovery,
)
from kvdyno.model.options import display_value, parse_value, scale_value, value_text

# What follows a load means nothing to a point that measures it.
_MIX_AXES = (axis_words.DISTRIBUTION, axis_words.AGE, axis_words.VOLUME)
OPERATIONS = (
    *("read", "update", "insert", "scan", "readmodifywrite", "delete"),
    *("multiread", "reversescan"),
)


@dataclass(frozen=True)
class Resolved:
    """One combination for one engine. `axes` and `properties` are at the profile's scale.

    `twin` numbers the twins of one engine; 0: no twin.
    """

    engine: Engine
    axes: Mapping[str, AxisValue]
    properties: Mapping[str, str]
    phases: tuple[str, ...]
    cap_bytes: int
    device: DeviceLimits | None
    cache: CachePolicy
    notes: tuple[str, ...]
    twin: int = 0
    recovery: Recovery | None = None

    @property
    def measures_load(self) -> bool:
        """Whether it fills an empty store and measures that."""
        return "load" in self.phases

    @property
    def age(self) -> float:
        """Multiples of the data that are overwritten before the snapshot is taken."""
        return float(self.axes.get(axis_words.AGE, 0))

    def in_force(self, name: str) -> AxisValue | None:
        """The driver property's typed value, its default included; None if the driver has none."""
        return self._read(name, lambda: self.engine.description.property(name))

    def option_in_force(self, name: str) -> AxisValue | None:
        """The engine option's typed value, its default included; None if the engine has none."""
        description = self.engine.description
        return self._read(f"{description.engine.name}.{name}", lambda: description.option(name))

    def _read(self, name: str, described: Callable[[], OptionDescription | None]) -> AxisValue | None:
        key = (name, self.properties.get(name))
        known = self.engine.values_read
        if key not in known:
            found = described()
            text = found.default if found and key[1] is None else key[1]
            known[key] = parse_value(found, text) if found and text is not None else None
        return known[key]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The proportion of each operation. They need not add up to 1."""
        return {name: self.number(f"{name}proportion") for name in OPERATIONS}

    def number(self, name: str) -> float:
        """The property in force as a number; zero if the driver has none."""
        value = self.in_force(name)
        return value if isinstance(value, (int, float)) else 0

    def shaping(self, *, aged: bool) -> dict[str, str]:
        """Properties and options in force that shape data, as text, defaults included; with `aged` those that
        shape aged data, too.

        Which of a foreign binding's options do is unknown, so all of them count.
        """
        description = self.engine.description
        prefix = description.engine.name + "."

        def shapes(each: OptionDescription) -> bool:
            return each.shapes_data or (aged and each.shapes_aged_data)

        values = {each.name: self.in_force(each.name) for each in description.properties if shapes(each)}
        values |= {
            prefix + each.name: self.option_in_force(each.name)
            for each in description.options
            if shapes(each)
        }
        shaping = {name: value_text(value) for name, value in values.items() if value is not None}
        if description.accepts_other_options:
            others = {name: text for name, text in self.properties.items() if name.startswith(prefix)}
            shaping = {**others, **shaping}
        return shaping


class Scaling:
    """Applies a profile's scale to values, and remembers what could not follow it."""

    def __init__(self, *, profile: str, scale: float) -> None:
        self._profile = profile
        self._scale = scale
        self.notes: list[str] = []

    def of(self, option: OptionDescription, value: AxisValue, *, owner: str) -> AxisValue:
        """The value at the profile's scale."""
        scaled = scale_value(option, value, scale=self._scale)
        if scaled != value and not isinstance(value, (bool, str)) and scaled in (option.min, option.max):
            exact = value * self._scale
            if exact != scaled:
                asked, got = display_value(option, value), display_value(option, scaled)
                self.notes.append(
                    f"{owner}: {option.name} = {asked} at profile {self._profile} is kept at its limit, {got}"
                )
        return scaled


def resolve(
    experiment: Experiment,
    *,
    choice: EngineChoice,
    engine: Engine,
    combination: Mapping[str, AxisValue],
    workload: Mapping[str, str],
) -> Resolved:
    """The combination's properties, as text, without those that end phases or count records.

    `workload` holds the properties of its workload's file.
    """
    scaling = Scaling(profile=experiment.profile.name, scale=experiment.profile.scale)
    loads = workload.get(axis_words.RUNS_OPERATIONS) == "false"
    axes = _axes(combination, engine=engine, loads=loads, scaling=scaling)
    phases = _phases(experiment.phases, engine=engine, loads=loads)
    cap_bytes = round(experiment.cap_bytes * experiment.profile.scale)
    known = engine.description.property
    properties = {
        **{name: text for name, text in workload.items() if name not in axis_words.FLAG_PROPERTIES},
        **_distribution(axes),
        **_experiment_properties(experiment, engine=engine, scaling=scaling),
        **_axis_properties(axes, engine=engine),
        **_options(choice, axes, engine=engine, scaling=scaling),
    }
    if known(axis_words.CAP):
        properties[axis_words.CAP] = str(cap_bytes)
    # The disk as it is has no entry.
    device = experiment.devices.get(str(axes.get(axis_words.DEVICE)))
    notes = tuple(scaling.notes)
    return Resolved(
        engine,
        axes,
        properties,
        phases,
        cap_bytes,
        device,
        experiment.cache,
        notes,
        twin=choice.twin,
        recovery=experiment.phases.recovery,
    )


def _axes(
    combination: Mapping[str, AxisValue], *, engine: Engine, loads: bool, scaling: Scaling
) -> Mapping[str, AxisValue]:
    """The axes' values at the profile's scale, without those that mean nothing to a measured load."""
    axes = {}
    for axis, value in combination.items():
        reading = axis_of(engine, axis)
        if reading and not (loads and axis in _MIX_AXES):
            axes[axis] = scaling.of(reading, value, owner=engine.name)
    return axes


def _distribution(axes: Mapping[str, AxisValue]) -> Mapping[str, str]:
    """The distribution's property, and the published skew for those that have one."""
    name = axes.get(axis_words.DISTRIBUTION)
    if name is None:
        return {}
    drawn = "zipfian" if name == axis_words.ZIPF_SIMPLE else str(name)
    skew = {axis_words.THETA: axis_words.PUBLISHED_THETA} if drawn.startswith("zipf") else {}
    return {axis_words.KEY_DISTRIBUTION: drawn, **skew}


def _experiment_properties(experiment: Experiment, *, engine: Engine, scaling: Scaling) -> Mapping[str, str]:
    """The experiment's own properties, of those that the driver knows."""
    properties = {}
    for name, text in experiment.properties.items():
        described = engine.description.property(name)
        if described is not None:
            value = scaling.of(described, parse_value(described, text), owner=experiment.name)
            properties[name] = value_text(value)
    return properties


def _axis_properties(axes: Mapping[str, AxisValue], *, engine: Engine) -> Mapping[str, str]:
    """Axes that are driver properties; engine options come before properties of the same name."""
    description = engine.description
    properties = {
        axis: value_text(value)
        for axis, value in axes.items()
        if axis not in axis_words.NAMED_AXES and description.option(axis) is None
    }
    if axis_words.THREADS in axes:
        properties[axis_words.THREAD_COUNT] = value_text(axes[axis_words.THREADS])
    return properties


def _options(
    choice: EngineChoice, axes: Mapping[str, AxisValue], *, engine: Engine, scaling: Scaling
) -> Mapping[str, str]:
    """Engine options as `<engine>.<option>`: the preset's, then the choice's, then the grid's.

    Only written values scale; the engine's own defaults stay what its users get.
    """
    prefix = engine.description.engine.name
    options = {}
    for name, text in {**engine.presets[choice.preset].options, **choice.options}.items():
        option = engine.description.option(name)
        value = scaling.of(option, parse_value(option, text), owner=choice.label) if option else text
        options[f"{prefix}.{name}"] = value_text(value)
    for axis, value in axes.items():
        if engine.description.option(axis) is not None:
            options[f"{prefix}.{axis}"] = value_text(value)
    return options


def _phases(phases: Phases, *, engine: Engine, loads: bool) -> tuple[str, ...]:
    """The phases of a run, in order; a driver that has none of these names runs all of its own."""
    if loads:
        wanted = ("load", "settle")
    else:
        wanted = (
            *(("warmup", "rest") if phases.warmup_seconds else ()),
            "measure",
            *(("drain",) if phases.drain and not phases.recovery else ()),
        )
    own = engine.description.phases
    return tuple(phase for phase in wanted if phase in own) or own
