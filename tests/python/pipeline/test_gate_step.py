"""A gate on a host whose gauge steps within a pair: the pair is not compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.paced import SUITE, build_paced
from fakes.projects import make_project

from bench_gate import measure
from kvdyno import pipeline
from kvdyno.builds import Step
from kvdyno.model.project import Project
from kvdyno.pipeline import locking, why

from .test_sweep import UNCAPPED, Diary

REPETITIONS = 12


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, pipeline.Gate]:
    """Every second pair differs by 30 %, so that no number of pairs decides."""
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "lock",))
    project = make_project(tmp_path)
    build_paced(project.binaries)
    (project.experiments / "regress").mkdir()
    (project.experiments / "regress" / "one.yaml").write_text(SUITE)
    request = pipeline.GateRequest("paced", "paced:jitter=0.3", suite="one")
    step = Step(say=lambda line: None, progress=lambda *_: None)
    return project, pipeline.prepare_gate(project, request, how=UNCAPPED, step=step)


def step_before(project: Project, number: int) -> None:
    """The CPU's gauge steps before the run of that number, counted from 1; all runs get a counter."""
    paths = [path for path in project.runs.glob("*/*/record.json") if ".load-" not in str(path)]
    found = [(json.loads(path.read_text()), path) for path in paths]
    runs = sorted(found, key=lambda each: str(each[0]["started_at"]))
    assert len(runs) == 2 * REPETITIONS
    for place, (record, path) in enumerate(runs, 1):
        level = (5.0 if place < number else 9.0) * (1 + place % 3 / 1000)
        for phase in record["outcome"]["phases"]:
            phase["metrics"]["engine.calls"] = {"value": place, "unit": "call"}
        path.write_text(json.dumps(record | {"gauges": {"cpu.loop_ms": level}}))


def pairs(found: pipeline.GateResult) -> dict[str, int]:
    return {each.metric: each.judged.n for each in found.verdicts}


def test_a_pair_that_a_step_of_the_host_split_is_not_compared(gate: tuple[Project, pipeline.Gate]) -> None:
    project, prepared = gate
    first = pipeline.run_gate(project, prepared, how=UNCAPPED, observer=Diary())
    assert (first.measured, first.stopped) == (2 * REPETITIONS, "pairs")

    step_before(project, 11)
    between = pipeline.run_gate(project, prepared, how=UNCAPPED, observer=Diary())
    assert (between.pairs, between.split, between.left_aside) == (REPETITIONS, frozenset(), ())

    step_before(project, 12)
    within = pipeline.run_gate(project, prepared, how=UNCAPPED, observer=Diary())
    (point,) = prepared.points
    assert (within.measured, within.stopped) == (0, "pairs")
    assert (within.pairs, within.split) == (REPETITIONS - 1, frozenset({(point.name, 6)}))
    assert pairs(within) == {"throughput": REPETITIONS - 1, "read.not_found": REPETITIONS}
    (aside,) = within.left_aside
    assert (aside.pairs, aside.why) == (1, "a gauge of this host stepped between its runs")

    counters = why._pairs(within, point, phase="measure")
    assert len(counters["engine.calls", "call/op"]) == REPETITIONS - 1
    measured = {row["repetition"] for row in measure._pairs(within, gate=1)}
    assert measured == set(range(1, REPETITIONS + 1)) - {6}
