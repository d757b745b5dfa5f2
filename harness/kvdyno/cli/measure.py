"""Commands that measure, or that prepare or repeat what measuring leads to: plan, run, report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.cluster import Hosts
from kvdyno.errors import RunFailures, UsageError
from kvdyno.model.engine import RunnerName
from kvdyno.model.experiment import CachePolicy
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.results import Analysis, ReportPaths
from kvdyno.plan import estimate
from kvdyno.spec import list_experiments

from .again import commands_again, stored_run
from .app import (
    BuildsOfOption,
    CacheOption,
    DataOption,
    EnginesOption,
    ExcludeOption,
    Experiment,
    GovernorOption,
    JsonOption,
    NoTurboOption,
    OnlyOption,
    ProfileOption,
    RecordedRunnerOption,
    RepeatOption,
    ResultsOption,
    RunnerOption,
    SweepRunnerOption,
    UncappedOption,
    WaitOption,
    app,
    console,
    cpu_list,
    error_console,
    print_json,
    project,
    share_of,
    warn_of,
    words,
)
from .hosts import ClusterOption, HostsOption, SlurmOption, Waiting, where
from .pages import records, sweeps
from .pages.shapes import counted, silent
from .progress import Forecast, SweepDisplay

_HOSTS_MAX = 100_000
_FAILURES_MAX = 24


@app.command(rich_help_panel="Measure")
def plan(
    experiment: Experiment = None,
    profile: ProfileOption = "quick",
    engines: EnginesOption = None,
    only: OnlyOption = None,
    exclude: ExcludeOption = None,
    repeat: RepeatOption = None,
    runner: RunnerOption = "local",
    cache: CacheOption = None,
    uncapped: UncappedOption = False,
    governor: GovernorOption = None,
    no_turbo: NoTurboOption = False,
    price_per_hour: Annotated[
        float | None,
        typer.Option("--price-per-hour", metavar="PRICE", min=0, help="What an hour of the machine costs."),
    ] = None,
    hosts: Annotated[
        int | None,
        typer.Option(
            "--hosts",
            metavar="N",
            min=1,
            max=_HOSTS_MAX,
            help="Simulate the sweep over so many hosts (run --runner slurm).",
        ),
    ] = None,
    spread: Annotated[
        str,
        typer.Option("--spread", metavar="SHARE", help="With --hosts: how much hosts differ in speed."),
    ] = "10%",
    failures: Annotated[
        float,
        typer.Option(
            "--failures",
            metavar="N",
            min=0,
            max=_FAILURES_MAX,
            help="With --hosts: how often a host fails in a day of work.",
        ),
    ] = 0,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Show the points that an experiment would run, the time and disk they need, and what is stored already.

    Checks the whole experiment file; runs nothing. With `--hosts` the sweep is simulated on hosts that differ
    in speed and may fail, and the price is that of all hosts' hours.

    Example: `kvdyno plan quickstart --profile small --only workload=a`
    """
    here = project(results=results, data=data)
    request = _request(here, experiment, profile, engines, only, exclude, repeat, runner, cache)
    _, whole = pipeline.make_plan(here, request)
    warn_of(pipeline.corrupt(here, whole))
    pipeline.demand_memory(whole, uncapped=uncapped)
    how = pipeline.SweepSettings(uncapped=uncapped, frequency=pipeline.Frequency(governor, no_turbo=no_turbo))
    reuse = pipeline.look_up(here, whole, how=how)
    rest = estimate(pipeline.remaining(whole, reuse.records))
    over = None
    if hosts:
        farm = Hosts(hosts, spread=share_of(spread, option="--spread"), failures=failures)
        over = pipeline.makespan_on(whole, reuse.records.keys(), hosts=farm)
    if json:
        print_json(sweeps.plan_document(whole, reuse, rest=rest, price_per_hour=price_per_hour, over=over))
    else:
        sweeps.plan_table(console, whole, reuse, rest=rest, price_per_hour=price_per_hour, over=over)


@app.command(rich_help_panel="Measure")
def run(
    experiment: Experiment = None,
    profile: ProfileOption = "quick",
    engines: EnginesOption = None,
    only: OnlyOption = None,
    exclude: ExcludeOption = None,
    repeat: RepeatOption = None,
    runner: SweepRunnerOption = "local",
    inside: Annotated[
        RunnerName | None,
        typer.Option(
            "--inside", help="With --runner slurm: what confines the drivers on a host; local if not given."
        ),
    ] = None,
    hosts: HostsOption = None,
    cluster: ClusterOption = None,
    slurm: SlurmOption = None,
    cache: CacheOption = None,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Measure stored runs again.")] = False,
    uncapped: UncappedOption = False,
    cpus: Annotated[
        str | None,
        typer.Option("--cpus", metavar="LIST", help='Confine drivers to these CPUs, such as "0-3,6".'),
    ] = None,
    governor: GovernorOption = None,
    no_turbo: NoTurboOption = False,
    wait: WaitOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Measure an experiment and write its figures, tables and report.

    Engines are interleaved inside each repetition. Stored runs are not measured again,
    so the same command resumes an interrupted sweep. Ctrl-C loses at most the run in progress. With
    `--runner slurm` jobs measure on many hosts, and go on after Ctrl-C.

    Example: `kvdyno run quickstart --engines rocksdb,leveldb --repeat 5`
    """
    here = project(results=results, data=data)
    if runner != "slurm" and (inside or hosts or cluster or slurm):
        raise UsageError("--inside, --hosts, --cluster and --slurm need --runner slurm", where="--runner")
    confined = (inside or "local") if runner == "slurm" else runner
    request = _request(here, experiment, profile, engines, only, exclude, repeat, confined, cache)
    _, whole = pipeline.make_plan(here, request)
    warn_of(pipeline.corrupt(here, whole))
    how = pipeline.SweepSettings(
        uncapped=uncapped,
        cpus=cpu_list(cpus),
        force=force,
        frequency=pipeline.Frequency(governor, no_turbo=no_turbo),
    )
    if runner == "slurm":
        place = where(hosts, cluster, slurm)
        result = pipeline.run_over_hosts(here, request, whole, how=how, where=place, watcher=Waiting())
    else:
        with SweepDisplay(silent() if json else console, _forecast(here, whole, how)) as display:
            result = pipeline.sweep(here, whole, how=how, observer=display, wait=wait)
    found = pipeline.analyse(here, whole, records=result.records)
    paths = pipeline.write_report(
        here,
        found,
        whole.experiment,
        commands=commands_again(sys.argv[2:], plan=whole, found=found),
        partial=request.partial,
        uncapped=uncapped,
    )
    _show_outcome(found, paths, measured=result.measured, reused=result.reused, json=json)
    failed = [r for r in result.records if r.status != "ok"]
    if failed:
        raise RunFailures(
            f"{len(failed)} of {len(result.records)} runs failed: "
            + ", ".join(sorted({r.status.replace("_", " ") for r in failed})),
            remedy="the report lists reasons and logs; `kvdyno run … --force --only …` measures again",
        )


@app.command(rich_help_panel="Measure")
def rerun(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run's id or its end, as `kvdyno show` lists it.", show_default=False
        ),
    ],
    wait: WaitOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a stored run once more, and show its results beside the first ones.

    The point, its repetition and seeds, the runner and the confinement are those of the record. The
    experiment and the engines are those of this checkout. What differs from then is listed: builds, options,
    the machine.

    Example: `kvdyno rerun 3f9c12`
    """
    here = project(results=results, data=data)
    before = stored_run(here, run)
    whole = pipeline.plan_again(here, before)
    with SweepDisplay(silent() if json else console, Forecast(whole.runs)) as display:
        done = pipeline.rerun(here, whole, before, observer=display, wait=wait)
    if json:
        print_json(records.rerun_document(done))
    else:
        records.rerun_page(console, done)
    if done.again.status != "ok":
        raise RunFailures(
            f"the run ended as {done.again.status.replace('_', ' ')}",
            where=done.again.run_id,
            remedy=f"kvdyno show {done.again.run_id}",
        )


@app.command(rich_help_panel="Measure")
def report(
    experiment: Experiment = None,
    profile: ProfileOption = "quick",
    engines: EnginesOption = None,
    only: OnlyOption = None,
    exclude: ExcludeOption = None,
    repeat: RepeatOption = None,
    runner: RecordedRunnerOption = None,
    builds_of: BuildsOfOption = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="OTHER",
            help="Show these records beside: a sweep's id, or another results folder.",
        ),
    ] = None,
    cache: CacheOption = None,
    uncapped: UncappedOption = False,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Make figures, tables and the report again from stored records; measures nothing.

    If the experiment's engines are not built, the report takes the builds of the latest sweep that measured
    most of them. If this host has no records, it takes those of another.

    Example: `kvdyno report quickstart`
    """
    here = project(results=results)
    request = _request(here, experiment, profile, engines, only, exclude, repeat, runner or "local", cache)
    recorded = pipeline.find_recorded(here, request, runner=runner, builds_of=builds_of, uncapped=uncapped)
    whole = recorded.plan
    warn_of(pipeline.corrupt(here, whole))
    for note in recorded.notes:
        error_console.print(f"note: {note}", soft_wrap=True)
    records = recorded.records.values()
    found = pipeline.analyse(here, whole, records=records)
    paths = pipeline.write_report(
        here,
        found,
        whole.experiment,
        commands=commands_again(sys.argv[2:], plan=whole, found=found),
        earlier=pipeline.earlier(here, compare, records=records) if compare else None,
        partial=recorded.partial,
        uncapped=uncapped,
    )
    _show_outcome(found, paths, measured=0, reused=found.runs_recorded, json=json)


def _request(
    here: Project,
    experiment: str | None,
    profile: str,
    engines: str | None,
    only: Sequence[str] | None,
    exclude: Sequence[str] | None,
    repeat: int | None,
    runner: RunnerName,
    cache: CachePolicy | None,
) -> pipeline.Request:
    if experiment is None:
        raise UsageError(
            sweeps.experiments_text(list_experiments(here)), remedy="name one, or the path of a file"
        )
    return pipeline.Request(
        experiment=experiment,
        profile=profile,
        engines=words(engines),
        only=tuple(only or ()),
        exclude=tuple(exclude or ()),
        repeat=repeat,
        runner=runner,
        cache=cache,
    )


def _show_outcome(found: Analysis, paths: ReportPaths, *, measured: int, reused: int, json: bool) -> None:
    summary = pipeline.summarise(found)
    if json:
        print_json(sweeps.outcome_document(summary, paths, measured=measured, reused=reused))
        return
    sweeps.summary_page(console, summary)
    console.print(f"\n{counted(measured, 'run')} measured, {reused} taken from earlier sweeps")
    sweeps.places(console, paths)


def _forecast(here: Project, whole: Plan, how: pipeline.SweepSettings) -> Forecast:
    rest = pipeline.remaining(whole, pipeline.reusable(here, whole, how=how))
    return Forecast(rest.runs)
