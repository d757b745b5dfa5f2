"""Which metrics an engine's runs can have: what figures, tables and claims may name (docs/formats.md).

Drivers describe no metrics, so those of the drivers that are known stand here. An engine's own counters
stand beside its adapter, in counters.txt; a test compares both with what drivers report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .axes import REOPEN_FROM, SETTLE
from .engine import Engine
from .sources import adapter_folders

COUNTERS = "counters.txt"
#: What the names of an engine's counters begin with.
COUNTER_PREFIX = "engine."
#: What gates may compare besides, which no run of a sweep measures: bytes of code and data of a build, and
#: instructions that an operation takes, counted under valgrind.
BINARY_SIZE = "binary.size"
INSTRUCTIONS = "instructions.per_operation"

_STATISTICS = ("min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max")
_SAMPLED = (
    *(f"io.{name}" for name in ("rchar", "wchar", "syscr", "syscw")),
    *(f"io.{name}" for name in ("read_bytes", "write_bytes", "cancelled_write_bytes")),
    *("cpu.user", "cpu.system", "faults.minor", "faults.major"),
    *("switches.voluntary", "switches.involuntary", "memory.rss", "memory.peak_rss"),
    *(f"cgroup.memory.{name}" for name in ("usage", "peak", "anonymous", "page_cache")),
    *("cgroup.io.read_bytes", "cgroup.io.write_bytes"),
)
_TOTALS = ("operations", "throughput", "bytes.written", "bytes.read")
_DERIVED = (
    *("throughput.time_to_90", "open.seconds", "arrivals.missed", "cpu.per_operation"),
    *(f"write_amplification.{name}" for name in ("gross", "net", "calls")),
    *(f"read_amplification.{name}" for name in ("disk", "bytes", "calls")),
    *("disk.used", "space_amplification"),
)
_ROWS = ("scan", "reversescan", "multiread")
_BACKGROUND = "background"
_SAMPLING_DERIVED = (
    *("sample.rows", "cpu.per_operation", "arrivals.missed"),
    *(f"write_amplification.{name}" for name in ("gross", "net", "calls")),
    *(f"read_amplification.{name}" for name in ("disk", "bytes", "calls")),
)
_RECOVERY = (
    *(f"recovery.{name}" for name in ("first_answer_s", "full_speed_s", "rate_before", "log_bytes")),
    *(f"recovery.{name}" for name in ("read_bytes", "write_bytes")),
    *(f"recovery.{name}_rows" for name in ("checked", "overwritten", "lost")),
)
# A component that times its gets has this counter since the store was opened, and of each phase the others.
_COMPONENT_COUNTER = "_get_p50_us"
_COMPONENT_PREFIX = "component."
_COMPONENT = ("timed", "p50_us", "p95_us", "p99_us")
_DEBTS = ("debt", "debt.begin", "debt.change")
_STALL_MICROS, _STALL_PER_WRITE = "stall_micros", "stall.per_write"
# The harness adds it to every phase.
_SECONDS = "seconds"


@dataclass(frozen=True)
class Metrics:
    """Metrics by where they can be read: of phases and spans, of histograms, in the series.

    With `more_counters` there may be further counters, and components that are timed, whose names are not
    known.
    """

    phases: tuple[str, ...]
    histograms: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    more_counters: bool = False

    def of(self, table: str) -> tuple[str, ...]:
        """Those that the table of a figure's kind is made of (`plots`)."""
        return {"percentiles": self.histograms, "series": self.series, "timeline": self.series}.get(
            table, self.phases
        )

    def has(self, metric: str, *, table: str) -> bool:
        """Whether a run may have the metric. Figures of histograms may add ".latency" to its name."""
        of_counters = (COUNTER_PREFIX, _COMPONENT_PREFIX)
        if self.more_counters and metric.startswith(of_counters) and table != "percentiles":
            return True
        return metric in self.of(table) or (
            table == "percentiles" and metric.removesuffix(".latency") in self.histograms
        )


def metrics_of(engine: Engine) -> Metrics | None:
    """The metrics of an engine's runs; None where its driver is not known."""
    operations = engine.description.operations
    match engine.description.driver.name:
        case "ycsb":
            return _ycsb(engine, operations)
        case "sampling":
            return _sampling(engine, operations)
        case "ycsb-cpp":
            return Metrics(phases=_upstream(operations))
        case _:
            return None


def direction(higher: bool, *, unit: str) -> Literal["faster", "slower", "higher", "lower"]:
    """What more of a unit means. A higher rate (x/s) and a shorter time (s, ns, and either per operation) are
    faster; of other units only higher and lower are known.
    """
    if unit.endswith("/s"):
        return "faster" if higher else "slower"
    if unit.split("/")[0] in ("s", "us", "ns"):
        return "slower" if higher else "faster"
    return "higher" if higher else "lower"


def more_is_better(unit: str) -> bool:
    """Rates are better if higher; times, bytes, amplifications and counts of misses if lower."""
    return unit.endswith("/s")


def read_counters(adapters: Path, engine: str) -> tuple[str, ...] | None:
    """The counters of an engine: its adapter's, and those of the adapters that this one includes from.

    None if it has no adapter of its own here.
    """
    if not (adapters / engine).is_dir():
        return None
    found: dict[str, None] = {}
    for folder in sorted(adapter_folders(adapters / engine)):
        path = folder / COUNTERS
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        found.update(dict.fromkeys(line for line in lines if line and not line.startswith("#")))
    return tuple(found)


def _ycsb(engine: Engine, operations: Sequence[str]) -> Metrics:
    counters = tuple(COUNTER_PREFIX + name for name in engine.counters or ())
    more = engine.counters is None
    stalls = (_STALL_PER_WRITE,) if more or COUNTER_PREFIX + _STALL_MICROS in counters else ()
    debts = _DEBTS if SETTLE in engine.description.phases else ()
    recovery = _RECOVERY if engine.description.property(REOPEN_FROM) else ()
    timed = [
        _COMPONENT_PREFIX + name.removesuffix(_COMPONENT_COUNTER)
        for name in engine.counters or ()
        if name.endswith(_COMPONENT_COUNTER)
    ]
    latencies = (*_latencies(operations), f"{_BACKGROUND}.latency")
    columns = [f"{name}.latency.{each}" for name in operations for each in ("p50", "p99", "max")]
    return Metrics(
        phases=(
            *(*_TOTALS, _SECONDS, *_DERIVED, *stalls, *debts, *_SAMPLED, *recovery),
            *_counts(timed, _COMPONENT),
            *_counts(operations, ("operations", "not_found", "failed")),
            *(f"{name}.rows" for name in _ROWS if name in operations),
            *_counts((_BACKGROUND,), ("operations", "bytes.written", "write_rate")),
            *_counts(latencies, _STATISTICS),
            *counters,
        ),
        histograms=(*_histograms(operations), _BACKGROUND),
        series=(*_TOTALS, *_SAMPLED, *_counts(operations, ("operations",)), *columns, *counters),
        more_counters=more,
    )


def _sampling(engine: Engine, operations: Sequence[str]) -> Metrics:
    counters = tuple(COUNTER_PREFIX + name for name in engine.counters or ())
    columns = [f"{name}.latency.{each}" for name in operations for each in ("p50", "p99", "max")]
    return Metrics(
        phases=(
            *(*_TOTALS, _SECONDS, *_SAMPLED, *_SAMPLING_DERIVED, *counters),
            *_counts(operations, ("operations", "not_found", "failed")),
            *_counts(_latencies(operations), _STATISTICS),
        ),
        histograms=_histograms(operations),
        series=(*_TOTALS, *_SAMPLED, *_counts(operations, ("operations",)), *columns, *counters),
        more_counters=engine.counters is None,
    )


def _latencies(operations: Sequence[str]) -> tuple[str, ...]:
    """Latencies of operations, in an open loop those of the calls alone as well, and the probe's."""
    return (*_counts(operations, ("latency", "service")), "probe.latency")


def _histograms(operations: Sequence[str]) -> tuple[str, ...]:
    return (*operations, *_counts(operations, ("service",)), "probe")


def _upstream(operations: Sequence[str]) -> tuple[str, ...]:
    """What the harness reads from the output of an upstream ycsb, and from its /proc/<pid>/io."""
    return (
        *("operations", "throughput", _SECONDS),
        *(name for name in _SAMPLED if name.startswith("io.")),
        *_counts(operations, ("operations", "failed")),
        *_counts([f"{name}.latency" for name in operations], _STATISTICS),
    )


def _counts(names: Iterable[str], kinds: Sequence[str]) -> Iterator[str]:
    return (f"{name}.{kind}" for name in names for kind in kinds)
