"""The laptop's cluster: submitit's local executor serves the same command, and leaves the same records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import make_checkout

from .conftest import SWEEP, Site
from .slurm import host_alone, missing

RUN = ("run", "hosts", "--runner", "slurm", "--cluster", "local", "--uncapped", "--repeat", "1", "--json")


@pytest.fixture
def laptop(tmp_path: Path) -> Site:
    """A machine whose locks no other sweep of this one holds."""
    if reason := missing(("unshare",)):
        pytest.skip(reason)
    checkout = make_checkout(tmp_path / "checkout")
    checkout.experiment("hosts", SWEEP)
    return Site(checkout, None, prefix=host_alone(tmp_path / "alone"))


def test_a_sweep_needs_no_slurm_on_a_laptop(laptop: Site) -> None:
    answer = laptop.command(*RUN)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["measured"] == 2
    assert {record["status"] for record in laptop.records()} == {"ok"}
    assert json.loads(laptop.command(*RUN).stdout)["reused"] == 2


def test_options_of_a_cluster_need_one(laptop: Site) -> None:
    alone = laptop.command("run", "hosts", "--hosts", "2")
    assert (alone.returncode, "need --runner slurm" in alone.stderr) == (2, True)
    option = laptop.command(*RUN, "--slurm", "partition=main")
    assert (option.returncode, "--slurm" in option.stderr) == (2, True)
    nothing = laptop.command("cancel", "none")
    assert (nothing.returncode, "no sweep 'none' was submitted" in nothing.stderr) == (2, True)


def test_an_excluded_host_takes_no_jobs(laptop: Site) -> None:
    assert laptop.command(*RUN).returncode == 0
    (status,) = json.loads(laptop.command("status", "--json").stdout)
    (host,) = status["hosts"]
    assert laptop.command("exclude", host, "--because", "slow disk").returncode == 0
    (status,) = json.loads(laptop.command("status", "--json").stdout)
    assert (status["stored"], status["hosts"], status["outliers"]) == (0, {}, [])
    (excluded,) = status["excluded"]
    assert (excluded["host_id"], excluded["because"], excluded["runs"]) == (host, "slow disk", 2)
    assert f"excluded: host {host} was excluded on" in laptop.command("status").stdout
    keys = [f"{r['point']['identity'][:12]}.r{r['repetition']}" for r in laptop.records()]
    for words in (RUN, ("run-point", "--sweep", status["sweep"], *keys)):
        refused = laptop.command(*words)
        assert refused.returncode == 5, refused.stderr
        assert f"this host {host} was excluded on" in refused.stderr
    assert len(laptop.records()) == 2
    assert laptop.command("exclude", host, "--undo").returncode == 0
    assert json.loads(laptop.command(*RUN).stdout)["reused"] == 2
