"""Points and plans: what will be run, fully resolved, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .engine import Engine
from .experiment import DEFAULT_CACHE, AxisValue, CachePolicy, DeviceLimits, Experiment, Recovery


@dataclass(frozen=True)
class Dataset:
    """What a point's store holds before it runs: the load phase that builds it.

    `identity` hashes the engine's build, the options that shape data, and the load's properties;
    points of equal identity start from copies of one snapshot. `bytes` is keys plus values. `load` numbers
    the loads of one dataset, which differ in their seeds. `age` is how many multiples of the data are
    overwritten before the snapshot is taken; `expected_seconds` covers loading, settling and ageing.
    """

    identity: str
    slug: str
    properties: Mapping[str, str]
    bytes: int
    records: int
    load: int = 1
    seed: int | None = None
    age: float = 0
    expected_seconds: float = 0


@dataclass(frozen=True)
class Point:
    """One fully resolved combination.

    `axes` are the labels that figures and tables use: always `engine` and `preset`, then the
    grid's axes, sizes in bytes at the profile's scale. `properties` is exactly what the driver gets
    (the harness adds the run's seeds and places: data.dir, output.dir, progress.fd). `identity` hashes all
    that can change the result, the engine's build included. `dataset` is the first of its loads,
    `other_loads` are the second, third and so on, from which later repetitions start. With `recovery` the
    driver is killed, and the store that it leaves is opened again. `expected_memory_bytes` is what the driver
    describes of its peak; 0: not known. `earlier_identity` is the one that it had
    before plans set the interval of short series: reports show such records, sweeps measure again.
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
    other_loads: tuple[Dataset, ...] = ()
    cache: CachePolicy = DEFAULT_CACHE
    recovery: Recovery | None = None
    expected_memory_bytes: int = 0
    earlier_identity: str | None = None

    @property
    def identities(self) -> tuple[str, ...]:
        """What records of it are stored under."""
        return (self.identity, self.earlier_identity) if self.earlier_identity else (self.identity,)

    @property
    def loads(self) -> tuple[Dataset, ...]:
        """Every load of its dataset, in their order; none if it starts from an empty store."""
        return (self.dataset, *self.other_loads) if self.dataset else ()


@dataclass(frozen=True)
class Run:
    """One execution of a point that the plan asks for. Repetitions and loads count from 1.

    `load` numbers the load that it starts from; a run that measures the load itself has a load of its own in
    each repetition. `seed` is the run's own, None where the driver takes none; `seeds` are the driver
    properties through which it gets its own and its load's, and the moment of a kill. `repetitions_planned`
    is how many repetitions the plan asks for.
    """

    point: Point
    repetition: int
    load: int = 1
    seed: int | None = None
    seeds: Mapping[str, str] = field(default_factory=dict)
    repetitions_planned: int | None = None

    @property
    def dataset(self) -> Dataset | None:
        """What its store holds before it runs; None: nothing."""
        return self.point.loads[self.load - 1] if self.point.dataset else None

    @property
    def properties(self) -> Mapping[str, str]:
        """What the driver gets: the point's properties and the seeds."""
        return {**self.point.properties, **self.seeds}

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

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """Every load that a run starts from, once, in the order of need."""
        needed = {run.dataset.identity: run.dataset for run in self.runs if run.dataset}
        return tuple(needed.values())
