"""Runs and records for the store's tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.engines import engine

from kvdyno.model.point import Point, Run
from kvdyno.model.record import (
    OUTCOME_SCHEMA,
    BuildIdentity,
    DriverIdentity,
    EngineIdentity,
    Environment,
    Failure,
    Metric,
    Outcome,
    PhaseOutcome,
    Record,
    RecordedPoint,
    RunnerFacts,
)
from kvdyno.store import RunStore

MakeRecord = Callable[..., Record]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def make_run(slug: str = "rocksdb.A", *, identity: str = "a" * 64, repetition: int = 1) -> Run:
    point = Point(
        slug=slug,
        identity=identity,
        engine=engine("rocksdb"),
        preset="default",
        axes={"engine": "rocksdb", "preset": "default", "threads": 2},
        properties={"operationcount": "10"},
        phases=("measure",),
        dataset=None,
        cap_bytes=64 << 20,
        timeout_seconds=1,
        expected_seconds=1,
        expected_disk_bytes=1,
    )
    return Run(point, repetition)


def make_record(run_dir: Path, run: Run, *, started: int = 0, host: str = "here", ok: bool = True) -> Record:
    point = run.point
    throughput = Metric(value=1000.5, unit="op/s")
    phase = PhaseOutcome(name="measure", started_at=1, seconds=2, metrics={"throughput": throughput})
    outcome = Outcome(
        schema_version=OUTCOME_SCHEMA,
        driver=DriverIdentity(name="ycsb", version="1"),
        engine=EngineIdentity(name="rocksdb", version="1", summary=""),
        build=BuildIdentity(compiler="none", flags="", type="none"),
        status="ok",
        options={},
        properties={},
        phases=(phase,),
    )
    return Record(
        run_id=run_dir.name,
        sweep_id="sweep",
        repetition=run.repetition,
        order=0,
        started_at=f"2024-01-01T00:00:{started:02}Z",
        ended_at=f"2024-01-01T00:01:{started:02}Z",
        point=RecordedPoint(
            slug=point.slug,
            identity=point.identity,
            engine=point.engine.name,
            preset=point.preset,
            label="rocksdb",
            binary_sha256=point.engine.binary_sha256,
            axes=point.axes,
            properties=point.properties,
            phases=point.phases,
            dataset=None,
            cap_bytes=point.cap_bytes,
        ),
        runner=RunnerFacts(name="local", capped=True, cgroup="", cpus="0"),
        environment=Environment(host_id=host, facts={}),
        status="ok" if ok else "crash",
        failure=None if ok else Failure(reason="SIGSEGV"),
        outcome=outcome if ok else None,
    )


@pytest.fixture
def keep(store: RunStore) -> MakeRecord:
    """Begin a run and commit its record."""

    def begin_and_commit(run: Run | None = None, **details: object) -> Record:
        run = run or make_run()
        run_dir = store.begin(run)
        record = make_record(run_dir, run, **details)  # type: ignore[arg-type]
        store.commit(record, run_dir=run_dir)
        return record

    return begin_and_commit
