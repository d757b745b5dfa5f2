"""A checkout whose sweeps go to a Slurm that the tests start and stop."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import PROFILES, Checkout, make_checkout
from pydantic_core import from_json

from kvdyno import pipeline
from kvdyno.model.project import Project

from .slurm import TestCluster, missing, running

KVDYNO = Path(sys.executable).with_name("kvdyno")

#: Runs that take a second, so that there is time to kill a host.
_PROFILES = PROFILES.replace("measure: {operations: 640000}", "measure: {seconds: 500ms}")

SWEEP = """\
title: Over hosts
engines: [memory, noop]
grid:
  workload: [c]
  dataset: [256MiB]
cap: 2GiB
repetitions: 3
"""


@dataclass(frozen=True)
class Site:
    """A checkout, and the cluster (or, without one, this machine) that its sweeps go to."""

    checkout: Checkout
    cluster: TestCluster | None
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: Sequence[str] = ()
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self.prefix, str(KVDYNO), *words],
            cwd=self.checkout.root,
            env={**os.environ, **self.checkout._environment(), **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    @property
    def data(self) -> Path:
        """The data folder, on every host its own."""
        return Path(self.environment["KVDYNO_DATA"])

    def on(self, host: str, sweep: str) -> subprocess.Popen[str]:
        """All runs of a submitted sweep on that host, before any that Slurm holds back."""
        results = self.checkout.root / "results"
        kept = from_json((results / "sweeps" / f"{sweep}.json").read_bytes())
        places = ("--sweep", sweep, "--results", str(results), "--data", str(self.data))
        site = replace(self, prefix=("srun", "-p", "urgent", "-w", host, "--cpu-bind=none"))
        return site.start("run-point", *places, *kept["submission"]["keys"])

    def records(self) -> list[dict[str, Any]]:
        """All that were delivered, loads left out."""
        found = [from_json(path.read_bytes()) for path in self.checkout.records()]
        return [record for record in found if not record["point"]["slug"].endswith(".load")]

    def chosen(self) -> list[dict[str, Any]]:
        """Those that a report takes."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KVDYNO_BUILD", str(self.checkout.root / "build"))
            here = Project.find(start=self.checkout.root)
            request = pipeline.Request(experiment="hosts", runner="local")
            found = pipeline.find_recorded(here, request, runner=None, builds_of=None, uncapped=True)
        return [record.model_dump(mode="json") for record in found.records.values()]

    def loads(self) -> list[dict[str, Any]]:
        found = [from_json(path.read_bytes()) for path in self.checkout.records()]
        return [record for record in found if record["point"]["slug"].endswith(".load")]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """Slurm with two hosts, which have folders of their own where the checkouts' data goes."""
    if os.environ.get("KVDYNO_TEST_SLURM") != "1":
        pytest.skip("starts Slurm on this machine: set KVDYNO_TEST_SLURM=1")
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    with running(folder / "cluster", data=folder / "data") as started:
        yield started


@pytest.fixture
def site(cluster: TestCluster, tmp_path: Path) -> Iterator[Site]:
    checkout = make_checkout(tmp_path / "checkout")
    (checkout.root / "experiments" / "profiles.yaml").write_text(_PROFILES)
    checkout.experiment("hosts", SWEEP)
    data = cluster.data / tmp_path.name
    for name in cluster.names:
        (cluster.folder / "hosts" / name / "data" / tmp_path.name).mkdir()
    data.mkdir()
    found = Site(checkout, cluster, {**cluster.environment, "KVDYNO_DATA": str(data)})
    yield found
    cluster.ask("scancel", "-u", "root")
    for process in found.started:
        if process.poll() is None:  # the test failed
            process.kill()
            process.communicate()
