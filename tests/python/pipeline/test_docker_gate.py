"""A gate whose arms are images; the engine in them is a shell script."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from docker import DockerClient
from fakes.containers import NAME, add_adapter, make_image
from fakes.noise import make_noise
from fakes.projects import make_project

from kvdyno import pipeline
from kvdyno.errors import UsageError
from kvdyno.model.project import Project
from kvdyno.pipeline.pairing import Pairing

pytestmark = pytest.mark.docker

SUITE = f"""\
title: A gate
engines: [{NAME}]
grid: {{workload: [a], dataset: [256MiB]}}
cap: 4GiB
repetitions: 12
gate:
  metrics: [{{metric: throughput, phase: measure}}]
  margin: 0.05
  budget: 10min
"""
UNCAPPED = pipeline.SweepSettings(uncapped=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """No engine is built in it."""
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    project = make_project(tmp_path)
    add_adapter(project)
    (project.root / "experiments" / "regress").mkdir()
    (project.root / "experiments" / "regress" / "one.yaml").write_text(SUITE)
    return project


def _prepared(project: Project, base: str, head: str, *, twins: bool = False) -> pipeline.Gate:
    request = pipeline.GateRequest(f"image:{base}", f"image:{head}", suite="one", twins=twins)
    return pipeline.prepare_gate(project, request, how=UNCAPPED, step=lambda text: None)


def test_two_images_are_two_engines_in_containers(project: Project, client: DockerClient) -> None:
    images = [make_image(client, source="elsewhere") for _ in range(2)]
    (point,) = _prepared(project, *images).points
    engines = [point.base.engine, point.head.engine]
    assert [each.image for each in engines] == images
    assert {each.runner for each in engines} == {"docker"}


def test_one_image_under_two_names_is_one_build(project: Project, client: DockerClient) -> None:
    image = make_image(client)
    client.images.get(image).tag("elsewhere/shell", "before")
    assert _prepared(project, image, "elsewhere/shell:before").points == ()


def test_an_image_that_is_not_here_is_named(project: Project, client: DockerClient) -> None:
    with pytest.raises(UsageError, match="expected an image of this machine") as raised:
        _prepared(project, make_image(client), "nowhere:latest")
    assert raised.value.where == "nowhere:latest"


def test_the_margin_is_that_of_twins_in_containers(project: Project, client: DockerClient) -> None:
    gate = _prepared(project, *(make_image(client, source="elsewhere") for _ in range(2)))
    noise = make_noise(NAME, "a", sd_log=0.2, phase="measure", runner="docker")
    (quiet,), (noisy,) = (Pairing(gate, noise={"docker": each}).verdicts() for each in (None, noise))
    loads = gate.whole.experiment.loads
    assert quiet.judged.margin == 0.05
    assert noisy.judged.margin == pytest.approx(math.expm1(0.4 / math.sqrt(loads)))
