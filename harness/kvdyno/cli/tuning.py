"""Commands that choose options: tuning report, tune."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.errors import UsageError
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.units import parse_seconds
from kvdyno.model.words import shown
from kvdyno.spec import list_studies

from .again import command_text
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
    words,
)
from .pages.shapes import silent
from .progress import Forecast, SweepDisplay

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

AsOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="NAME",
        help="Then publish it: report, tables and runs in this folder below results/. Needs --state.",
        show_default=False,
    ),
]
StateOption = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="WORDS",
        help='What else the machine did meanwhile: "nothing else running".',
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
    name: AsOption = None,
    state: StateOption = None,
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
    publication = _publication(name, state)
    asked = pipeline.StudyRequest(study=study, profile=profile, runner=runner, repeat=repeat)
    found = pipeline.measure_study(here, asked, how=how, watch=_watch(here, how, json=json), wait=wait)
    html, markdown, latex = pipeline.write_study(here, found)
    from .pages import tuning as page  # reports bring libraries that take seconds to import

    if json:
        print_json(page.study_document(found, html=html, markdown=markdown, latex=latex))
    else:
        page.study_page(console, found, html=html)
    if publication:
        command = command_text(sys.argv[1:])
        folder = pipeline.publish_study(here, found, markdown, publication, command=command)
        _render(here, folder, json=json)


@app.command(rich_help_panel="Tune")
def tune(
    engine: Annotated[
        str, typer.Argument(metavar="ENGINE", help="An engine that is built here.", show_default=False)
    ],
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            "-w",
            metavar="A,B",
            help="Workloads to tune for, a if not given. A driver without workloads takes AXIS=A,B, such as "
            "delete.share=0.05,0.25, or the default of its first property that is a choice.",
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="A,B",
            help="Metrics to improve: throughput,read.p99,write_amplification; the first one decides.",
        ),
    ] = "throughput",
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Time for all of it, the confirmation included.")
    ] = "1h",
    strategy: Annotated[
        str,
        typer.Option("--strategy", metavar="NAME", help="gp, tpe, random, or sweep: one option at a time."),
    ] = "gp",
    range_: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="OPTION=FROM..TO",
            help="What to try of an option, instead of its adapter's range; or OPTION=A,B. Repeatable.",
        ),
    ] = None,
    unseen: Annotated[
        str | None,
        typer.Option(
            "--unseen",
            metavar="A,B",
            help="Workloads that only the confirmation measures; two others if not given.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside",
            metavar="ENGINE,...",
            help="Engines that the confirmation measures, too, such as rocksdb-adoc, or rocksdb-adoc=plus "
            "with a preset.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="The default that candidates are compared with.")
    ] = "default",
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", metavar="SIZE", help="Keys and values, at paper scale; 64GiB.", show_default=False
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            metavar="NAME=VALUE",
            help="A driver property of all runs, at paper scale. Repeatable.",
        ),
    ] = None,
    cap: Annotated[str, typer.Option("--cap", metavar="SIZE", help="Memory cap, at paper scale.")] = "16GiB",
    tries: Annotated[
        int | None,
        typer.Option("--tries", metavar="N", min=1, help="At most so many candidates.", show_default=False),
    ] = None,
    short: Annotated[
        float | None,
        typer.Option(
            "--short",
            metavar="SHARE",
            help="Measure each candidate for this share of its phase first, and drop those without hope.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the search.")] = 1,
    profile: ProfileOption = "quick",
    repeat: Annotated[
        int | None,
        typer.Option("--repeat", metavar="N", help="Repetitions of the confirmation.", show_default=False),
    ] = None,
    runner: RunnerOption = "local",
    uncapped: UncappedOption = False,
    wait: WaitOption = False,
    name: AsOption = None,
    state: StateOption = None,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Search an engine's options for workloads of yours, and confirm the best of them with fresh runs.

    Candidates are measured beside the default, in the same block. A candidate that runs out of memory is a
    result, from which the search learns. Repeat the command to continue a killed search.

    Example: `kvdyno tune rocksdb --workload a,c --objective throughput,read.p99 --budget 2h`
    """
    here = project(results=results, data=data)
    how = pipeline.SweepSettings(uncapped=uncapped)
    publication = _publication(name, state)
    axis, _, values = (workload or "").rpartition("=")
    asked = pipeline.SearchRequest(
        engine=engine,
        workloads=words(values) if values else (),
        axis=axis,
        properties=_pairs(properties or (), form="NAME=VALUE", where="--property"),
        objectives=words(objective),
        budget_seconds=_seconds(budget),
        preset=preset,
        profile=profile,
        runner=runner,
        strategy=strategy,
        ranges=_pairs(range_ or (), form="OPTION=FROM..TO", where="--range"),
        unseen=None if unseen is None else words(unseen),
        tries=tries,
        short=short,
        seed=seed,
        repeat=repeat,
        dataset=dataset,
        cap=cap,
        rivals=words(beside) if beside else (),
    )
    found = pipeline.search(here, asked, how=how, watch=_watch(here, how, json=json), wait=wait)
    written = pipeline.write_search(here, found)
    from .pages import tuning as page  # reports bring libraries that take seconds to import

    if json:
        print_json(page.search_document(found, written=written))
    else:
        page.search_page(console, found, html=written.html)
    if publication:
        command = command_text(sys.argv[1:])
        folder = pipeline.publish_search(here, found, written, publication, command=command)
        _render(here, folder, json=json)


def _publication(name: str | None, state: str | None) -> pipeline.Publication | None:
    if bool(name) != bool(state):
        found = "--as" if name else "--state"
        raise UsageError(f"expected --as and --state together, found {found} alone")
    return pipeline.Publication(name=name, state=state) if name and state else None


def _render(here: Project, folder: Path, *, json: bool) -> None:
    """Render the documents that show the folder's numbers, and name them."""
    out = silent() if json else console
    out.print(f"published: {folder}", soft_wrap=True)
    for document in pipeline.fill_prose(here, pipeline.documents(here)):
        out.print(f"rendered {document}", soft_wrap=True)


def _seconds(budget: str) -> float:
    try:
        return parse_seconds(budget)
    except ValueError as error:
        raise UsageError(str(error), where="--budget") from None


def _pairs(written: Sequence[str], *, form: str, where: str) -> Mapping[str, str]:
    found = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"expected {form}, found {shown(text)}", where=where)
        found[name] = value
    return found


def _watch(here: Project, how: pipeline.SweepSettings, *, json: bool) -> pipeline.Watch:
    """A display for each plan, with what is left of it."""

    def watching(whole: Plan) -> SweepDisplay:
        rest = pipeline.remaining(whole, pipeline.reusable(here, whole, how=how))
        out = silent() if json else console
        out.print(f"\n{whole.experiment.title}", soft_wrap=True)
        return SweepDisplay(out, Forecast(rest.runs))

    return watching
