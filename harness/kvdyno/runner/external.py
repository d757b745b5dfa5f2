"""Upstream YCSB-cpp binaries as drivers: called with their own flags, what they print becomes an outcome.

They know nothing of progress pipes and outcome files. Their latencies are in microseconds, from the call
(closed loop); counters of /proc/<pid>/io are sampled from outside and cover the whole process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kvdyno.model.point import Point
from kvdyno.model.record import Metric, Outcome, OutcomeError, PhaseOutcome

from .cage import Places
from .driver import LOG, PROPERTIES, ycsb_flags
from .watch import Ending

# Each binding has its own word for the store's folder; upstream ignores the words of the others.
_FOLDER_WORDS = ("dbname", "dbpath", "home")

_SUMMARY = re.compile(
    r"^(?P<phase>Load|Run) (?P<what>runtime|operations|throughput)\([a-z/]+\):\s*(?P<value>[0-9.eE+-]+)",
    re.MULTILINE,
)
_OPERATION = re.compile(r"\[(?P<name>[A-Z]+)(?P<failed>-FAILED)?:\s*(?P<fields>[^\]]*)\]")
_STATISTIC = re.compile(r"([A-Za-z0-9.]+)=([0-9.eE+-]+)")
_STATISTIC_NAMES = {"Max": "max", "Min": "min", "Avg": "mean"}
_PHASE_NAMES = {"Load": "load", "Run": "measure"}
# Nothing settles or drains: a span covers its first phase alone.
_SPANS = {"load": "build", "measure": "run"}
_IO_UNITS = {
    "rchar": "byte",
    "wchar": "byte",
    "syscr": "call",
    "syscw": "call",
    "read_bytes": "byte",
    "write_bytes": "byte",
    "cancelled_write_bytes": "byte",
}


class ExternalDriver:
    """An upstream `ycsb` binary; the engine's name is its binding's."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._binding = point.engine.description.engine.name
        self._io: Mapping[str, int] = {}
        self._started_at = time.time()

    def argv(self, places: Places) -> list[str]:
        """See Driver."""
        folders = [f"{self._binding}.{word}={places.store}" for word in _FOLDER_WORDS]
        return [
            str(self._point.engine.binary),
            *ycsb_flags(self._point.phases),
            *("-db", self._binding),
            *("-P", str(places.output / PROPERTIES)),
            *(word for folder in folders for word in ("-p", folder)),
            *("-threads", self._point.properties.get("threadcount", "1")),
            "-s",
        ]

    def tick(self, pids: Sequence[int]) -> None:
        """Keep the busiest process's counters: launchers beside it do next to nothing."""
        samples = [sample for pid in pids if (sample := read_io(pid))]
        self._io = max(
            [self._io, *samples], key=lambda sample: sample.get("wchar", 0) + sample.get("rchar", 0)
        )

    def collect(self, output: Path, *, ending: Ending) -> tuple[Outcome | None, str]:
        """See Driver."""
        text = (output / LOG).read_text("utf-8", errors="replace")
        phases = parse_phases(text, started_at=self._started_at, io=self._io)
        if not phases and ending.exit_status == 0:
            return None, "it printed no `throughput(ops/sec)` line"
        description = self._point.engine.description
        error = (
            None
            if ending.exit_status == 0
            else OutcomeError(code="failed", phase="", message=_last_line(text))
        )
        outcome = Outcome(
            schema_version="kvdyno.outcome/1",
            driver=description.driver,
            engine=description.engine,
            build=description.build,
            status="failed" if error else "ok",
            error=error,
            options={},
            properties=self._point.properties,
            phases=phases,
        )
        return outcome, ""


def parse_phases(text: str, *, started_at: float, io: Mapping[str, int]) -> tuple[PhaseOutcome, ...]:
    """The phases in a YCSB-cpp binary's output.

    An operation's statistics are the last ones printed before its phase's summary. `io` is the process's:
    it is given to a phase only if there is no other. Each phase is followed by its span.
    """
    summaries: dict[str, dict[str, float]] = {}
    operations: dict[str, dict[str, Metric]] = {}
    position = 0
    for match in _SUMMARY.finditer(text):
        phase = _PHASE_NAMES[match["phase"]]
        summaries.setdefault(phase, {})[match["what"]] = float(match["value"])
        operations.setdefault(phase, {}).update(_parse_operations(text[position : match.start()]))
        position = match.end()
    process = {f"io.{key}": Metric(value=io[key], unit=unit) for key, unit in _IO_UNITS.items() if key in io}
    phases: list[PhaseOutcome] = []
    for name, summary in summaries.items():
        seconds = summary.get("runtime", 0.0)
        metrics = {
            "operations": Metric(value=summary.get("operations", 0.0), unit="op"),
            "throughput": Metric(value=summary.get("throughput", 0.0), unit="op/s"),
            **operations[name],
            **(process if len(summaries) == 1 else {}),
        }
        outcome = PhaseOutcome(name=name, started_at=started_at, seconds=seconds, metrics=metrics)
        phases += [outcome, outcome.model_copy(update={"name": _SPANS[name], "covers": (name,)})]
        started_at += seconds
    return tuple(phases)


def _parse_operations(text: str) -> dict[str, Metric]:
    """The last statistics of each operation; upstream measures in microseconds."""
    metrics: dict[str, Metric] = {}
    for match in _OPERATION.finditer(text):
        name = match["name"].lower()
        # What follows a bar speaks of the last interval only.
        statistics = dict(_STATISTIC.findall(match["fields"].partition("|")[0]))
        count = Metric(value=float(statistics.pop("Count", 0)), unit="op")
        if match["failed"]:
            metrics[f"{name}.failed"] = count
            continue
        metrics[f"{name}.operations"] = count
        for word, value in statistics.items():
            statistic = _STATISTIC_NAMES.get(word, f"p{word}")
            metrics[f"{name}.latency.{statistic}"] = Metric(value=float(value) * 1000, unit="ns")
    return metrics


def read_io(pid: int) -> dict[str, int]:
    """The counters of /proc/<pid>/io; empty if the process has gone or is another user's."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"
