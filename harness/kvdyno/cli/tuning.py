"""Commands that choose options: tuning report, tune."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.errors import UsageError
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.spec import list_studies

from . import render, render_study
from .app import (
    DataOption,
    JsonOption,
    ProfileOption,
    RepeatOption,
    ResultsOption,
    RunnerOption,
    UncappedOption,
    WaitOption,
    app,
    console,
    print_json,
    project,
)
from .display import SweepDisplay
from .forecast import Forecast

tuning = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(
    tuning, name="tuning", rich_help_panel="Tune", help="Test hypotheses about an engine's options."
)

StudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        help="A name from experiments/tuning/ or a path to a YAML file; without one, the names are listed.",
        show_default=False,
    ),
]


@tuning.command("report")
def report(
    study: StudyArgument = None,
    profile: ProfileOption = "quick",
    repeat: RepeatOption = None,
    runner: RunnerOption = "local",
    uncapped: UncappedOption = False,
    wait: WaitOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a study's hypotheses in rounds, and write the tuning report.

    Each round tests a hypothesis on the default and on the best options so far. The best options are then
    confirmed with fresh runs. What is stored already is not measured again, so an interrupted study resumes
    by running it again.

    Example: `kvdyno tuning report leveldb`
    """
    here = project(results=results, data=data)
    if study is None:
        names = ", ".join(list_studies(here)) or "none"
        raise UsageError(f"expected a study: {names}", remedy="name one, or the path of a file")
    how = pipeline.SweepSettings(uncapped=uncapped)
    asked = pipeline.StudyRequest(study=study, profile=profile, runner=runner, repeat=repeat)
    found = pipeline.measure_study(here, asked, how=how, watch=_watch(here, how, json=json), wait=wait)
    html, markdown = pipeline.write_study(here, found)
    if json:
        print_json(render_study.study_document(found, html=html, markdown=markdown))
    else:
        render_study.study_page(console, found, html=html)


def _watch(here: Project, how: pipeline.SweepSettings, *, json: bool) -> pipeline.Watch:
    """A display for each plan, with what is left of it."""

    def watching(whole: Plan) -> SweepDisplay:
        rest = pipeline.remaining(whole, pipeline.reusable(here, whole, how=how))
        out = render.silent() if json else console
        out.print(f"\n{whole.experiment.title}", soft_wrap=True)
        return SweepDisplay(out, Forecast(rest.runs))

    return watching
