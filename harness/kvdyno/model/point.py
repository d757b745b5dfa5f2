"""Points and plans: what will be run, fully resolved, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .engine import Engine
from .experiment import DEFAULT_CACHE, AxisValue, CachePolicy, DeviceLimits, Experiment


@dataclass(frozen=True)
class Dataset:
    """What a point's store holds before it runs: the load phase that builds it.

    `identity` hashes the engine's build, the options that shape data, and the load's properties;
    points of equal identity start from copies of one snapshot. `bytes` is keys plus values.
    """

    identity: str
    slug: str
    properties: Mapping[str, str]
    bytes: int
    records: int


@dataclass(frozen=True)
class Point:
    """One fully resolved combination.

    `axes` are the labels that figures and tables use: always `engine` and `preset`, then the
    grid's axes, sizes in bytes at the profile's scale. `properties` is exactly what the driver gets
    (the harness adds only places: data.dir, output.dir, progress.fd). `identity` hashes all that can
    change the result, the engine's build included.
    """

    slug: str
    identity: str
    engine: Engine
    preset: str
    axes: Mapping[str, AxisValue]
    properties: Mapping[str, str]
    phases: tuple[str, ...]
    dataset: Dataset | None
    cap_bytes: int
    timeout_seconds: float
    expected_seconds: float
    expected_disk_bytes: int
    device: DeviceLimits | None = None
    cache: CachePolicy = DEFAULT_CACHE


@dataclass(frozen=True)
class Run:
    """One execution of a point that the plan asks for. Repetitions count from 1."""

    point: Point
    repetition: int

    @property
    def name(self) -> str:
        """Readable and unique within a plan."""
        return f"{self.point.slug}.r{self.repetition}"


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment in the order of execution: engines interleaved inside each repetition.

    `notes` say which values could not follow the profile's scale.
    """

    experiment: Experiment
    points: tuple[Point, ...]
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()
