"""Commands for results that are committed: publish, derive, prose."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.errors import UsageError

from .again import commands_again
from .app import (
    BuildsOfOption,
    NeededExperiment,
    ProfileOption,
    RecordedRunnerOption,
    RepeatOption,
    ResultsOption,
    app,
    console,
    project,
    words,
)
from .pages.shapes import counted


@app.command(rich_help_panel="Publish")
def publish(
    experiment: NeededExperiment,
    name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="The folder below results/.", show_default=False)
    ],
    state: Annotated[
        str,
        typer.Option(
            "--state",
            metavar="WORDS",
            help='What else the machine did meanwhile: "nothing else running".',
            show_default=False,
        ),
    ],
    profile: ProfileOption = "quick",
    runner: RecordedRunnerOption = None,
    builds_of: BuildsOfOption = None,
    engines: Annotated[
        str | None,
        typer.Option(
            "--engines", "-e", metavar="A,B", help="These engines instead of the experiment's, as in its run."
        ),
    ] = None,
    repeat: RepeatOption = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="ID", help="Only this table of the experiment. Repeatable."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="ID=FILE", help="Also this figure, as that SVG file. Repeatable."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="WORD",
            help="modified: the checkout had changes; machines: several were used. Stated in origin.yaml.",
        ),
    ] = None,
    results: ResultsOption = None,
) -> None:
    """Write a sweep's numbers to a folder below results/, to be committed.

    The folder holds all metrics, the tables, and origin.yaml: command, commit, machine, sweeps. Documents
    that use its numbers are rendered.

    Example: `kvdyno publish quickstart --as quickstart --state "nothing else running"`
    """
    here = project(results=results)
    asked = pipeline.Publication(
        name=name,
        state=state,
        tables=tuple(table or ()),
        figures=dict(_figure(text) for text in figure or ()),
        accepted=tuple(accept or ()),
        engines=words(engines),
        repeat=repeat,
    )
    request = pipeline.Request(
        experiment=experiment,
        profile=profile,
        runner=runner or "local",
        engines=asked.engines,
        repeat=repeat,
    )
    recorded = pipeline.find_recorded(here, request, runner=runner, builds_of=builds_of)
    found = pipeline.analyse(here, recorded.plan, records=recorded.records.values())
    chosen = recorded.plan.experiment
    again = commands_again(sys.argv[2:], plan=recorded.plan, found=found)
    paths = pipeline.write_report(here, found, chosen, commands=again, partial=recorded.partial)
    folder = pipeline.publish(here, recorded, found, asked, drawn=paths.figures)
    rendered = pipeline.fill_prose(here, pipeline.documents(here))
    console.print(f"{folder}: {counted(found.runs_recorded, 'run')}", soft_wrap=True)
    for document in rendered:
        console.print(f"rendered {document}", soft_wrap=True)


def _figure(text: str) -> tuple[str, Path]:
    name, found, file = text.partition("=")
    if not found or not file.endswith(".svg") or Path(file).is_absolute():
        raise UsageError(f"expected ID=FILE.svg, the file in the checkout, found {text!r}", where="--figure")
    return name, Path(file)


@app.command(rich_help_panel="Publish")
def derive() -> None:
    """Derive the tables of committed results from the metrics beside them, and check each folder.

    Example: `kvdyno derive`
    """
    changed = pipeline.derive(project(), write=True)
    for table in changed:
        console.print(f"derived {table}", soft_wrap=True)
    if not changed:
        console.print("no table has changed")


@app.command(rich_help_panel="Publish")
def prose(
    documents: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Markdown files; all that have blocks if none is given.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Render the numbers of documents from committed results: the blocks `<!-- from TEMPLATE -->`.

    Example: `kvdyno prose README.md docs/truth.md`
    """
    here = project()
    changed = pipeline.fill_prose(here, documents or pipeline.documents(here))
    for document in changed:
        console.print(f"rendered {document}", soft_wrap=True)
    if not changed:
        console.print("no document has changed")
