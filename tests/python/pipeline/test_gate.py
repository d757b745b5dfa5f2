"""`pipeline.prepare_gate` where no engine is built in the checkout; what is in images is given."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.engines import engine
from fakes.projects import make_project

from kvdyno import catalog, pipeline, profiling
from kvdyno.builds import Step
from kvdyno.errors import EngineError, UsageError
from kvdyno.host import image_build
from kvdyno.model.engine import Engine
from kvdyno.model.point import Point
from kvdyno.model.project import Project
from kvdyno.pipeline import instructions, regress
from kvdyno.pipeline.instructions import count_instructions
from kvdyno.pipeline.pairing import Pairing

from .test_sweep import UNCAPPED, Diary

SUITE = """\
title: A gate
engines: [boxed]
grid: {workload: [a], dataset: [256MiB]}
cap: 4GiB
repetitions: 12
gate:
  metrics: [{metric: throughput, phase: measure}]
  margin: 0.05
  budget: 10min
"""
IMAGES = {name: f"sha256:{digit * 64}" for name, digit in (("before", "1"), ("after", "2"))}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    made = make_project(tmp_path)
    (made.adapters / "boxed").mkdir()
    (made.adapters / "boxed" / "CMakeLists.txt").touch()
    (made.experiments / "regress").mkdir()
    (made.experiments / "regress" / "one.yaml").write_text(SUITE)

    def boxed(_: Project, reference: str) -> Engine:
        image = IMAGES[reference]
        return replace(engine("boxed"), image=image, binary_sha256=image.removeprefix("sha256:"))

    monkeypatch.setattr(catalog, "engine_of_image", boxed)
    return made


def prepared(project: Project, base: str, head: str) -> pipeline.Gate:
    step = Step(say=lambda _: None, progress=lambda *_: None)
    return pipeline.prepare_gate(
        project, pipeline.GateRequest(base, head, suite="one"), how=UNCAPPED, step=step
    )


def test_images_are_compared_where_no_engine_is_built(project: Project) -> None:
    gate = prepared(project, "image:before", "image:after")
    (point,) = gate.points
    assert [arm.engine.image for arm in (point.base, point.head)] == list(IMAGES.values())
    assert prepared(project, "image:before", "image:before").points == ()


def test_an_engine_that_is_not_built_is_named_beside_an_image(project: Project) -> None:
    with pytest.raises(EngineError, match="engine 'boxed' is not built") as raised:
        prepared(project, "image:before", "boxed")
    assert "make build" in str(raised.value.remedy)
    with pytest.raises(UsageError, match="did you mean 'boxed'"):
        prepared(project, "image:before", "boxd")


SIZES = {IMAGES["before"]: 1000, IMAGES["after"]: 1100}


def test_sizes_of_builds_in_images_are_compared_and_instructions_are_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_build, "image_bytes", lambda image, _: SIZES[image])
    suite = project.experiments / "regress" / "one.yaml"
    suite.write_text(
        SUITE.replace("phase: measure}", "phase: measure}, binary.size, instructions.per_operation")
    )
    gate = prepared(project, "image:before", "image:after")
    assert count_instructions(project, gate) == {}
    verdicts = Pairing(gate, noise={"docker": None}).verdicts()
    (size,) = [each for each in verdicts if each.metric == "binary.size"]
    assert (size.judged.call, size.regression) == ("higher", True)
    assert all(each.metric != "instructions.per_operation" for each in verdicts)


def test_a_suite_of_instructions_alone_does_not_pass_images(project: Project) -> None:
    suite = project.experiments / "regress" / "one.yaml"
    suite.write_text(SUITE.replace("{metric: throughput, phase: measure}", "instructions.per_operation"))
    (verdict,) = Pairing(prepared(project, "image:before", "image:after"), noise={}).verdicts()
    assert (verdict.point, verdict.undecided) == ("every point", True)


COUNTED = "{metric: instructions.per_operation, margin: 0.02}"


def test_one_count_that_lies_apart_is_no_regression(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = _counting(project, COUNTED)
    (point,) = gate.points
    head = chain([1047.0], repeat(1000.0))

    def counted(_: Project, counted_point: Point) -> SimpleNamespace:
        return SimpleNamespace(total=next(head) if counted_point is point.head else 1000.0)

    monkeypatch.setattr(profiling, "available", lambda: True)
    monkeypatch.setattr(instructions, "count_calls", counted)
    pairs = count_instructions(project, gate)[point.name]
    (verdict,) = Pairing(gate, noise={"host": None}, instructions={point.name: pairs}).verdicts()
    assert (len(pairs) > 1, verdict.regression) == (True, False)


def test_counting_is_outside_the_budget(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = _counting(project, f"{{metric: throughput, phase: measure}}, {COUNTED}")
    now = [0.0]

    def counted(_: Project, __: Point) -> SimpleNamespace:
        now[0] += gate.spec.budget_seconds
        return SimpleNamespace(total=1000.0)

    class FirstPairError(Exception):
        pass

    def sweep(*_: object, **__: object) -> None:
        raise FirstPairError

    monkeypatch.setattr(profiling, "available", lambda: True)
    monkeypatch.setattr(instructions, "count_calls", counted)
    monkeypatch.setattr(regress, "sweep", sweep)
    with pytest.raises(FirstPairError):
        pipeline.run_gate(project, gate, how=UNCAPPED, observer=Diary(), clock=lambda: now[0])
    assert now[0] > gate.spec.budget_seconds


def _counting(project: Project, metrics: str) -> pipeline.Gate:
    """The suite with these metrics in place of its own. No arm is an image, which is not counted."""
    suite = project.experiments / "regress" / "one.yaml"
    suite.write_text(SUITE.replace("{metric: throughput, phase: measure}", metrics))
    gate = prepared(project, "image:before", "image:after")
    points = [replace(each, base=_local(each.base), head=_local(each.head)) for each in gate.points]
    return replace(gate, points=tuple(points))


def _local(point: Point) -> Point:
    """The point with an engine outside images."""
    return replace(point, engine=replace(point.engine, image=None))
