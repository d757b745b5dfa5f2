"""A host's noise: how far twins, two labels of one engine, differ though nothing does.

`kvdyno selftest` measures it, for each runner apart, and leaves results/hosts/<host>/noise.json (of
containers: noise-docker.json); reports and gates read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from .engine import Frozen, RunnerName
from .experiment import AxisValue

NOISE_SCHEMA = "kvdyno.noise/1"


def selftest_command(runner: str) -> str:
    """The command that measures the noise of runs by this runner."""
    return "kvdyno selftest" if runner == "local" else f"kvdyno selftest --runner {runner}"


class TwinNoise(Frozen):
    """Twins of one engine at one point, by one metric.

    `pairs` are repetitions in which both twins ran, `sd_log` the standard deviation of the logarithm of their
    ratio over those. `comparisons` are groups of `HostNoise.repetitions` repetitions, each compared as a
    report would: in `covered` of them the 95 % interval holds 1, in `false_alarms` the verdict is that they
    differ.
    """

    engine: str
    axes: Mapping[str, AxisValue]
    phase: str
    metric: str
    unit: str
    pairs: int
    sd_log: float
    comparisons: int
    covered: int
    false_alarms: int


class DriverCost(Frozen):
    """CPU time per operation of the driver on the engine that does nothing, all clients together: the median
    of `runs` runs, with the lowest and the highest. `image` is the id of the image that they ran in, if any.
    """

    image: str | None = None
    workload: str
    threads: int
    runs: int
    median_ns: float
    lowest_ns: float
    highest_ns: float


class HostNoise(Frozen):
    """What a self-test found on one host with one runner.

    `images` maps labels to the ids of the images that they ran in. `gauges` are what disk and memory did,
    None where that could not be measured. Files of earlier self-tests have neither, and no `driver`.
    """

    schema_version: str = NOISE_SCHEMA
    host_id: str
    runner: RunnerName = "local"
    measured_at: str
    commit: str | None
    profile: str
    repetitions: int
    facts: Mapping[str, Any]
    images: Mapping[str, str] = Field(default_factory=dict)
    gauges: Mapping[str, float | None] = Field(default_factory=dict)
    driver: tuple[DriverCost, ...] = ()
    twins: tuple[TwinNoise, ...]

    def of(self, metric: str) -> tuple[TwinNoise, ...]:
        """All twins' entries of a metric."""
        return tuple(entry for entry in self.twins if entry.metric == metric)
