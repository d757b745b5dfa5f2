"""Sweeps that were submitted to other hosts: how far they are, which hosts are outliers, and their end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kvdyno.cluster import Cluster, Job, choose_cluster
from kvdyno.errors import HostError, UsageError
from kvdyno.model.exclusion import LeftOut
from kvdyno.model.project import Project
from kvdyno.model.record import CONCLUSIVE, Record
from kvdyno.model.results import HostOutlier
from kvdyno.model.submission import Submission, key_of
from kvdyno.model.sweep import Sweep
from kvdyno.store import RunStore, SweepStore

from .excluded import excluded_nodes, split

POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Status:
    """How far a submitted sweep is: jobs that wait or run, runs stored of `total`, and by which hosts.

    `failed` of the stored ones did not end well. `silent`: why the scheduler does not answer; "" if it does.
    `outliers`: hosts that are slower than the others by their gauges, whatever their runs measured. Runs of
    excluded hosts (`left_out`) are in none of these.
    """

    sweep: Sweep
    jobs: tuple[Job, ...]
    total: int
    stored: int
    failed: int
    hosts: Mapping[str, int]
    silent: str = ""
    outliers: tuple[HostOutlier, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def status_of(project: Project, sweep_id: str | None = None) -> tuple[Status, ...]:
    """The sweep of that id; without one, those that have jobs, or else the latest that was submitted."""
    store = SweepStore(project.sweeps)
    if sweep_id:
        find_submission(project, sweep_id)
    submitted = [s for s in store.every() if s.submission and sweep_id in (None, s.sweep_id)]
    found = [(s, *look(s)) for s in submitted]
    shown = found if sweep_id else [each for each in found if each[1] or each[2]] or found[:1]
    return tuple(_status(project, *each) for each in shown)


def cancel(project: Project, sweep_id: str | None = None) -> tuple[str, ...]:
    """End the jobs of that sweep, or of all that were submitted; returns the ids of those that had any.

    Returns when they have ended. Raises HostError if the scheduler does not answer.
    """
    if sweep_id:
        find_submission(project, sweep_id)
    ended = []
    for each in SweepStore(project.sweeps).every():
        if each.submission is None or sweep_id not in (None, each.sweep_id):
            continue
        cluster = choose_cluster(each.submission.cluster)
        if not cluster.active(job_name(each.sweep_id)):
            continue
        cluster.cancel(job_name(each.sweep_id))
        while cluster.active(job_name(each.sweep_id)):
            time.sleep(POLL_SECONDS / 4)
        ended.append(each.sweep_id)
    return tuple(ended)


def keep_jobs_off(project: Project) -> str:
    """Keep the jobs that wait off excluded hosts; returns why that could not be done, "" if it was.

    Else a host that refuses each job at once would take all that wait.
    """
    nodes = excluded_nodes(project)
    try:
        for each in SweepStore(project.sweeps).every():
            if each.submission and nodes:
                choose_cluster(each.submission.cluster).keep_off(job_name(each.sweep_id), nodes)
    except HostError as silent:
        return silent.message
    return ""


def look(submitted: Sweep, cluster: Cluster | None = None) -> tuple[tuple[Job, ...], str]:
    """The jobs that wait or run; or why the scheduler does not answer."""
    assert submitted.submission
    try:
        cluster = cluster or choose_cluster(submitted.submission.cluster)
        return cluster.active(job_name(submitted.sweep_id)), ""
    except HostError as silent:
        return (), silent.message


def find_submission(project: Project, sweep_id: str) -> Submission:
    """How that sweep was submitted. Raises UsageError if none of that id was."""
    found = SweepStore(project.sweeps).find(sweep_id)
    if found is None or found.submission is None:
        raise UsageError(f"no sweep {sweep_id!r} was submitted", where=str(project.sweeps))
    return found.submission


def job_name(sweep_id: str) -> str:
    """What the scheduler calls a sweep's jobs."""
    return f"kvdyno-{sweep_id}"


def _status(project: Project, submitted: Sweep, jobs: tuple[Job, ...], silent: str) -> Status:
    submission = submitted.submission
    assert submission
    from kvdyno.analysis.outliers import host_outliers  # brings libraries that take seconds to import

    records, _ = RunStore(project.runs).read(identities=submission.prefixes)
    wanted = set(submission.keys)
    counted, left_out = split(
        project, (r for r in records if r.sweep_id == submitted.sweep_id and _key(r) in wanted)
    )
    of_run: dict[str, Record] = {}
    for record in counted:
        if record.status in CONCLUSIVE or _key(record) not in of_run:
            of_run[_key(record)] = record
    return Status(
        sweep=submitted,
        jobs=jobs,
        total=len(wanted),
        stored=len(of_run),
        failed=sum(record.status != "ok" for record in of_run.values()),
        hosts=Counter(record.environment.host_id for record in counted),
        silent=silent,
        outliers=host_outliers(counted),
        left_out=left_out,
    )


def _key(record: Record) -> str:
    return key_of(record.point.identity, record.repetition)
