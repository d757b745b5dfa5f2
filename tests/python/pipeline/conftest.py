"""A project of the module's experiment, and a sweep that was submitted to hosts, without a scheduler."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fakes.drivers import build_fake
from fakes.projects import make_project

from kvdyno import pipeline
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.submission import Submission, run_key
from kvdyno.model.sweep import sweep_of
from kvdyno.pipeline import locking
from kvdyno.store import SweepStore

SWEEP_ID = "20260101T000000-0a0a0a0a"
EXPERIMENT = """\
title: A test
engines: [fakedb, {engine: fakedb, label: twin, twin_of: fakedb}]
grid:
  workload: [a, c]
  dataset: [256MiB]
cap: 2GiB
repetitions: 2
"""


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """With the experiment `test`: the module's EXPERIMENT, else the one above."""
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "lock",))
    project = make_project(tmp_path, experiment=getattr(request.module, "EXPERIMENT", EXPERIMENT))
    build_fake(project.binaries)
    return project


@pytest.fixture
def whole(project: Project) -> Plan:
    """Planned, and kept as submitted."""
    found = pipeline.make_plan(project, pipeline.Request(experiment="test"))[1]
    submission = Submission(
        cluster="slurm",
        experiment="test",
        profile="quick",
        runner="local",
        uncapped=True,
        data=str(project.data),
        jobs=1,
        keys=tuple(map(run_key, found.runs)),
    )
    SweepStore(project.sweeps).keep(sweep_of(found, sweep_id=SWEEP_ID, submission=submission))
    return found


def keys(whole: Plan) -> list[str]:
    return [run_key(run) for run in whole.runs]


def put_on_five_hosts(project: Project) -> None:
    """Each record becomes five, of hosts 000000000000 to 444444444444, the last of which is slower."""
    for path in list(project.runs.glob("*/*/record.json")):
        record = json.loads(path.read_text())
        for number in range(5):
            record["environment"]["host_id"] = f"{number}" * 12
            record["gauges"] = {"cpu.loop_ms": 9.0 if number == 4 else 5.0}
            record["run_id"] = record["run_id"][:-6] + f"abcde{number}"
            copy = path.parent.with_name(record["run_id"])
            shutil.copytree(path.parent, copy)
            (copy / "record.json").write_text(json.dumps(record))
        shutil.rmtree(path.parent)
