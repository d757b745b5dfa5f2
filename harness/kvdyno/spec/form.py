"""The form of experiment and profile files: keys, types, units and defaults (docs/formats.md).

Every model here is what a person writes; kvdyno.model.experiment is what it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from kvdyno.model.axes import VOLUME_MIN
from kvdyno.model.engine import RunnerName
from kvdyno.model.experiment import (
    DEFAULT_CACHE,
    SAME_WITHIN,
    AxisValue,
    CachePolicy,
    ClaimSpec,
    DerivedMetric,
    FigureSpec,
    GateMetric,
    GateSpec,
    TableSpec,
)
from kvdyno.model.reading import Text
from kvdyno.model.units import parse_bytes, parse_count, parse_seconds
from kvdyno.model.words import shown

# Names become files' names, which file systems limit to 255 bytes, beside words of others.
_NAME_MAX = 80


def _listed(value: Any) -> Any:
    """A single value stands for a list of one."""
    return value if isinstance(value, (list, tuple)) or value is None else [value]


def _single(value: Any) -> Any:
    if isinstance(value, (str, int, float)):
        return value
    found = "nothing" if value is None else f"a {'list' if isinstance(value, list) else 'mapping'}"
    raise ValueError(f"expected a single value, found {found}")


def _scale(value: Any) -> float:
    try:
        scale = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f'expected a scale like 1 or "1/64", found {shown(value)}') from None
    if not 0 < scale <= 1:
        raise ValueError(f"expected a scale above 0 and up to 1, found {shown(value)}")
    return float(scale)


Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
Seconds = Annotated[float, BeforeValidator(parse_seconds)]
Count = Annotated[int, BeforeValidator(parse_count), Field(gt=0)]
Scale = Annotated[float, BeforeValidator(_scale)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Single = Annotated[AxisValue, BeforeValidator(_single)]
Values = Annotated[tuple[Single, ...], BeforeValidator(_listed), Field(min_length=1)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=_NAME_MAX)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+@-]*$", max_length=_NAME_MAX)]


class Form(BaseModel):
    """Base of what a person writes: unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class EngineForm(Form):
    """An item of `engines`: a name alone, or a mapping."""

    engine: Label
    runner: RunnerName | None = None
    preset: str = "default"
    options: Mapping[str, Text] = Field(default_factory=dict)
    label: Label | None = None
    external: Path | None = None
    twin_of: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"engine": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _external_ones_are_local(self) -> EngineForm:
        if self.external and self.runner == "docker":
            raise ValueError("expected runner local: an upstream ycsb has no image")
        return self


class MeasureForm(Form):
    """What ends the measured phase: whichever is reached first; a volume ends mixes that write alone."""

    operations: Count | None = None
    seconds: Annotated[Seconds, Field(gt=0)] | None = None
    bytes: Bytes | None = None
    volume: Annotated[float, Field(ge=VOLUME_MIN)] | None = None

    @model_validator(mode="after")
    def _volume_stands_alone(self) -> MeasureForm:
        if self.volume is not None and (self.operations or self.bytes):
            raise ValueError(
                "expected a volume, or operations and bytes, found both; seconds may stand beside either"
            )
        return self


class RecoveryForm(Form):
    """When the engine is killed, as a share of the measured phase, and how long it is watched afterwards."""

    after: Annotated[float, Field(ge=0, lt=1)] | None = None
    watch: Annotated[Seconds, Field(gt=0)] | None = None


class PhasesForm(Form):
    """`phases`: keys that are left out come from the profile."""

    warmup: Seconds | None = None
    measure: MeasureForm = MeasureForm()
    drain: bool | None = None
    recovery: RecoveryForm | None = None


class MetricForm(DerivedMetric):
    """An item of `metrics`."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]*$", max_length=_NAME_MAX)]
    sum: Annotated[Words, Field(min_length=1)]
    over: Words = ()


class FigureForm(FigureSpec):
    """An item of `figures`."""

    id: Id
    x: str | None = None
    series: Words = ("engine",)
    panels: Words = ()
    where: Mapping[str, Values] = Field(default_factory=dict)


class TableForm(TableSpec):
    """An item of `tables`."""

    id: Id
    rows: Words
    columns: Words
    where: Mapping[str, Values] = Field(default_factory=dict)


class ClaimForm(ClaimSpec):
    """An item of `claims`."""

    model_config = ConfigDict(allow_inf_nan=False)

    id: Id
    where: Mapping[str, Values] = Field(default_factory=dict)
    along: Mapping[str, Annotated[tuple[Single, ...], Field(min_length=2)]] = Field(
        default_factory=dict, max_length=1
    )


class SettingsForm(Form):
    """What a profile may change, in profiles.yaml and in an experiment's `profiles`."""

    repetitions: Annotated[int, Field(ge=1, le=1000)] | None = None
    loads: Annotated[int, Field(ge=1, le=1000)] | None = None
    age: Annotated[float, Field(ge=0)] | None = None
    phases: PhasesForm = PhasesForm()
    timeout: Annotated[Seconds, Field(gt=0)] | None = None


class OverridesForm(SettingsForm):
    """An item of an experiment's `profiles`: the grid's axes named here replace the experiment's."""

    grid: Mapping[str, Values] = Field(default_factory=dict)


class ProfileForm(SettingsForm):
    """An item of profiles.yaml: a scale, and the settings of experiments that say nothing else."""

    scale: Scale
    summary: str = ""
    repetitions: Annotated[int, Field(ge=1, le=1000)]
    timeout: Annotated[Seconds, Field(gt=0)]


class ProfilesForm(Form):
    """profiles.yaml as a whole, wrapped so that errors have a place to point at."""

    profiles: Mapping[str, ProfileForm]


class DeviceForm(Form):
    """An item of `devices`: a disk to imitate, by its rates."""

    read_bytes_per_second: Bytes | None = None
    write_bytes_per_second: Bytes | None = None
    read_iops: Count | None = None
    write_iops: Count | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> DeviceForm:
        if not self.model_dump(exclude_none=True):
            raise ValueError(f"expected at least one of {', '.join(type(self).model_fields)}, found none")
        return self


class GateMetricForm(GateMetric):
    """An item of a gate's `metrics`: a metric alone, or a mapping."""

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"metric": value} if isinstance(value, str) else value


class GateForm(Form):
    """`gate`: what `kvdyno regress` needs besides the experiment."""

    metrics: Annotated[tuple[GateMetricForm, ...], Field(min_length=1)]
    margin: Annotated[float, Field(gt=0, lt=1)]
    budget: Annotated[Seconds, Field(gt=0)]

    @property
    def spec(self) -> GateSpec:
        """What it means."""
        return GateSpec(metrics=self.metrics, margin=self.margin, budget_seconds=self.budget)


class ExperimentForm(SettingsForm):
    """An experiment file."""

    title: str
    description: str = ""
    engines: Annotated[tuple[EngineForm, ...], Field(min_length=1)]
    grid: Annotated[Mapping[str, Values], Field(min_length=1)]
    properties: Mapping[str, Text] = Field(default_factory=dict)
    cap: Bytes = 16 << 30
    devices: Mapping[Label, DeviceForm] = Field(default_factory=dict)
    cache: CachePolicy = DEFAULT_CACHE
    baseline: str | None = None
    same_within: Annotated[float, Field(gt=0, lt=1)] = SAME_WITHIN
    metrics: tuple[MetricForm, ...] = ()
    figures: tuple[FigureForm, ...] = ()
    tables: tuple[TableForm, ...] = ()
    claims: tuple[ClaimForm, ...] = ()
    gate: GateForm | None = None
    profiles: Mapping[str, OverridesForm] = Field(default_factory=dict)
