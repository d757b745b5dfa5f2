"""Sweeps that measure nothing: records follow a response surface of options, so that tests know the truth."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fakes.engines import YCSB_PROPERTIES, describe, option
from fakes.projects import describing_script, make_driver

from kvdyno.errors import Interrupted
from kvdyno.model.axes import WORKLOAD
from kvdyno.model.engine import BuildIdentity, DriverIdentity, EngineIdentity
from kvdyno.model.experiment import Experiment
from kvdyno.model.point import Plan, Run
from kvdyno.model.project import Project
from kvdyno.model.record import (
    OUTCOME_SCHEMA,
    Environment,
    Failure,
    Metric,
    Outcome,
    PhaseOutcome,
    Record,
    RecordedPoint,
    RunnerFacts,
)
from kvdyno.model.results import Analysis, ReportPaths
from kvdyno.pipeline import SweepResult
from kvdyno.store.runs import _IDENTITY_DIGITS

ENGINE = "leveldb"
OPTIONS = (
    option(
        "write_buffer_size", "bytes", "4MiB", least=64 << 10, most=1 << 30, shapes_data=True, scales=True
    ).model_copy(update={"words": ("auto",)}),
    option("cache_size", "bytes", "8MiB", least=64 << 10, most=1 << 40, scales=True),
    option("mapped_files", "integer", "1000", least=0, most=1 << 20),
    option("filter_bits", "integer", "0", least=0, most=64, shapes_data=True),
)
TUNING = """\
memory: 0.6
options:
  write_buffer_size: {from: 64MiB, to: 1GiB, memory: 2}
  mapped_files: {values: [0, 1000]}
  cache_size: {from: 128MiB, to: 8GiB, memory: 1, only_if: {mapped_files: 0}}
  filter_bits: {from: 0, to: 20}
"""

#: The measured phase of the profile `quick` in a made project; a run of it takes ten seconds.
FULL_SECONDS = 3.0

#: From the properties of a run (options as "leveldb.<name>") and its workload to op/s; None: out of memory.
Surface = Callable[[Mapping[str, str], str], float | None]


def number(properties: Mapping[str, str], name: str, default: float) -> float:
    """An option's value, as the driver gets it."""
    return float(properties.get(f"{ENGINE}.{name}", default))


def add_engine(project: Project, *, tuning: str | None = TUNING) -> None:
    """An engine with OPTIONS, which only describes itself."""
    operations = ("read", "update", "insert")
    described = describe(ENGINE, options=OPTIONS, properties=YCSB_PROPERTIES)
    described = described.model_copy(
        update={
            "operations": operations,
            "phases": ("load", "settle", "build", "warmup", "measure", "drain", "run"),
        }
    )
    make_driver(project, ENGINE, script=describing_script(described))
    adapter = project.adapters / ENGINE
    adapter.mkdir(exist_ok=True)
    (adapter / "presets.yaml").write_text("default: {summary: as is}\n")
    if tuning:
        (adapter / "tuning.yaml").write_text(tuning)


@dataclass
class Simulation:
    """Stands for the pipeline's `sweep`. Records of a run are kept: asked again, it "measures" nothing.

    A shorter run takes less time and is noisier, as a mean over fewer operations is. `noise` is a full one's.
    `facts` are the environment's. `removed` are the snapshots that it was asked to remove.
    """

    surface: Surface
    noise: float = 0.01
    stop_after: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    sweeps: int = 0

    def __call__(
        self, project: Project, whole: Plan, *, unneeded: Collection[str] = (), **_how: Any
    ) -> SweepResult:
        """As `sweep`. Raises Interrupted once `stop_after` runs were measured."""
        self.sweeps += 1
        self.removed.update(unneeded)
        block = "|".join(sorted({_signature(run) for run in whole.runs}))
        found = []
        for order, run in enumerate(whole.runs, 1):
            key = f"{block} {run.point.identity} {run.repetition}"
            if key not in self.records:
                if self.stop_after is not None and len(self.records) >= self.stop_after:
                    raise Interrupted("stopped; what was finished is stored")
                record = self.records[key] = self._record(run, order, sweep=block)
                folder = f"{record.point.slug}-{record.point.identity[:_IDENTITY_DIGITS]}"
                (project.runs / folder / record.run_id).mkdir(parents=True, exist_ok=True)
            found.append(self.records[key])
        return SweepResult(plan=whole, records=tuple(found), measured=len(found), reused=0)

    def _record(self, run: Run, order: int, *, sweep: str) -> Record:
        length = float(run.point.properties.get("measure.seconds", FULL_SECONDS)) / FULL_SECONDS
        begun = dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=10 * length * order)
        mark = zlib.crc32(sweep.encode()) % 10**8
        rate = self.surface(run.point.properties, str(run.point.axes[WORKLOAD]))
        seed = [order, run.repetition, mark, zlib.crc32(_signature(run).encode())]
        rng = np.random.default_rng(seed)
        if rate is not None:
            rate *= float(np.exp(rng.normal(0, self.noise / length**0.5)))
        return Record(
            run_id=f"{run.name}-{mark}-{order}",
            sweep_id=f"20260101T000000-{mark:08d}",
            repetition=run.repetition,
            load=run.load,
            seed=run.seed,
            order=order,
            started_at=begun.isoformat(),
            ended_at=(begun + dt.timedelta(seconds=9 * length)).isoformat(),
            point=_recorded(run),
            runner=RunnerFacts(name="local", capped=True, cgroup="v2", cpus="0-1"),
            environment=Environment(host_id="host-1", facts=self.facts),
            status="out_of_memory" if rate is None else "ok",
            failure=Failure(reason="killed by the kernel at the cap") if rate is None else None,
            outcome=None if rate is None else _outcome(run, rate),
        )


def _signature(run: Run) -> str:
    """What a run is about. Identities hold the fake driver's bytes too, among them the checkout's path, and
    noise must be the same everywhere.
    """
    axes = {name: str(value) for name, value in run.point.axes.items()}
    return json.dumps([axes, dict(run.point.properties)], sort_keys=True)


def _recorded(run: Run) -> RecordedPoint:
    point = run.point
    return RecordedPoint(
        slug=point.slug,
        identity=point.identity,
        engine=point.engine.name,
        preset=point.preset,
        label=str(point.axes["engine"]),
        binary_sha256=point.engine.binary_sha256,
        axes=point.axes,
        properties=point.properties,
        phases=point.phases,
        dataset=point.dataset.identity if point.dataset else None,
        cap_bytes=point.cap_bytes,
    )


def _outcome(run: Run, rate: float) -> Outcome:
    metrics = {
        "throughput": Metric(value=rate, unit="op/s"),
        "read.latency.p99": Metric(value=4e9 / rate, unit="ns"),
        "memory.peak_rss": Metric(value=1e8, unit="byte"),
    }
    names = ("load", "settle", "build") if "load" in run.point.phases else ("measure", "drain", "run")
    return Outcome(
        schema_version=OUTCOME_SCHEMA,
        driver=DriverIdentity(name="ycsb", version="0.1.0"),
        engine=EngineIdentity(name=ENGINE, version="1.0", summary=""),
        build=BuildIdentity(compiler="none", flags="", type="Release"),
        status="ok",
        options={},
        properties={},
        phases=tuple(
            PhaseOutcome(
                name=name,
                covers=names[:2] if name == names[2] else (),
                started_at=0,
                seconds=1e5 / rate,
                metrics=metrics,
            )
            for name in names
        ),
    )


def no_report(_project: Project, _found: Analysis, experiment: Experiment, **_more: Any) -> ReportPaths:
    """Stands for the pipeline's `write_report`, whose figures take their time."""
    return ReportPaths(html=Path(f"/reports/{experiment.name}/report.html"))


class Silent:
    """An observer that looks away."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_arguments, **_words: None


@contextlib.contextmanager
def silent(_whole: Plan) -> Iterator[Any]:
    """A pipeline.Watch."""
    yield Silent()
