"""`make bench-hosts`: what a cluster costs, on a real Slurm of this machine, in results/cluster/sweeps.csv.

The same paced runs, which leave most of the CPUs idle, in four sweeps: here without Slurm, over one host, and over
four, whose makespan `kvdyno plan --hosts 4` simulates first. Hosts share this machine's processors, so the jobs' own
starts are slower than on hosts of their own.
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

from cli.conftest import REPOSITORY, make_checkout

from .conftest import KVDYNO, Site
from .slurm import TestCluster, missing, wait_for

REPETITIONS = 8
_HOSTS = ("host1", "host2", "host3", "host4")
_ROWS = REPOSITORY / "results" / "cluster" / "sweeps.csv"

_PROFILES = """\
quick:
  scale: 1/64
  repetitions: 2
  timeout: 1min
  phases:
    warmup: 0s
    measure: {seconds: 8s}
"""
_SWEEP = f"""\
title: Over hosts
engines: [memory, noop]
grid:
  workload: [a, c]
  dataset: [256MiB]
  target: [1000]
cap: 2GiB
repetitions: {REPETITIONS}
"""


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
        found = [_measure(cluster, folder, name, hosts) for name, hosts in _SWEEPS]
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    _write(found)
    return 0


_SWEEPS = (("local", 1), ("slurm", 1), ("slurm", 4), ("slurm", 4))


def _measure(cluster: TestCluster, folder: Path, runner: str, hosts: int) -> Sweep:
    site = _site(cluster, folder, f"{runner}-{hosts}-{time.time_ns()}")
    wait_for(cluster.ready, "idle hosts")
    over = _answer(site, "plan", "hosts", "--hosts", str(hosts))["over_hosts"] if runner == "slurm" else {}
    chosen = ("--runner", "slurm", "--hosts", str(hosts)) if runner == "slurm" else ()
    begin = time.monotonic()
    done = _answer(site, "run", "hosts", "--uncapped", *chosen)
    seconds = time.monotonic() - begin
    sweep = Sweep(runner, hosts, done["measured"], seconds, over.get("seconds"), over.get("low"), over.get("high"))
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
            told = ("" if value is None else f"{value:.1f}" for value in (each.simulated, each.low, each.high))
            overhead = each.hosts * each.seconds / each.runs - alone.seconds / alone.runs
            rows.writerow([each.runner, each.hosts, each.runs, f"{each.seconds:.1f}", *told, f"{overhead:.2f}"])


if __name__ == "__main__":
    sys.exit(main())
