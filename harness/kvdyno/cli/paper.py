"""The command for papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.errors import UsageError
from kvdyno.model.papers import PaperPart
from kvdyno.model.units import format_seconds, human_bytes
from kvdyno.spec import list_papers

from .app import (
    ProfileOption,
    RecordedRunnerOption,
    RepeatOption,
    ResultsOption,
    UncappedOption,
    app,
    console,
    project,
)
from .pages.shapes import counted, hanging, plain_table

_SHOWN = 12


@app.command(rich_help_panel="Publish")
def paper(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A folder of paper/; without one, the names are listed.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = "quick",
    runner: RecordedRunnerOption = None,
    repeat: RepeatOption = None,
    uncapped: UncappedOption = False,
    tex_only: Annotated[
        bool, typer.Option("--tex-only", metavar="", help="Write LaTeX and figures, without a PDF.")
    ] = False,
    experiments: Annotated[
        bool,
        typer.Option(
            "--experiments", metavar="", help="Print the paper's experiments and profiles, and stop."
        ),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", metavar="", help="Print what measuring the rest takes, and stop.")
    ] = False,
    published: Annotated[
        Path | None,
        typer.Option(
            "--published",
            metavar="FOLDER",
            help="Use the published sweeps of this folder instead of records: results/evendb-small.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    results: ResultsOption = None,
) -> None:
    """Make a paper from stored records: every number, figure, table and verdict is theirs. Measures nothing.

    `make paper PAPER=NAME` runs the experiments first that have no records. What was not measured is visible
    in the paper and listed at its end. The PDF needs LaTeX (`harness/setup.sh latex`).

    Example: `kvdyno paper evendb --profile small`
    """
    here = project(results=results)
    if name is None:
        known = ", ".join(list_papers(here.paper_texts)) or "none"
        raise UsageError(f"expected the name of a paper; there are: {known}", remedy="name one")
    if published and (runner or repeat or uncapped or plan):
        raise UsageError(
            "published sweeps are taken as they are: expected no --runner, --repeat, --uncapped or --plan",
            where="--published",
        )
    if experiments:
        asked = pipeline.read_paper(here, name)
        for experiment in asked.experiments:
            typer.echo(f"{experiment} {asked.profile_of(experiment, profile=profile)}")
        return
    if plan:
        _print_plan(
            pipeline.plan_paper(here, name, profile=profile, runner=runner or "local", uncapped=uncapped)
        )
        return
    made = pipeline.write_paper(
        here,
        name,
        profile=profile,
        runner=runner,
        repeat=repeat,
        uncapped=uncapped,
        published=published.resolve() if published else None,
        tex_only=tex_only,
    )
    for what in made.lacking[:_SHOWN]:
        hanging(console, "not measured:", what, style="yellow")
    if len(made.lacking) > _SHOWN:
        console.print(f"and {len(made.lacking) - _SHOWN} more, which the paper lists", style="yellow")
    pages = f": {counted(made.pages, 'page')}" if made.pdf else ""
    console.print(f"{made.pdf or made.tex}{pages}", soft_wrap=True)


def _print_plan(parts: Sequence[PaperPart]) -> None:
    """A line for each experiment, and the sum."""
    table = plain_table("experiment", "profile", ">runs left", ">time", ">disk")
    for part in parts:
        costs = (str(part.runs), format_seconds(part.seconds), human_bytes(part.disk_bytes))
        table.add_row(part.experiment, part.profile, *(("?", "?", "?") if part.lack else costs))
    console.print(table)
    for part in (each for each in parts if each.lack):
        hanging(console, "not planned:", f"{part.experiment}: {part.lack}", style="yellow")
    most = max(part.disk_bytes for part in parts)
    seconds = sum(part.seconds for part in parts)
    runs = counted(sum(part.runs for part in parts), "run")
    console.print(
        f"in all: {runs}, about {format_seconds(seconds)}, up to {human_bytes(most)} of disk at a time"
    )
