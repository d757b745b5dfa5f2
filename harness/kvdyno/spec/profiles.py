"""Profiles: the scales of experiments/profiles.yaml and how an experiment's settings combine with them.

Later wins, key by key: profiles.yaml, then the experiment, then the experiment's own `profiles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from kvdyno.errors import UsageError
from kvdyno.model.document import read_document
from kvdyno.model.experiment import Phases, Profile, Recovery
from kvdyno.model.project import Project
from kvdyno.model.reading import read_form
from kvdyno.model.words import unknown

from .form import (
    MeasureForm,
    OverridesForm,
    PhasesForm,
    ProfileForm,
    ProfilesForm,
    RecoveryForm,
    SettingsForm,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What a profile may change, resolved."""

    repetitions: int
    loads: int
    age: float
    phases: Phases
    timeout_seconds: float


def load_profiles(project: Project) -> Mapping[str, Profile]:
    """Every profile by name, in the file's order. Raises SpecError."""
    forms = read_profiles(project)
    return {name: profile_of(name, forms=forms) for name in forms}


def read_profiles(project: Project) -> Mapping[str, ProfileForm]:
    """profiles.yaml as written. Raises SpecError."""
    document = read_document(project.experiments / "profiles.yaml")
    return read_form(document.below("profiles"), ProfilesForm).profiles


def profile_of(name: str, *, forms: Mapping[str, ProfileForm]) -> Profile:
    """The profile of that name. Raises UsageError with the nearest one."""
    if name not in forms:
        raise UsageError(unknown("profile", name, forms))
    return Profile(name=name, scale=forms[name].scale, summary=forms[name].summary)


def settle_settings(
    profile: ProfileForm, experiment: SettingsForm, override: OverridesForm | None
) -> Settings:
    """What holds for one run of the experiment. A measured phase without an end is left so."""
    later = [experiment, *([override] if override else [])]
    phases = [layer.phases for layer in (profile, *later)]
    return Settings(
        repetitions=_last(profile.repetitions, *(layer.repetitions for layer in later)),
        loads=_last(1, *(layer.loads for layer in (profile, *later))),
        age=_last(0.0, *(layer.age for layer in (profile, *later))),
        phases=_phases(phases),
        timeout_seconds=_last(profile.timeout, *(layer.timeout for layer in later)),
    )


def _phases(phases: list[PhasesForm]) -> Phases:
    measure = MeasureForm()
    for phase in phases:
        measure = _measure(measure, phase.measure)
    return Phases(
        warmup_seconds=_last(0.0, *(phase.warmup for phase in phases)),
        measure_operations=measure.operations,
        measure_seconds=measure.seconds,
        measure_bytes=measure.bytes,
        measure_volume=measure.volume,
        drain=_last(True, *(phase.drain for phase in phases)),
        recovery=_recovery([phase.recovery for phase in phases if phase.recovery]),
    )


def _recovery(layers: list[RecoveryForm]) -> Recovery | None:
    if not layers:
        return None
    known = Recovery()
    return Recovery(
        after=_last(known.after, *(layer.after for layer in layers)),
        watch_seconds=_last(known.watch_seconds, *(layer.watch for layer in layers)),
    )


def _measure(earlier: MeasureForm, later: MeasureForm) -> MeasureForm:
    """Later keys win. A volume replaces operations and bytes, and any other end replaces a volume."""
    said = later.model_dump(exclude_none=True)
    replaced: Mapping[str, None] = {}
    if "volume" in said:
        replaced = {"operations": None, "bytes": None}
    elif said:
        replaced = {"volume": None}
    return earlier.model_copy(update={**replaced, **said})


def _last(default: T, *layers: T | None) -> T:
    """The value of the last layer that has one."""
    return next((value for value in reversed(layers) if value is not None), default)
