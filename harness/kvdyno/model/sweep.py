"""What a sweep measured: an experiment, with engines as they were built then.

Records hash builds and name options; only an engine's description relates both to an experiment file. With
it, a report can be made where nothing is built. The file form is in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from .engine import Engine, EngineDescription, Frozen, Preset
from .experiment import DEFAULT_CACHE, CachePolicy
from .point import Plan
from .submission import Submission

SWEEP_SCHEMA = "kvdyno.sweep/1"


class SweptEngine(Frozen):
    """An engine (see Engine) without the place of its driver; `presets` are option texts by name."""

    name: str
    binary_sha256: str
    description: EngineDescription
    presets: Mapping[str, Mapping[str, str]]
    image: str | None = None
    built_version: str = ""

    def as_engine(self) -> Engine:
        """An engine to plan with. Nothing can run it."""
        return Engine(
            name=self.name,
            binary=Path(),
            binary_sha256=self.binary_sha256,
            description=self.description,
            presets={name: Preset(options) for name, options in self.presets.items()},
            image=self.image,
            built_version=self.built_version,
        )


class Sweep(Frozen):
    """One sweep: `engines` by their keys in a catalog (EngineChoice.key), `labels` as in the experiment.

    Upstream binaries are left out: they describe themselves nowhere. `submission`: how it was handed to a
    scheduler; None for a sweep of one machine.
    """

    schema_version: Literal["kvdyno.sweep/1"] = "kvdyno.sweep/1"
    sweep_id: str
    experiment: str
    profile: str
    cache: CachePolicy = DEFAULT_CACHE
    labels: tuple[str, ...]
    engines: Mapping[str, SweptEngine]
    submission: Submission | None = None

    @property
    def builds(self) -> Mapping[str, str]:
        """The build of each engine."""
        return {key: engine.binary_sha256 for key, engine in self.engines.items()}

    @property
    def runners(self) -> tuple[str, ...]:
        """What ran its engines."""
        return tuple(sorted({engine.as_engine().runner for engine in self.engines.values()}))

    def catalog(self) -> Mapping[str, Engine]:
        """Its engines as a catalog has them."""
        return {key: engine.as_engine() for key, engine in self.engines.items()}


def sweep_of(plan: Plan, *, sweep_id: str, submission: Submission | None = None) -> Sweep:
    """What this sweep of the plan measures."""
    by_label = {str(point.axes["engine"]): point.engine for point in plan.points}
    choices = [each for each in plan.experiment.engines if each.label in by_label and not each.external]
    return Sweep(
        sweep_id=sweep_id,
        experiment=plan.experiment.name,
        profile=plan.experiment.profile.name,
        cache=plan.experiment.cache,
        labels=tuple(each.label for each in choices),
        engines={each.key: _swept(by_label[each.label]) for each in choices},
        submission=submission,
    )


def _swept(engine: Engine) -> SweptEngine:
    return SweptEngine(
        name=engine.name,
        binary_sha256=engine.binary_sha256,
        description=engine.description,
        presets={name: preset.options for name, preset in engine.presets.items()},
        image=engine.image,
        built_version=engine.built_version,
    )
