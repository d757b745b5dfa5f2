"""What goes wrong on the hosts of a real Slurm: each failure loses no record, and no run counts twice."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .conftest import Site
from .slurm import TestCluster, wait_for
from .test_slurm import RUN, host_of, running_below, the_sweep

ARMS = ["memory", "noop"]


def kernel_of(record: dict[str, Any]) -> str:
    return record["environment"]["facts"]["os.kernel"]


def demand_each_once(records: Sequence[dict[str, Any]], *, repetitions: int) -> None:
    """One record of each run; the arms of a repetition share host, kernel and sweep."""
    counts = Counter((r["point"]["label"], r["repetition"]) for r in records)
    assert counts == {(arm, number): 1 for arm in ARMS for number in range(1, repetitions + 1)}
    places = {(r["repetition"], host_of(r), kernel_of(r), r["sweep_id"]) for r in records}
    assert len(places) == repetitions, "arms of one repetition were measured apart"


def outboxes(cluster: TestCluster, site: Site) -> list[Path]:
    """Runs that wait on the hosts to be delivered."""
    return sorted(cluster.folder.glob(f"hosts/*/data/{site.data.name}/outbox/runs/*/*/record.json"))


def test_a_preempted_job_is_queued_again_and_a_controller_may_restart(
    site: Site, cluster: TestCluster
) -> None:
    command = site.start(*RUN)
    wait_for(lambda: len(site.records()) >= 1, "a record")
    cluster.preempt("host1")
    wait_for(cluster.all_started, "the start of the last job")
    before = len(site.records())
    cluster.restart_controller(after=lambda: len(site.records()) > before)
    _, err = command.communicate(timeout=300)
    assert command.returncode == 0, err
    demand_each_once(site.chosen(), repetitions=3)
    wait_for(cluster.ready, "idle hosts")
    assert running_below(site.checkout.root / "results") == []


def test_runs_that_two_hosts_measure_at_once_count_once_whatever_their_clocks(
    site: Site, cluster: TestCluster
) -> None:
    cluster.restart_host("host2", ahead_seconds=3 * 3600)
    cluster.ask("scontrol", "update", "PartitionName=main", "State=DOWN")
    command = site.start(*RUN, "--repeat", "1")
    wait_for(lambda: "PD" in cluster.ask("squeue", "-h", "-o", "%t"), "a waiting job")
    sweep = the_sweep(site)
    hosts = [site.on(name, sweep) for name in cluster.names]
    for host in hosts:
        _, err = host.communicate(timeout=300)
        assert host.returncode == 0, err
    twice = site.records()
    assert Counter(r["point"]["label"] for r in twice) == {"memory": 2, "noop": 2}, "two hosts measured"
    for record in site.checkout.records():  # delivered, but its host lost power before it knew
        for name in cluster.names:
            outbox = cluster.folder / "hosts" / name / "data" / site.data.name / "outbox" / "runs"
            shutil.copytree(record.parent, outbox / record.parent.relative_to(site.checkout.runs))
    cluster.ask("scontrol", "update", "PartitionName=main", "State=UP")
    _, err = command.communicate(timeout=300)
    assert command.returncode == 0, err
    assert len(site.records()) == len(twice), "the job found all delivered"
    demand_each_once(site.chosen(), repetitions=1)
    again = site.command(*RUN, "--repeat", "1", "--force", "--slurm", "exclude=host2")
    assert again.returncode == 0, again.stderr
    (host,) = {host_of(r) for r in site.records() if r["sweep_id"] != sweep}
    assert {(host_of(r), r["sweep_id"] == sweep) for r in site.chosen()} == {(host, False)}, (
        "the later sweep counts, though the other host's clock is ahead"
    )
    cluster.restart_host("host2")


def test_a_host_that_returns_with_another_kernel_is_kept_apart_from_what_it_was(
    site: Site, cluster: TestCluster
) -> None:
    command = site.start(*RUN, "--repeat", "2", "--slurm", "exclude=host2")
    wait_for(lambda: len(site.records()) >= 1, "a record")
    cluster.lose("host1")
    cut = site.records()
    assert len(cut) % 2, "a block was cut"
    cluster.start_host("host1", kernel="6.6.6-other", ahead_seconds=-3600)
    _, err = command.communicate(timeout=300)
    assert command.returncode == 0, err
    assert {kernel_of(r) for r in site.records()} == {kernel_of(cut[0]), "6.6.6-other"}
    demand_each_once(site.chosen(), repetitions=2)
    cluster.restart_host("host1")


def test_a_full_shared_disk_is_named_and_loses_nothing(site: Site, cluster: TestCluster) -> None:
    results = site.checkout.root / "results"
    results.symlink_to(cluster.small)
    command = site.start(*RUN)
    wait_for(lambda: len(site.records()) >= 1, "a record")
    filler = cluster.small / "filler"
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}"], check=False, capture_output=True)
    _, err = command.communicate(timeout=300)
    assert command.returncode == 5, err
    assert "is full" in err
    assert "have no record" in err
    measured = {path.parent.name for path in (*outboxes(cluster, site), *site.checkout.records())}
    assert outboxes(cluster, site), "runs wait on their hosts"
    filler.unlink()
    again = site.command(*RUN)
    assert again.returncode == 0, again.stderr
    demand_each_once(site.chosen(), repetitions=3)
    kept = {path.parent.name for path in (*outboxes(cluster, site), *site.checkout.records())}
    assert measured <= kept
