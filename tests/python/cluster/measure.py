"""`make bench-hosts`: what a cluster costs, on a real Slurm of this machine, in results/cluster/sweeps.csv.

Paced runs, which leave most of the CPUs idle: a few here without Slurm and over one host, many over four,
twice. `kvdyno plan --hosts` simulates each makespan first. Hosts share this machine's processors, so jobs
start slower than on hosts of their own.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.conftest import PROFILES, REPOSITORY, make_checkout

from .conftest import Site
from .slurm import TestCluster, missing, wait_for

_HOSTS = ("host1", "host2", "host3", "host4")
_ROWS = REPOSITORY / "results" / "cluster" / "sweeps.csv"

_PROFILES = PROFILES.replace("measure: {operations: 640000}", "measure: {seconds: 15s}")
_SWEEP = """\
title: Over hosts
engines: [memory, noop]
grid:
  workload: [c]
  dataset: [256MiB]
  target: [1000]
cap: 2GiB
"""

#: Runner, hosts, repetitions of the two engines.
_SWEEPS = (("local", 1, 6), ("slurm", 1, 6), ("slurm", 4, 16), ("slurm", 4, 16))


@dataclass(frozen=True)
class Sweep:
    """How it ran, on how many hosts, its runs, and seconds: what it took, and what was simulated."""

    runner: str
    hosts: int
    runs: int
    seconds: float
    simulated: float | None = None
    low: float | None = None
    high: float | None = None


def main() -> int:
    """Measure, and write the table. Fails where Slurm cannot run."""
    if reason := missing():
        print(f"error: {reason}", file=sys.stderr)
        return 5
    folder = REPOSITORY / "build" / "cluster"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    cluster = TestCluster(folder / "slurm", folder / "data", names=_HOSTS)
    try:
        cluster.start()
        found = [_measure(cluster, folder, *sweep) for sweep in _SWEEPS]
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    _write(found)
    return 0


def _measure(cluster: TestCluster, folder: Path, runner: str, hosts: int, repeat: int) -> Sweep:
    site = _site(cluster, folder, f"{runner}-{hosts}-{time.time_ns()}")
    wait_for(cluster.ready, "idle hosts")
    asked = ("hosts", "--repeat", str(repeat))
    over, chosen = {}, ()
    if runner == "slurm":
        over = _answer(site, "plan", *asked, "--hosts", str(hosts))["over_hosts"]
        chosen = ("--runner", "slurm", "--hosts", str(hosts))
    begin = time.monotonic()
    done = _answer(site, "run", *asked, "--uncapped", *chosen)
    seconds = time.monotonic() - begin
    simulated = (over.get(key) for key in ("seconds", "low", "high"))
    sweep = Sweep(runner, hosts, done["measured"], seconds, *simulated)
    print(sweep, flush=True)
    return sweep


def _site(cluster: TestCluster, folder: Path, name: str) -> Site:
    """A fresh checkout: nothing is measured in it yet."""
    checkout = make_checkout(folder / name)
    (checkout.root / "experiments" / "profiles.yaml").write_text(_PROFILES)
    checkout.experiment("hosts", _SWEEP)
    data = cluster.data / name
    data.mkdir()
    for host in cluster.names:
        (cluster.folder / "hosts" / host / "data" / name).mkdir()
    return Site(checkout, cluster, {**cluster.environment, "KVDYNO_DATA": str(data)})


def _answer(site: Site, *words: str) -> Mapping[str, Any]:
    process = site.start(*words, "--json")
    out, err = process.communicate()
    if process.returncode:
        raise SystemExit(err)
    found: Mapping[str, Any] = json.loads(out)
    return found


def _write(found: Sequence[Sweep]) -> None:
    _ROWS.parent.mkdir(parents=True, exist_ok=True)
    with _ROWS.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["runner", "hosts", "runs", "seconds", "simulated", "low", "high", "overhead"])
        alone = found[0]
        for each in found:
            numbers = (each.seconds, each.simulated, each.low, each.high)
            cells = ("" if value is None else f"{value:.1f}" for value in numbers)
            overhead = each.hosts * each.seconds / each.runs - alone.seconds / alone.runs
            rows.writerow([each.runner, each.hosts, each.runs, *cells, f"{overhead:.2f}"])


if __name__ == "__main__":
    sys.exit(main())
