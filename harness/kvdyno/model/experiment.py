"""An experiment as its file means it: everything checked, nothing scaled yet.

The YAML form is described in docs/formats.md. Sizes here are bytes at paper scale, durations seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from .engine import Frozen, RunnerName
from .metrics import BINARY_SIZE, INSTRUCTIONS
from .units import human_bytes

AxisValue = str | int | float | bool

#: Ratios this near to 1, as a share, are the same for all purposes, unless an experiment sets `same_within`.
SAME_WITHIN = 0.05
#: What caches hold when a run that starts from a snapshot begins (docs/formats.md, "Cache policies").
CachePolicy = Literal["cold", "snapshot-read", "warm"]
DEFAULT_CACHE: CachePolicy = "snapshot-read"


class EngineChoice(Frozen):
    """One engine of an experiment: which binary, which preset, what the figures call it.

    `version` None: the engine's default one (engines/versions.yaml). `runner` None: whatever runner the sweep
    is asked for. `twin_of` is the label of the choice that this one repeats with loads and runs of its own,
    and `twin` its number among that label's twins; 0: no twin.
    """

    engine: str
    version: str | None = None
    runner: RunnerName | None = None
    preset: str = "default"
    options: Mapping[str, str] = Field(default_factory=dict)
    label: str = ""
    external: Path | None = None
    twin_of: str | None = None
    twin: int = 0

    @property
    def key(self) -> str:
        """What a catalog calls it: "rocksdb", "rocksdb@11.8.1", "docker:rocksdb@11.8.1"."""
        name = f"{self.engine}@{self.version}" if self.version else self.engine
        return f"{self.runner}:{name}" if self.runner else name


class Recovery(Frozen):
    """The engine is killed while clients write, and opened again in a fresh process.

    The kill comes at a moment of the measured phase that a run's seed draws: `after` this share of it at the
    earliest. `watch_seconds` is how long the mix goes on once the store answers again.
    """

    after: float = 0.5
    watch_seconds: float = 10


class Phases(Frozen):
    """How long each phase lasts. Operations, seconds or bytes written end it, whichever is reached first.

    With a volume (rows that the mix touches, as a multiple of the dataset's records) seconds end only mixes
    that write nothing, and the volume ends the others.
    """

    warmup_seconds: float = 0
    measure_operations: int | None = None
    measure_seconds: float | None = None
    measure_bytes: int | None = None
    measure_volume: float | None = None
    drain: bool = True
    recovery: Recovery | None = None


class DeviceLimits(Frozen):
    """What the disk is held to, to imitate a slower one, whose name this is. None: as fast as it is."""

    name: str = ""
    read_bytes_per_second: int | None = None
    write_bytes_per_second: int | None = None
    read_iops: int | None = None
    write_iops: int | None = None

    @property
    def holds_writes(self) -> bool:
        """Whether writes are limited in any way."""
        return bool(self.write_bytes_per_second or self.write_iops)

    @property
    def text(self) -> str:
        """The rates in words: "reads at most 500 MiB/s and 90,000/s; writes at most 450 MiB/s"."""
        directions = (
            ("reads", self.read_bytes_per_second, self.read_iops),
            ("writes", self.write_bytes_per_second, self.write_iops),
        )
        parts = []
        for what, size, count in directions:
            rates = [f"{human_bytes(size)}/s"] if size else []
            rates += [f"{count:,}/s"] if count else []
            parts += [f"{what} at most {' and '.join(rates)}"] if rates else []
        return "; ".join(parts)


class DerivedMetric(Frozen):
    """A metric made of others of the same run and phase: the sum of some, over the sum of some others.

    Without `over` it is the sum itself, in the unit of its terms. It is also divided by the value of the axis
    `over_axis`, and by the logarithm (base 10) of that of `over_log`. `meaning` is for the report's
    definitions.
    """

    id: str
    meaning: str = ""
    sum: tuple[str, ...]
    over: tuple[str, ...] = ()
    over_axis: str | None = None
    over_log: str | None = None


class PublishedValue(Frozen):
    """A value in the metric's unit, where an experiment has its point: axes typed, at paper scale."""

    engine: str
    axes: Mapping[str, AxisValue]
    value: float


class Overlay(Frozen):
    """Published numbers beside those of an experiment: what a figure or table with their key shows.

    `short` and `source` cite them. `ratio_to`: the values are ratios to that engine.
    """

    short: str
    source: str
    metric: str
    unit: str
    ratio_to: str | None = None
    values: tuple[PublishedValue, ...]

    @property
    def engines(self) -> frozenset[str]:
        """The engines that have a value."""
        return frozenset(each.engine for each in self.values)


class Against(Frozen):
    """The cost of the other operation of a mix. `mix` names the shares: "queries per update"."""

    metric: str
    phase: str = "run"
    mix: str


class FigureSpec(Frozen):
    """One figure: a kind from `plots/` bound to a metric and to axes of the grid.

    With `ratio_to`, paired ratios to that engine. `published` is the key of numbers to show beside, as
    "evendb/log-limit". `against` is for kinds that draw choices between mixes: the metric is then the cost of
    the one operation, `against` that of the other.
    """

    id: str
    kind: str
    title: str = ""
    metric: str = "throughput"
    phase: str = "run"
    x: str | None = None
    series: tuple[str, ...] = ("engine",)
    panels: tuple[str, ...] = ()
    where: Mapping[str, tuple[AxisValue, ...]] = Field(default_factory=dict)
    options: Mapping[str, Any] = Field(default_factory=dict)
    ratio_to: str | None = None
    published: str | None = None
    against: Against | None = None


class TableSpec(Frozen):
    """One table: a metric spread over rows and columns; with `ratio_to`, paired ratios to that engine.
    `published` is as in FigureSpec.
    """

    id: str
    title: str = ""
    metric: str = "throughput"
    phase: str = "run"
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    where: Mapping[str, tuple[AxisValue, ...]] = Field(default_factory=dict)
    ratio_to: str | None = None
    published: str | None = None


class ClaimSpec(Frozen):
    """A statement about a metric, or about a ratio, checked against records.

    The ratio is that of two engines (`relative_to`), or of values of an axis (`along`): each of its values
    over the next, all of one engine; or, along the axis `engine`, each engine over the next. `at_least` and
    `at_most` bound the value; the verdict compares them with its interval. `holds_at`: whether the claim is
    about every point or, as "up to 1.6 times" is, about some point. `published` is the key of the claim in
    the document that makes it: "evendb/p-composite".
    """

    id: str
    text: str
    source: str = ""
    published: str | None = None
    metric: str = "throughput"
    phase: str = "run"
    engine: str = ""
    relative_to: str | None = None
    along: Mapping[str, tuple[AxisValue, ...]] = Field(default_factory=dict)
    where: Mapping[str, tuple[AxisValue, ...]] = Field(default_factory=dict)
    holds_at: Literal["every", "some"] = "every"
    at_least: float | None = None
    at_most: float | None = None

    @property
    def steps(self) -> tuple[tuple[str, AxisValue, AxisValue], ...]:
        """The axis of `along` with each of its values and the next; none for a claim that is not about an
        axis.
        """
        return tuple(
            (axis, above, below) for axis, values in self.along.items() for above, below in pairwise(values)
        )


class GateMetric(Frozen):
    """A metric by which a gate compares two versions; an `exact` one is compared pair by pair.

    `margin`, a share, is the metric's own; None: the gate's, or none at all for an exact metric.
    """

    metric: str
    phase: str = "run"
    exact: bool = False
    margin: float | None = Field(default=None, gt=0, lt=1)

    @property
    def of_build(self) -> bool:
        """Whether it is a fact of a build, which no run measures."""
        return self.metric == BINARY_SIZE

    @property
    def of_runs(self) -> bool:
        """Whether runs measure it, and so pairs are needed."""
        return self.metric not in (BINARY_SIZE, INSTRUCTIONS)


class GateSpec(Frozen):
    """What makes an experiment a suite: `margin` is a share, `budget_seconds` bounds the measuring."""

    metrics: tuple[GateMetric, ...]
    margin: float
    budget_seconds: float

    @property
    def of_runs(self) -> tuple[GateMetric, ...]:
        """The metrics that runs measure."""
        return tuple(each for each in self.metrics if each.of_runs)

    def margin_of(self, gated: GateMetric) -> float:
        """What is asked for: the metric's own margin; else 0 for an exact metric, the gate's for others."""
        return gated.margin if gated.margin is not None else 0.0 if gated.exact else self.margin


class Profile(Frozen):
    """A scale for everything together, and what an experiment may shorten with it."""

    name: str
    scale: float
    summary: str = ""


class Experiment(Frozen):
    """A checked experiment, resolved for one profile but still at paper scale.

    Each dataset is loaded `loads` times, and repetitions take turns to start from the loads.
    """

    name: str
    title: str
    description: str = ""
    path: Path
    profile: Profile
    engines: tuple[EngineChoice, ...]
    grid: Mapping[str, tuple[AxisValue, ...]]
    properties: Mapping[str, str] = Field(default_factory=dict)
    cap_bytes: int
    devices: Mapping[str, DeviceLimits] = Field(default_factory=dict)
    cache: CachePolicy = DEFAULT_CACHE
    repetitions: int
    loads: int = 1
    phases: Phases
    timeout_seconds: float = 3600
    metrics: tuple[DerivedMetric, ...] = ()
    figures: tuple[FigureSpec, ...] = ()
    tables: tuple[TableSpec, ...] = ()
    claims: tuple[ClaimSpec, ...] = ()
    #: By the keys that figures and tables have.
    published: Mapping[str, Overlay] = Field(default_factory=dict)
    baseline: str | None = None
    same_within: float = SAME_WITHIN
    gate: GateSpec | None = None
