"""Commands about sweeps over many hosts: run-point, status, cancel, exclude."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from kvdyno import pipeline
from kvdyno.cluster import Job
from kvdyno.errors import UsageError
from kvdyno.model.exclusion import Exclusion
from kvdyno.model.submission import ClusterName

from .app import (
    DataOption,
    JsonOption,
    ResultsOption,
    app,
    console,
    error_console,
    print_json,
    project,
)
from .pages.shapes import counted, harmless
from .progress import Forecast, SweepDisplay

SweepArgument = Annotated[
    str | None,
    typer.Argument(metavar="SWEEP", help="Its id; all that have jobs if not given.", show_default=False),
]
HostsOption = Annotated[
    int | None,
    typer.Option(
        "--hosts",
        metavar="N",
        min=1,
        help="Hosts at most at a time, with --runner slurm; 4 if not given.",
        show_default=False,
    ),
]
ClusterOption = Annotated[
    ClusterName | None,
    typer.Option(
        "--cluster",
        help="What starts the jobs of --runner slurm: Slurm, or submitit on this machine alone.",
        show_default=False,
    ),
]
SlurmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm",
        metavar="NAME=VALUE",
        help="An option of sbatch, such as partition=main; time is in minutes. Repeatable.",
        show_default=False,
    ),
]

_HOSTS = 4


def where(hosts: int | None, cluster: ClusterName | None, options: Sequence[str] | None) -> pipeline.Where:
    """What starts the jobs. Raises UsageError for an option of sbatch without a value."""
    given: dict[str, str] = {}
    for text in options or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"expected NAME=VALUE, found {text!r}", where="--slurm")
        given[name.replace("_", "-")] = value
    return pipeline.Where(cluster=cluster or "slurm", hosts=hosts or _HOSTS, options=given)


class Waiting:
    """Watches a sweep over hosts (see pipeline.Watcher): a line whenever something has changed."""

    def __init__(self) -> None:
        self._runs = 0
        self._latest = ""

    def submitted(self, sweep_id: str, *, runs: int, jobs: int, before: bool) -> None:
        """See pipeline.Watcher."""
        self._runs = runs
        verb = "were submitted before" if before else "submitted"
        error_console.print(f"sweep {sweep_id}: {counted(runs, 'run')} in {counted(jobs, 'job')} {verb}")

    def looked(self, jobs: Sequence[Job], *, stored: int, silent: str) -> None:
        """See pipeline.Watcher."""
        state = harmless(silent) if silent else _states(jobs)
        line = f"{stored} of {self._runs} runs stored; {state}"
        if line != self._latest:
            error_console.print(line, soft_wrap=True)
        self._latest = line


def _states(jobs: Sequence[Job]) -> str:
    """ "3 jobs running on node1, node2; 5 pending"."""
    if not jobs:
        return "no jobs left"
    counts = Counter(job.state for job in jobs)
    hosts = ", ".join(sorted({job.host for job in jobs if job.host}))
    states = "; ".join(f"{n} {state}" for state, n in sorted(counts.items()))
    return f"jobs: {states}" + (f"; on {hosts}" if hosts else "")


@app.command(name="run-point", rich_help_panel="Many hosts")
def run_point(
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEY", help="Runs of a submitted sweep: <identity, 12 digits>.r<repetition>."),
    ],
    sweep: Annotated[
        str, typer.Option("--sweep", metavar="SWEEP", help="The sweep's id.", show_default=False)
    ],
    results: ResultsOption = None,
    data: DataOption = None,
) -> None:
    """Measure runs of a submitted sweep on this host and deliver their records: what a job does.

    May be called again at any time: what was delivered is not measured again.

    Example: `kvdyno run-point 0a1b2c3d4e5f.r1 --sweep 20261124T210000-1a2b3c4d`
    """
    here = project(results=results, data=data)
    with SweepDisplay(console, Forecast(())) as display:
        pipeline.run_points(here, sweep, keys, observer=display)


@app.command(rich_help_panel="Many hosts")
def status(sweep: SweepArgument = None, results: ResultsOption = None, json: JsonOption = False) -> None:
    """Show how far submitted sweeps are: runs stored, jobs, hosts. The latest one, if none has jobs.

    Example: `kvdyno status`
    """
    found = pipeline.status_of(project(results=results), sweep)
    if json:
        print_json([_document(each) for each in found])
        return
    for each in found:
        _print_status(each)
    if not found:
        console.print("no sweep was submitted")


@app.command(rich_help_panel="Many hosts")
def cancel(sweep: SweepArgument = None, results: ResultsOption = None, json: JsonOption = False) -> None:
    """End the jobs of submitted sweeps. Their records stay; the same `run` goes on where they stopped.

    Example: `kvdyno cancel 20261124T210000-1a2b3c4d`
    """
    ended = pipeline.cancel(project(results=results), sweep)
    if json:
        print_json({"cancelled": ended})
        return
    for each in ended:
        console.print(f"cancelled sweep {each}")
    if not ended:
        console.print("no sweep has jobs")


@app.command(rich_help_panel="Many hosts")
def exclude(
    host: Annotated[
        str | None,
        typer.Argument(
            metavar="HOST",
            help="Its id, the beginning of one, or its node; without one, the excluded hosts are listed.",
            show_default=False,
        ),
    ] = None,
    because: Annotated[
        str | None,
        typer.Option("--because", metavar="TEXT", help="Why: reports print it.", show_default=False),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", metavar="", help="Count the host again.")] = False,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Exclude a host: it measures no more, and no report or claim counts what it measured.

    Looks at the gauges of runs, never at what they measured. Records stay as they are; other hosts measure
    the host's share when the sweep is submitted again. `--undo` makes all as it was.

    Example: `kvdyno exclude 1a2b --because "its disk is slow"`
    """
    here = project(results=results)
    if host is None and (because is not None or undo):
        raise UsageError("expected a HOST, found none", where="kvdyno exclude")
    if undo and because is not None:
        raise UsageError("--undo takes no --because", where="kvdyno exclude")
    if host is not None and undo:
        _show_included(pipeline.include(here, host), json=json)
    elif host is not None:
        _show_excluded([pipeline.exclude(here, host, because=because or "")], json=json)
        if silent := pipeline.keep_jobs_off(here):
            error_console.print(f"note: jobs that wait may start there: {harmless(silent)}", soft_wrap=True)
    else:
        _show_excluded(list(pipeline.excluded_hosts(here).values()), json=json)


def _show_included(host: str, *, json: bool) -> None:
    if json:
        print_json({"included": host})
    else:
        console.print(f"host {host} counts again")


def _show_excluded(found: Sequence[Exclusion], *, json: bool) -> None:
    if json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    for each in found:
        console.print(harmless(str(each)), soft_wrap=True)
        for sweep_id, outliers in each.outliers.items():
            for outlier in outliers:
                console.print(f"  sweep {sweep_id}: {outlier}", soft_wrap=True)
    if not found:
        console.print("no host is excluded")


def _print_status(each: pipeline.Status) -> None:
    failed = f", {each.failed} of them failed" if each.failed else ""
    console.print(f"sweep {each.sweep.sweep_id}: {each.sweep.experiment}, profile {each.sweep.profile}")
    console.print(f"  {each.stored} of {each.total} runs stored{failed}")
    console.print(f"  {harmless(each.silent) if each.silent else _states(each.jobs)}", soft_wrap=True)
    for host, runs in sorted(each.hosts.items()):
        console.print(f"  host {host}: {counted(runs, 'run')}")
    for outlier in each.outliers:
        console.print(f"  outlier: {outlier}", soft_wrap=True)
    for left_out in each.left_out:
        console.print(f"  excluded: {harmless(str(left_out))}", soft_wrap=True)


def _document(each: pipeline.Status) -> Mapping[str, Any]:
    return {
        "sweep": each.sweep.sweep_id,
        "experiment": each.sweep.experiment,
        "profile": each.sweep.profile,
        "runs": each.total,
        "stored": each.stored,
        "failed": each.failed,
        "hosts": dict(each.hosts),
        "jobs": [{"number": job.number, "state": job.state, "host": job.host} for job in each.jobs],
        "silent": each.silent or None,
        "outliers": [asdict(outlier) for outlier in each.outliers],
        "excluded": [{**out.exclusion.model_dump(mode="json"), "runs": out.runs} for out in each.left_out],
    }
