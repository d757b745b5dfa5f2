"""Sweeps over the hosts of a real Slurm: what fails there loses no record, and makes none count twice."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from .conftest import Site
from .slurm import TestCluster, wait_for

RUN = ("run", "hosts", "--runner", "slurm", "--uncapped", "--hosts", "2")


def host_of(record: dict) -> str:
    return record["environment"]["host_id"]


def the_sweep(site: Site) -> str:
    (path,) = (site.checkout.root / "results" / "sweeps").glob("*.json")
    return path.stem


def running_below(folder: Path) -> list[str]:
    """Processes that a sweep of this checkout started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and int(process.name) != os.getpid():
            found.append(words.replace("\0", " "))
    return found


def test_arms_share_a_host_and_nothing_is_measured_twice(site: Site) -> None:
    first = site.command(*RUN, "--json")
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["measured"] == 6
    records = site.records()
    assert {(r["point"]["label"], r["repetition"]) for r in records} == {
        (engine, repetition) for engine in ("memory", "noop") for repetition in (1, 2, 3)
    }
    hosts = defaultdict(set)
    for record in records:
        hosts[record["repetition"]].add(host_of(record))
    assert all(len(each) == 1 for each in hosts.values()), "the arms of a repetition share a host"
    assert len(set.union(*hosts.values())) == 2, "two hosts took part"
    made = [(host_of(load), load["point"]["identity"]) for load in site.loads()]
    assert len(made) == len(set(made)), "a host makes a snapshot once"
    status = json.loads(site.command("status", "--json").stdout)[0]
    assert (status["runs"], status["stored"], status["failed"], status["jobs"]) == (6, 6, 0, [])
    assert sum(status["hosts"].values()) == 6
    assert len(status["hosts"]) == 2
    again = site.command(*RUN, "--json")
    assert json.loads(again.stdout)["reused"] == 6
    assert "submitted" not in again.stderr
    assert len(site.records()) == 6


def test_runs_of_a_host_that_loses_power_are_measured_on_another(site: Site, cluster: TestCluster) -> None:
    command = site.start(*RUN, "--json")
    wait_for(lambda: len(site.records()) >= 1, "a record")
    cluster.lose("host1")
    out, err = command.communicate(timeout=300)
    cluster.start_host("host1")
    assert command.returncode == 0, err
    assert json.loads(out)["measured"] == 6
    hosts = defaultdict(list)
    for record in site.records():
        hosts[record["repetition"], host_of(record)].append(record["point"]["label"])
    whole = {repetition for (repetition, _), labels in hosts.items() if sorted(labels) == ["memory", "noop"]}
    assert whole == {1, 2, 3}, "every repetition is whole on some host"
    wait_for(cluster.ready, "both hosts")


def test_a_lost_controller_and_a_cancelled_sweep_leave_nothing_behind(
    site: Site, cluster: TestCluster
) -> None:
    command = site.start(*RUN, "--json")
    wait_for(lambda: len(site.records()) >= 1, "a record")
    cluster.lose_controller()
    command.terminate()  # treated like Ctrl-C
    _, err = command.communicate(timeout=300)
    assert command.returncode == 130, err
    wait_for(cluster.ready, "the hosts, without the jobs that the controller forgot")
    assert running_below(site.checkout.root / "results") == []
    kept = {record["run_id"] for record in site.records()}
    again = site.start(*RUN, "--repeat", "9", "--json")
    wait_for(lambda: len(site.records()) > len(kept), "another record")
    cancelled = site.command("cancel")
    assert cancelled.returncode == 0, cancelled.stderr
    again.communicate(timeout=300)
    assert again.returncode == 5, "runs without a record are named"
    wait_for(cluster.ready, "idle hosts")
    assert running_below(site.checkout.root / "results") == []
    assert kept <= {record["run_id"] for record in site.records()}


def test_jobs_that_wait_are_kept_off_a_host_that_is_excluded_meanwhile(site: Site) -> None:
    many = (*RUN, "--repeat", "12", "--json")
    command = site.start(*many)
    wait_for(lambda: len(site.records()) >= 1, "a record")
    slow = host_of(site.records()[0])
    assert site.command("exclude", slow, "--because", "slow disk").stderr == ""
    command.communicate(timeout=300)
    assert command.returncode == 5, "runs that do not count are named"
    jobs = site.checkout.root / "results" / "jobs"
    refused = [path for path in jobs.glob("*.err") if "was excluded" in path.read_text()]
    assert len(refused) <= 1, "only one that had just started"
    again = site.command(*many)
    assert again.returncode == 0, again.stderr
    assert slow not in {host_of(record) for record in site.chosen()}


#: squeue whose first answer about waiting jobs comes when one of them has started.
LATE_SQUEUE = """\
#!/bin/sh
answer=$({squeue} "$@")
waiting() {{ {squeue} -h -r -t pending | wc -l; }}
case "$*" in
*%x*)
  if mkdir {once} 2>/dev/null; then
    before=$(waiting)
    while [ "$(waiting)" -ge "$before" ]; do sleep 0.1; done
  fi ;;
esac
printf '%s\\n' "$answer"
"""


def test_a_job_that_starts_while_a_host_is_excluded_does_not_keep_others_there(
    site: Site, cluster: TestCluster, tmp_path: Path
) -> None:
    command = site.start(*RUN, "--repeat", "12", "--json")
    wait_for(lambda: len(site.records()) >= 1, "a record")
    programs, once = tmp_path / "programs", tmp_path / "once"
    programs.mkdir()
    late = programs / "squeue"
    late.write_text(LATE_SQUEUE.format(squeue=shutil.which("squeue"), once=once))
    late.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    slow = host_of(site.records()[0])
    there = replace(site, environment={**site.environment, "PATH": path})
    assert there.command("exclude", slow, "--because", "slow disk").stderr == ""
    assert once.exists()
    left_out = cluster.ask("squeue", "-h", "-t", "pending", "-o", "%x").split()
    assert "(null)" not in left_out, "jobs that wait may start there"
    command.communicate(timeout=300)


def test_an_excluded_host_gets_no_jobs_and_others_measure_its_share(site: Site) -> None:
    assert site.command(*RUN, "--json").returncode == 0
    (status,) = json.loads(site.command("status", "--json").stdout)
    slow, other = sorted(status["hosts"])
    made = site.command("exclude", slow, "--because", "slow disk", "--json")
    (exclusion,) = json.loads(made.stdout)
    assert exclusion["node"] in site.cluster.names
    gone = site.checkout.root / "results" / "hosts" / "c0ffee"  # Slurm refuses nodes that it does not have
    gone.mkdir()
    (gone / "excluded.json").write_text(json.dumps(exclusion | {"host_id": gone.name, "node": "gone"}))
    (gone / "node.json").write_text(json.dumps({"host_id": gone.name, "node": "gone"}))
    again = site.command(*RUN, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["measured"] == 2 * (status["hosts"][slow] // 2)
    assert {host_of(record) for record in site.chosen()} == {other}
    assert site.command("exclude", exclusion["node"], "--undo").returncode == 0
    assert json.loads(site.command(*RUN, "--json").stdout)["reused"] == 6
