"""A record: one run's stored outcome. The file form is schema/record.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from .engine import BuildIdentity, DriverIdentity, EngineIdentity, Frozen
from .experiment import AxisValue, DeviceLimits
from .schema import Step

RECORD_SCHEMA = "kvdyno.record/2"
OUTCOME_SCHEMA = "kvdyno.outcome/1"


def _from_1(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gauges were `probes` once, and empty; what runs containers was the detail `engine`."""
    runner = record["runner"]
    details = _renamed(runner["details"], "engine", "container_engine")
    return {**_renamed(record, "probes", "gauges"), "runner": {**runner, "details": details}}


def _renamed(document: Mapping[str, Any], old: str, new: str) -> Mapping[str, Any]:
    return {new if name == old else name: value for name, value in document.items()}


#: From version 1 of a record to the present one. docs/formats.md: how to raise a version.
RECORD_STEPS: tuple[Step, ...] = (_from_1,)

RunStatus = Literal[
    "ok",
    "out_of_memory",
    "timeout",
    "crash",
    "wrong_data",
    "unsupported",
    "disk_full",
    "failed",
    "interrupted",
]

#: How a run ended when the run itself is to blame: measuring again would find the same. The other
#: endings are the host's doing (no space, interrupted, ...), and are measured again.
CONCLUSIVE: frozenset[RunStatus] = frozenset(
    {"ok", "out_of_memory", "timeout", "crash", "wrong_data", "unsupported"}
)

#: Facts of the environment that change results and can change on one host: records of other values are
#: measured again.
LASTING_FACTS = (
    "os.kernel",
    "cpu.governor",
    "cpu.turbo",
    "memory.huge_pages",
    "disk.device",
    "disk.file_system",
    "disk.read_ahead_kb",
)


class Metric(Frozen):
    """A named number with its unit ("op/s", "byte", "ns", "s", "ratio", ...)."""

    value: float
    unit: str


class PhaseOutcome(Frozen):
    """What happened in one phase, or over a span of phases (`covers`)."""

    name: str
    covers: tuple[str, ...] = ()
    started_at: float
    seconds: float
    metrics: Mapping[str, Metric]


class OutcomeError(Frozen):
    """Why a driver gave up: a status code's word, the phase, and the message."""

    code: str
    phase: str
    message: str


class SeriesFile(Frozen):
    """The per-interval series: a CSV file and its columns' units."""

    file: str
    interval_seconds: float
    columns: Mapping[str, str]


class Outcome(Frozen):
    """What a driver writes: schema/outcome.schema.json. Any driver, any metrics."""

    schema_version: str
    driver: DriverIdentity
    engine: EngineIdentity
    build: BuildIdentity
    status: Literal["ok", "failed", "interrupted"]
    error: OutcomeError | None = None
    options: Mapping[str, str]
    properties: Mapping[str, str]
    phases: tuple[PhaseOutcome, ...]
    series: SeriesFile | None = None
    histograms: str | None = None
    events: str | None = None


class RecordedPoint(Frozen):
    """What was asked. `timeout_seconds` is 0 where it is not known."""

    slug: str
    identity: str
    engine: str
    preset: str
    label: str
    binary_sha256: str
    axes: Mapping[str, AxisValue]
    properties: Mapping[str, str]
    phases: tuple[str, ...]
    dataset: str | None
    cap_bytes: int
    timeout_seconds: float = 0
    device: DeviceLimits | None = None


class Failure(Frozen):
    """Why a run is not ok, in words, with the end of its log. `inherited`: its dataset's load failed."""

    reason: str
    exit_status: int | None = None
    signal: str | None = None
    log_tail: str = ""
    inherited: bool = False


class RunnerFacts(Frozen):
    """How the run was confined."""

    name: str
    capped: bool
    cgroup: str
    cpus: str
    details: Mapping[str, Any] = Field(default_factory=dict)


class Environment(Frozen):
    """Where the run happened (docs/formats.md lists the keys). `host_id` is stable and anonymous."""

    host_id: str
    facts: Mapping[str, Any]


class Record(Frozen):
    """One run's stored outcome.

    `load` numbers the load that the run started from (a dataset may be loaded several times, each with a
    seed of its own), `seed` is the run's own. `repetitions_planned` is how many repetitions the sweep was
    asked for when the run was made. `gauges` are what the harness measured of the machine just before the
    run.
    """

    schema_version: str = RECORD_SCHEMA
    run_id: str
    sweep_id: str
    repetition: int
    load: int = 1
    seed: int | None = None
    repetitions_planned: int | None = None
    order: int
    started_at: str
    ended_at: str
    point: RecordedPoint
    runner: RunnerFacts
    environment: Environment
    gauges: Mapping[str, float | int | str | bool | None] = Field(default_factory=dict)
    status: RunStatus
    failure: Failure | None = None
    outcome: Outcome | None = None
    files: Mapping[str, str] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def phase(self, name: str) -> PhaseOutcome | None:
        """The phase or span of that name, if the run got there."""
        phases = self.outcome.phases if self.outcome else ()
        return next((p for p in phases if p.name == name), None)
