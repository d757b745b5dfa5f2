"""The command for papers."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.errors import UsageError
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
from .pages.shapes import counted, hanging

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
        bool, typer.Option("--experiments", metavar="", help="Print the paper's experiments, and stop.")
    ] = False,
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
    if experiments:
        for experiment in pipeline.read_paper(here, name).experiments:
            typer.echo(experiment)
        return
    made = pipeline.write_paper(
        here, name, profile=profile, runner=runner, repeat=repeat, uncapped=uncapped, tex_only=tex_only
    )
    for what in made.lacking[:_SHOWN]:
        hanging(console, "not measured:", what, style="yellow")
    if len(made.lacking) > _SHOWN:
        console.print(f"and {len(made.lacking) - _SHOWN} more, which the paper lists", style="yellow")
    pages = f": {counted(made.pages, 'page')}" if made.pdf else ""
    console.print(f"{made.pdf or made.tex}{pages}", soft_wrap=True)
