"""Commands that carry results to another machine: export, import, sync."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.errors import StoreError, UsageError
from kvdyno.model.units import human_bytes
from kvdyno.store import is_url

from .again import commands_again
from .app import (
    BuildsOfOption,
    JsonOption,
    NeededExperiment,
    ProfileOption,
    RecordedRunnerOption,
    ResultsOption,
    UncappedOption,
    app,
    console,
    error_console,
    print_json,
    project,
)
from .pages.shapes import counted, harmless


@app.command(name="export", rich_help_panel="Look")
def export(
    experiment: NeededExperiment,
    profile: ProfileOption = "quick",
    runner: RecordedRunnerOption = None,
    builds_of: BuildsOfOption = None,
    uncapped: UncappedOption = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="EXPERIMENT-PROFILE.tar.gz if not given."),
    ] = None,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Write an experiment's records, builds, sources and report to one file.

    `kvdyno import` takes it on another machine, and `kvdyno report` works there as here.

    Example: `kvdyno export quickstart --output quickstart.tar.gz`
    """
    here = project(results=results)
    request = pipeline.Request(experiment=experiment, profile=profile, runner=runner or "local")
    recorded = pipeline.find_recorded(here, request, runner=runner, builds_of=builds_of, uncapped=uncapped)
    found = pipeline.analyse(here, recorded.plan, records=recorded.records.values())
    paths = pipeline.write_report(
        here,
        found,
        recorded.plan.experiment,
        commands=commands_again(sys.argv[2:], plan=recorded.plan, found=found),
        partial=recorded.partial,
        uncapped=uncapped,
    )
    chosen = output or Path(f"{recorded.plan.experiment.name.replace('/', '-')}-{profile}.tar.gz")
    bundle = pipeline.export_bundle(here, recorded, report=paths.html.parent, output=chosen)
    if json:
        print_json({"file": str(chosen), **bundle.model_dump()})
    else:
        console.print(
            f"{chosen}: {counted(bundle.runs, 'run')} of {counted(len(bundle.sweeps), 'sweep')}, "
            f"{human_bytes(chosen.stat().st_size)}",
            soft_wrap=True,
        )


@app.command(name="import", rich_help_panel="Look")
def import_(
    bundle: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `kvdyno export` wrote.", show_default=False)
    ],
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Take the records of another machine, as `kvdyno export` wrote them.

    Every file is compared with its checksum first. What is stored here stays; records of the same id must be
    the same.

    Example: `kvdyno import quickstart.tar.gz`
    """
    if not bundle.is_file():
        raise UsageError("expected a file that `kvdyno export` wrote, found none", where=str(bundle))
    imported = pipeline.import_bundle(project(results=results), bundle)
    found = imported.bundle
    remedy = f"; remedy: git checkout {found.commit}" if found.commit else ""
    for name in imported.differing:
        error_console.print(f"note: {name} is not what was measured{remedy}", soft_wrap=True)
    if json:
        print_json({"new": imported.new, "differing": imported.differing, **found.model_dump()})
        return
    console.print(f"{counted(found.runs, 'run')}, {imported.new} of them new", soft_wrap=True)
    console.print(
        f"kvdyno report {found.experiment} --profile {found.profile} --builds-of {found.sweeps[-1]}",
        soft_wrap=True,
    )


@app.command(rich_help_panel="Look")
def sync(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE", help="A results folder of another machine, or its URL.", show_default=False
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="Send what is here there, instead of bringing anything."),
    ] = None,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Bring the records and sweeps of another results folder into this one, or send those that are here.

    A URL is one that fsspec opens: s3://bucket/results, sftp://host/results, file:///results.

    What is here stays, and nothing is brought twice. A record that cannot be read, lacks a file, or has the
    id of another run is refused and named; the exit status is 7 then. It may be called while SOURCE is
    measured, and again: it brings what is new.

    Example: `kvdyno sync /mnt/lab/results`
    """
    here = project(results=results)
    if (source is None) == (to is None):
        raise UsageError("expected SOURCE or --to URL", remedy="name one of them")
    if to is not None and not is_url(to):
        raise UsageError(f"expected a URL, found {to}", remedy=f"--to {Path(to).resolve().as_uri()}")
    done = pipeline.sync(here, source) if source is not None else pipeline.send_records(here, to or "")
    for each in done.refused:
        error_console.print(f"refused: {harmless(str(each))}", soft_wrap=True)
    if json:
        refused = [{"path": str(each.path), "reason": each.reason} for each in done.refused]
        print_json({"new": done.new, "same": done.same, "refused": refused})
    else:
        console.print(f"{counted(done.new, 'run')} new, {done.same} the same, {len(done.refused)} refused")
    if done.refused:
        raise StoreError(
            f"{len(done.refused)} of its files were refused",
            where=str(source or to),
            remedy="see the reasons above; all others are there",
        )
