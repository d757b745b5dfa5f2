"""The gate for CI: regress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from kvdyno import pipeline
from kvdyno.builds import Step
from kvdyno.errors import GateError, Interrupted, KvdynoError, UsageError
from kvdyno.model.project import Project
from kvdyno.model.units import parse_seconds

from .app import (
    DataOption,
    JsonOption,
    ProfileOption,
    ResultsOption,
    UncappedOption,
    WaitOption,
    app,
    console,
    cpu_list,
    error_console,
    print_json,
    project,
    share_of,
)
from .engines import BuildDisplay
from .pages import regress as shown
from .pages.shapes import silent
from .progress import GateDisplay

SuiteOption = Annotated[
    str, typer.Option("--suite", metavar="NAME", help="From experiments/regress/, or a path.")
]
EngineOption = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="The engine to build from revisions, patches and trees."),
]
MarginOption = Annotated[
    str | None,
    typer.Option("--margin", metavar="SHARE", help="Changes up to it pass, such as 5%; else the suite's."),
]

_FILE = {"metavar": "FILE", "dir_okay": False, "show_default": False}


class _Gate(TyperCommand):
    """A wrong option ends with the gate's status for errors: typer's is that of "undecided"."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See click.Command."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # typer has a click of its own, and does not export its errors.
            wording = getattr(error, "format_message", None)
            if wording is None:
                raise
            raise GateError(wording(), where="kvdyno regress", remedy="kvdyno regress --help") from error


@app.command(rich_help_panel="Measure", cls=_Gate)
def regress(
    base: Annotated[
        str,
        typer.Argument(metavar="BASE", help="What to compare with.", show_default=False),
    ],
    head: Annotated[
        str,
        typer.Argument(metavar="HEAD", help="What may have become slower.", show_default=False),
    ],
    suite: SuiteOption = "quick",
    profile: ProfileOption = "quick",
    engine: EngineOption = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="At most this long, such as 30min; else the suite's."),
    ] = None,
    margin: MarginOption = None,
    twins: Annotated[
        bool,
        typer.Option("--twins", metavar="", help="Measure even if both are one build: a test of the gate."),
    ] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write a test case for each comparison.", **_FILE)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write what changed, for a comment.", **_FILE)
    ] = None,
    why: Annotated[
        bool | None,
        typer.Option(
            "--why/--no-why",
            help="Look for what changed where HEAD is worse; by default if the budget leaves time for it.",
            show_default=False,
        ),
    ] = None,
    uncapped: UncappedOption = False,
    cpus: Annotated[
        str | None,
        typer.Option("--cpus", metavar="LIST", help='Confine drivers to these CPUs, such as "0-3,6".'),
    ] = None,
    wait: WaitOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Decide whether HEAD is slower than BASE, measuring both in turn until it is decided.

    BASE and HEAD are git revisions of this checkout, engines, patches, other trees or images: `HEAD~1`,
    `rocksdb@10.4.2`, `chunkstore:log_limit=4MiB`, `chunkstore:preset=published`, `./fix.patch`,
    `../other-checkout`, `image:kvdyno-chunkstore:latest`. Repeat the command to continue it.

    Exit status: 0 no regression, 1 regression, 2 undecided, 3 error, 130 interrupted.

    Example: `kvdyno regress HEAD~1 HEAD --budget 30min --margin 5%`
    """
    try:
        request = pipeline.GateRequest(
            base,
            head,
            suite=suite,
            profile=profile,
            engine=engine,
            margin=None if margin is None else share_of(margin, option="--margin"),
            budget_seconds=None if budget is None else seconds_of(budget),
            twins=twins,
        )
        for option, path in (("--junit", junit), ("--markdown", markdown)):
            _demand_folder(path, option=option)
        how = pipeline.SweepSettings(uncapped=uncapped, cpus=cpu_list(cpus))
        here = project(results=results, data=data)
        forms = _Forms(junit=junit, markdown=markdown, json=json)
        status = _run(here, request, how=how, wait=wait, why=why, forms=forms)
    except Interrupted:
        raise
    except KvdynoError as error:
        raise GateError(error.message, where=error.where, remedy=error.remedy) from error
    except OSError as error:
        raise GateError(
            error.strerror or str(error), where=str(error.filename or "kvdyno regress")
        ) from error
    raise typer.Exit(status)


@dataclass(frozen=True)
class _Forms:
    """In which forms the outcome is wanted, besides the terminal's."""

    junit: Path | None
    markdown: Path | None
    json: bool


def _run(
    here: Project,
    request: pipeline.GateRequest,
    *,
    how: pipeline.SweepSettings,
    wait: bool,
    why: bool | None,
    forms: _Forms,
) -> int:
    gate = _prepared(here, request, how=how, json=forms.json)
    shown_on = silent() if forms.json else console
    with GateDisplay(shown_on, budget_seconds=gate.spec.budget_seconds) as display:
        found = pipeline.run_gate(here, gate, how=how, observer=display, wait=wait)
    command = shown.command_again(request, gate=gate, uncapped=how.uncapped)
    report: Path | None = None
    if any(record.status == "ok" for record in found.records):
        analysis = pipeline.analyse(here, found.plan, records=found.records)
        paths = pipeline.write_report(
            here, analysis, gate.whole.experiment, commands=[command], uncapped=how.uncapped
        )
        report = paths.html
    reasons: tuple[pipeline.Reason, ...] = ()
    if _is_explained(found, wanted=why):
        out = pipeline.report_folder(here, gate.whole.experiment, uncapped=how.uncapped)
        reasons = pipeline.explain(here, found, out=out, say=error_console.print)
    _write(found, command=command, report=report, reasons=reasons, forms=forms)
    return found.status


def _is_explained(found: pipeline.GateResult, *, wanted: bool | None) -> bool:
    """As wanted, or if the budget leaves time for every point that is worse."""
    measured = {each.name for each in found.gate.points}
    points = {each.point for each in found.verdicts if each.regression} & measured
    expected = pipeline.SECONDS_A_POINT * len(points)
    return found.seconds + expected <= found.gate.spec.budget_seconds if wanted is None else wanted


def _write(
    found: pipeline.GateResult,
    *,
    command: str,
    report: Path | None,
    reasons: Sequence[pipeline.Reason],
    forms: _Forms,
) -> None:
    """The outcome in every form that is wanted."""
    if forms.junit:
        forms.junit.write_text(shown.junit(found), encoding="utf-8")
    if forms.markdown:
        text = shown.markdown(found, command=command, reasons=reasons)
        forms.markdown.write_text(text, encoding="utf-8")
    if forms.json:
        print_json(shown.document(found, command=command, report=report, reasons=reasons))
    else:
        shown.page(console, found, command=command, report=report, reasons=reasons)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in shown.annotation_lines(found):
            typer.echo(line, err=True)


def _prepared(
    here: Any, request: pipeline.GateRequest, *, how: pipeline.SweepSettings, json: bool
) -> pipeline.Gate:
    """The gate, with builds on the terminal or, beside JSON, as lines of stderr."""
    if json:
        step = Step(say=lambda line: error_console.print(line, soft_wrap=True), progress=lambda *_: None)
        return pipeline.prepare_gate(here, request, how=how, step=step)
    with BuildDisplay() as display:
        return pipeline.prepare_gate(here, request, how=how, step=display.step)


def seconds_of(text: str) -> float:
    """A budget: a duration. Raises UsageError."""
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise UsageError(str(error), where="--budget") from None


def _demand_folder(path: Path | None, *, option: str) -> None:
    """Raises UsageError where no file can be written, before anything runs."""
    if path and not path.absolute().parent.is_dir():
        raise UsageError("expected a folder that exists, found none", where=f"{option} {path}")
