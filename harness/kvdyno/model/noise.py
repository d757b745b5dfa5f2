"""A host's noise: how far twins, two labels of one engine, differ though nothing does.

`kvdyno selftest` measures it and leaves results/hosts/<host>/noise.json; reports read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .engine import Frozen
from .experiment import AxisValue

NOISE_SCHEMA = "kvdyno.noise/1"


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


class HostNoise(Frozen):
    """What a self-test found on one host."""

    schema_version: str = NOISE_SCHEMA
    host_id: str
    measured_at: str
    commit: str | None
    profile: str
    repetitions: int
    facts: Mapping[str, Any]
    twins: tuple[TwinNoise, ...]

    def of(self, metric: str) -> tuple[TwinNoise, ...]:
        """All twins' entries of a metric."""
        return tuple(entry for entry in self.twins if entry.metric == metric)
