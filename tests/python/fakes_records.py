"""A finished sweep made up from a seed: plan, records, series and histograms of plausible sizes.

Numbers follow a simple model (a base rate per engine and workload that falls with the dataset, log-normal
noise, a disturbance that both engines of a repetition share), so that tests know the true ratios.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

from kvdyno.model.engine import (
    BuildIdentity,
    DriverIdentity,
    Engine,
    EngineDescription,
    EngineIdentity,
    OptionDescription,
    Preset,
)
from kvdyno.model.experiment import (
    ClaimSpec,
    EngineChoice,
    Experiment,
    FigureSpec,
    Phases,
    Profile,
    TableSpec,
)
from kvdyno.model.point import Plan, Point, Run
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
    RunStatus,
    SeriesFile,
)

MIB = 1 << 20
CAP = 256 * MIB
ENGINES = ("rocksdb", "leveldb")
LABELS = {"rocksdb": "RocksDB", "leveldb": "LevelDB"}
WORKLOADS: Mapping[str, tuple[float, float]] = {  # rate of RocksDB, of LevelDB at a quarter of the cap
    "P": (50e3, 66e3),
    "A": (76e3, 129e3),
    "C": (140e3, 300e3),
    "E100": (16e3, 26e3),
}
SIZES = (64 * MIB, 256 * MIB, 1024 * MIB)
SCALE = 1 / 64
#: How the runs of (engine, workload, dataset, repetition) ended, where not well.
Losses = Mapping[tuple[str, str, int, int], RunStatus]
_START = 1_790_000_000


@dataclass(frozen=True)
class Sweep:
    """Everything that the analysis is given."""

    experiment: Experiment
    plan: Plan
    records: tuple[Record, ...]
    run_dirs: Mapping[str, Path]


@dataclass(frozen=True)
class Fake:
    """What to make up. `statuses` maps (engine, workload, dataset, repetition) to how that run ended."""

    folder: Path
    repetitions: int = 5
    workloads: tuple[str, ...] = tuple(WORKLOADS)
    sizes: tuple[int, ...] = SIZES
    noise: float = 0.04
    seconds: int = 40
    seed: int = 7
    files: bool = True
    statuses: Losses = field(default_factory=dict)


def fake_sweep(fake: Fake) -> Sweep:
    """The sweep, its files written under `fake.folder`."""
    rng = np.random.default_rng(fake.seed)
    experiment = _experiment(fake)
    points = [_point(e, w, s) for w in fake.workloads for s in fake.sizes for e in ENGINES]
    runs = [Run(p, r) for r in range(1, fake.repetitions + 1) for p in points]
    records, folders = [], {}
    shared: dict[tuple[object, ...], float] = {}
    for order, run in enumerate(runs):
        key = (run.repetition, run.point.axes["workload"], run.point.axes["dataset"])
        disturbance = shared.setdefault(key, float(rng.normal(0, 2 * fake.noise)))
        record = _record(run, order, fake, rng, disturbance)
        records.append(record)
        folders[record.run_id] = fake.folder / record.run_id
    return Sweep(experiment, Plan(experiment, tuple(points), tuple(runs)), tuple(records), folders)


def with_step(
    sweep: Sweep, *, at: int, gauge: str = "cpu.loop_ms", before: float = 5.0, after: float = 5.75
) -> Sweep:
    """The sweep with a gauge before each run that steps from the run at this place on, with noise of 1 %."""
    rng = np.random.default_rng(sweep.plan.experiment.repetitions)
    records = [
        record.model_copy(
            update={"gauges": {gauge: (after if place >= at else before) * rng.lognormal(0, 0.01)}}
        )
        for place, record in enumerate(sweep.records)
    ]
    return replace(sweep, records=tuple(records))


def true_rate(engine: str, workload: str, size: int) -> float:
    """The rate before noise: it falls with the cube root (RocksDB) or faster (LevelDB) of the data."""
    growth = size / SIZES[0]
    base = WORKLOADS[workload][ENGINES.index(engine)]
    return float(base * growth ** (-0.25 if engine == "rocksdb" else -0.6))


def metrics(rate: float, seconds: float, workload: str, rng: np.random.Generator) -> dict[str, Metric]:
    """A phase's metrics, as the ycsb driver names them."""
    operations = rate * seconds
    written = operations * 814 * {"P": 1.0, "A": 0.5}.get(workload, 0.0)
    read = operations * 814 * {"P": 0.0, "A": 0.5, "C": 1.0}.get(workload, 50.0)
    found = {
        "operations": Metric(value=operations, unit="op"),
        "throughput": Metric(value=rate, unit="op/s"),
        "bytes.written": Metric(value=written, unit="byte"),
        "bytes.read": Metric(value=read, unit="byte"),
        "cpu.per_operation": Metric(value=1.4e9 / rate * rng.lognormal(0, 0.03), unit="ns/op"),
        "memory.peak_rss": Metric(value=150 * MIB * rng.lognormal(0, 0.02), unit="byte"),
        "cgroup.memory.anonymous": Metric(value=110 * MIB * rng.lognormal(0, 0.02), unit="byte"),
        "cgroup.memory.page_cache": Metric(value=90 * MIB * rng.lognormal(0, 0.02), unit="byte"),
        "faults.major": Metric(value=0, unit="count"),
    }
    for name in _operations(workload):
        for level, factor in (("p50", 0.8), ("p99", 4.0), ("p99.9", 12.0)):
            value = 2e9 / rate * factor * rng.lognormal(0, 0.05)
            found[f"{name}.latency.{level}"] = Metric(value=value, unit="ns")
    if written:
        found["write_amplification.net"] = Metric(value=2.1 * rng.lognormal(0, 0.05), unit="ratio")
        found["write_amplification.gross"] = Metric(value=2.6 * rng.lognormal(0, 0.05), unit="ratio")
    if read:
        found["read_amplification.disk"] = Metric(value=1.9 * rng.lognormal(0, 0.05), unit="ratio")
        found["read_amplification.calls"] = Metric(value=2.9 * rng.lognormal(0, 0.05), unit="call/op")
    return found


def _operations(workload: str) -> tuple[str, ...]:
    return {"P": ("update",), "A": ("read", "update"), "C": ("read",)}.get(workload, ("scan", "insert"))


def _experiment(fake: Fake) -> Experiment:
    paper = tuple(round(size / SCALE) for size in fake.sizes)
    return Experiment(
        name="quickstart",
        title="Quick start: two stock engines",
        description="Put-only, mixed, get-only and scans under one memory cap.",
        path=Path("experiments/quickstart.yaml"),
        profile=Profile(name="small", scale=SCALE, summary="1/64 of the paper's sizes"),
        engines=tuple(EngineChoice(engine=e, label=LABELS[e]) for e in ENGINES),
        grid={"workload": fake.workloads, "dataset": paper},
        cap_bytes=round(CAP / SCALE),
        repetitions=fake.repetitions,
        phases=Phases(warmup_seconds=5, measure_seconds=fake.seconds),
        baseline="rocksdb",
        figures=(
            FigureSpec(id="throughput", kind="lines", title="Throughput", x="dataset", panels=("workload",)),
            FigureSpec(id="bars", kind="bars", title="Throughput at four times the cap", x="workload",
                       where={"dataset": (paper[-1],)}),
            FigureSpec(id="tail", kind="percentiles", title="Read latency", metric="read.latency",
                       phase="measure", panels=("dataset",), where={"workload": ("A",)}),
            FigureSpec(id="over-time", kind="timeseries", title="Throughput over time", metric="throughput",
                       phase="measure", panels=("workload",), where={"dataset": (paper[-1],)}),
            FigureSpec(id="memory", kind="stacked", title="Memory at the end", x="workload", phase="measure",
                       where={"dataset": (paper[-1],)},
                       options={"metrics": ["cgroup.memory.anonymous", "cgroup.memory.page_cache"]}),
        ),
        tables=(
            TableSpec(id="throughput", title="Throughput", rows=("workload", "engine"), columns=("dataset",)),
            TableSpec(id="ratio", title="Throughput over RocksDB", rows=("workload",), columns=("dataset",),
                      ratio_to="rocksdb"),
        ),
        claims=(
            ClaimSpec(id="C-small", text="LevelDB reads at least 1.5x faster while data fits",
                      engine="leveldb", relative_to="rocksdb", at_least=1.5,
                      where={"workload": ("C",), "dataset": (paper[0],)}),
            ClaimSpec(id="P-always", text="LevelDB writes faster at every size", source="made up",
                      engine="leveldb", relative_to="rocksdb", at_least=1.0, where={"workload": ("P",)}),
            ClaimSpec(id="A-middle", text="A is 4 to 5 % faster when data is as large as the cap",
                      engine="leveldb", relative_to="rocksdb", at_least=1.04, at_most=1.05,
                      where={"workload": ("A",), "dataset": paper[1:2]}),
            ClaimSpec(id="B", text="B is very close to C", engine="leveldb", at_least=1,
                      where={"workload": ("B",)}),
        ),
    )  # fmt: skip


def engine(name: str) -> Engine:
    """A built engine with nothing behind it."""
    return Engine(
        name=name,
        binary=Path("/nonexistent") / name,
        binary_sha256=f"{name:f<64}",
        description=EngineDescription(
            schema_version="kvdyno.describe/1",
            driver=DriverIdentity(name="ycsb", version="0.1.0"),
            engine=_identity(name),
            build=_BUILD,
            options=(),
            properties=tuple(
                OptionDescription(name=name, type="integer", default="0", effect="")
                for name in ("recordcount", "operationcount")
            ),
            phases=("load", "settle", "warmup", "measure", "drain"),
        ),
        presets={"default": Preset()},
    )


_BUILD = BuildIdentity(compiler="g++ 12.2.0", flags="-O2", type="Release")


def _identity(name: str) -> EngineIdentity:
    caveats = ("software crc32c",) if name == "leveldb" else ()
    version = {"rocksdb": "7.8.3", "leveldb": "1.23"}[name]
    return EngineIdentity(
        name=name, version=version, summary=f"{name} as Debian packages it", caveats=caveats
    )


def _point(name: str, workload: str, size: int) -> Point:
    slug = f"{name}-{workload}-{size // MIB}MiB"
    return Point(
        slug=slug,
        identity=f"id-{slug}",
        engine=engine(name),
        preset="default",
        axes={"engine": LABELS[name], "preset": "default", "workload": workload, "dataset": size},
        properties={"recordcount": str(size // 814)},
        phases=("load", "settle", "warmup", "measure", "drain"),
        dataset=None,
        cap_bytes=CAP,
        timeout_seconds=600,
        expected_seconds=60,
        expected_disk_bytes=2 * size,
    )


def _record(run: Run, order: int, fake: Fake, rng: np.random.Generator, disturbance: float) -> Record:
    axes = run.point.axes
    name, workload, size = run.point.engine.name, str(axes["workload"]), int(axes["dataset"])
    status = fake.statuses.get((name, workload, size, run.repetition), "ok")
    rate = true_rate(name, workload, size) * math.exp(disturbance + rng.normal(0, fake.noise))
    started = _START + 60 * order
    outcome = _outcome(run, rate, fake, rng, workload) if status == "ok" else None
    if outcome and fake.files:
        _write_files(fake.folder / run.name, rate, fake, rng, workload)
    return Record(
        run_id=run.name,
        sweep_id="sweep-1",
        repetition=run.repetition,
        order=order,
        started_at=_time(started),
        ended_at=_time(started + 55),
        point=RecordedPoint(
            slug=run.point.slug,
            identity=run.point.identity,
            engine=name,
            preset="default",
            label=LABELS[name],
            binary_sha256=run.point.engine.binary_sha256,
            axes=axes,
            properties=run.point.properties,
            phases=run.point.phases,
            dataset=None,
            cap_bytes=CAP,
        ),
        runner=RunnerFacts(name="local", capped=True, cgroup="v2", cpus="0-1", details={"swap": "0 B"}),
        environment=Environment(host_id="host-5d2c", facts=_FACTS),
        status=status,
        failure=None
        if status == "ok"
        else _FAILURES.get(status, Failure(reason=f"the run ended in {status}")),
        outcome=outcome,
    )


_FACTS = {
    "kernel": "6.1.0-28-amd64",
    "cpu": {"model": "Xeon at 2.60 GHz", "cores": 2, "governor": None},
    "memory_bytes": 8 << 30,
    "disk": {"device": "vda", "file_system": "ext4", "read_ahead_kb": 128},
}
_FAILURES = {
    "out_of_memory": Failure(
        reason="killed by the kernel at the cap of 256 MiB",
        signal="SIGKILL",
        log_tail="load: 812,000 of 1,318,000\nload: 824,000 of 1,318,000\n",
    ),
    "timeout": Failure(reason="no end after 600 s", signal="SIGKILL"),
}


def _outcome(run: Run, rate: float, fake: Fake, rng: np.random.Generator, workload: str) -> Outcome:
    phases = [
        PhaseOutcome(
            name=name, covers=covers, started_at=_START, seconds=length,
            metrics=metrics(rate * fraction, length, workload, rng),
        )
        for name, covers, length, fraction in (
            ("measure", (), fake.seconds, 1.0),
            ("drain", (), 2.0, 0.01),
            ("run", ("measure", "drain"), fake.seconds + 2.0, fake.seconds / (fake.seconds + 2.0)),
        )
    ]  # fmt: skip
    series = SeriesFile(
        file="series.csv",
        interval_seconds=1.0,
        columns={"throughput": "op/s", "latency.p99": "ns", "memory.rss": "byte"},
    )
    return Outcome(
        schema_version=OUTCOME_SCHEMA,
        driver=DriverIdentity(name="ycsb", version="0.1.0"),
        engine=_identity(run.point.engine.name),
        build=_BUILD,
        status="ok",
        options={"write_buffer_size": "1048576"},
        properties=run.point.properties,
        phases=tuple(phases),
        series=series if fake.files else None,
        histograms="latency.hlog" if fake.files else None,
        events="events.csv" if fake.files else None,
    )


def _write_files(folder: Path, rate: float, fake: Fake, rng: np.random.Generator, workload: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["phase,elapsed,throughput,latency.p99,memory.rss"]
    for second in range(1, fake.seconds + 1):
        stall = 0.55 if second in (13, 26) else 1.0
        now = rate * stall * rng.lognormal(0, 0.05)
        lines.append(f"measure,{second},{now:.1f},{8e9 / now:.0f},{150 * MIB + second * 4096}")
    lines.append("drain,41,,,")
    (folder / "series.csv").write_text("\n".join(lines) + "\n")
    (folder / "events.csv").write_text(
        "phase,begin,duration,ended,kind,state,cause,detail\n"
        "measure,26.25,0.75,1,stall,stop,level0,level0_files=36\n"
        "measure,13.5,0.25,1,stall,delay,pending,\n"
        "drain,40.5,2.5,0,compaction,,level_size,from=1 to=2\n"
    )
    logged = {
        f"measure.{name}": histogram(rng.lognormal(math.log(1.6e9 / rate), 0.7, size=4000))
        for name in _operations(workload)
    }
    write_log(folder / "latency.hlog", logged)


def histogram(values: np.ndarray) -> HdrHistogram:
    """A histogram of latencies in ns."""
    found = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        found.record_value(int(value))
    return found


def write_log(path: Path, histograms: Mapping[str, HdrHistogram]) -> None:
    """A histogram log as the driver writes it."""
    lines = ["#[Histogram log format version 1.3]"]
    for tag, one in histograms.items():
        payload = one.encode().decode()
        lines.append(f"Tag={tag},{_START}.000,40.000,{one.get_max_value() / 1e6:.3f},{payload}")
    path.write_text("\n".join(lines) + "\n")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
