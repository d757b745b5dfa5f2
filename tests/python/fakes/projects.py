"""A checkout in a temporary folder: profiles, a few workloads and figure kinds, and what a test adds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kvdyno.model.engine import EngineDescription
from kvdyno.model.project import Project

PROFILES = """\
paper:
  scale: 1
  repetitions: 5
  timeout: 6h
  phases:
    warmup: 30s
    measure: {operations: 80e6}
quick:
  scale: 1/64
  repetitions: 3
  timeout: 5min
  phases:
    warmup: 500ms
    measure: {seconds: 3s}
"""

WORKLOADS = {
    "a": "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian\n",
    "c": "readproportion=1\nupdateproportion=0\n",
    "e100": "readproportion=0\nupdateproportion=0.05\nscanproportion=0.95\nmaxscanlength=100\n",
    "load": "doload=true\ndotransaction=false\n",
}

EXPERIMENT = """\
title: A test
engines: [rocksdb, leveldb]
grid:
  workload: [a]
  dataset: [64GiB]
  threads: [2]
"""


def make_project(root: Path, *, experiment: str = EXPERIMENT) -> Project:
    """The checkout, with `experiment` as experiments/test.yaml."""
    for name in ("experiments", "workloads", "plots", "build/bin", "engines/adapters"):
        (root / name).mkdir(parents=True)
    (root / "experiments" / "profiles.yaml").write_text(PROFILES)
    (root / "experiments" / "test.yaml").write_text(experiment)
    for name, text in WORKLOADS.items():
        (root / "workloads" / f"{name}.properties").write_text(text)
    (root / "plots" / "bars.py").write_text('TABLE = "estimates"\nOPTIONS = {"log": "flag"}\n')
    (root / "plots" / "style.py").write_text("def helper(): ...\n")
    return Project(root=root, results=root / "results", data=root / "data")


def make_driver(project: Project, name: str, *, script: str) -> Path:
    """An executable kvdyno-<name> that runs a Python script."""
    path = project.binaries / f"kvdyno-{name}"
    path.write_text(f"#!{sys.executable}\n{script}\n")
    path.chmod(0o755)
    return path


def describing_script(description: EngineDescription) -> str:
    """A script that answers --describe."""
    document = description.model_dump(mode="json", exclude_none=True)
    return f"import sys\nassert sys.argv[1:] == ['--describe']\nprint({json.dumps(document)!r})"
