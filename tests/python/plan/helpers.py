"""From the text of an experiment to its plan, with fake engines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from fakes import engines
from fakes.projects import make_project

from kvdyno.model.engine import Engine
from kvdyno.model.point import Plan, Point
from kvdyno.plan import make_plan
from kvdyno.spec import load_experiment


def plan_of(text: str, *, profile: str = "quick", catalog: Mapping[str, Engine] | None = None) -> Plan:
    """The plan of that experiment file in a fresh checkout."""
    known = catalog or engines.catalog()
    with TemporaryDirectory() as folder:
        project = make_project(Path(folder) / "checkout", experiment=text)
        (project.root / "ycsb").write_text("#!/bin/sh\n")
        (project.root / "ycsb").chmod(0o755)
        experiment = load_experiment("test", project=project, catalog=known, profile=profile)
        return make_plan(experiment, catalog=known, project=project)


def point_of(text: str, *, profile: str = "quick", catalog: Mapping[str, Engine] | None = None) -> Point:
    """The first point of the plan."""
    return plan_of(text, profile=profile, catalog=catalog).points[0]
