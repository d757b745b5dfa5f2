"""Which commit or version made an engine slower: bisect."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Annotated

import typer

from kvdyno import pipeline

from .app import (
    DataOption,
    ProfileOption,
    ResultsOption,
    UncappedOption,
    WaitOption,
    app,
    console,
    project,
    share_of,
)
from .engines import BuildDisplay
from .pages import regress as shown
from .progress import GateDisplay
from .regress import EngineOption, MarginOption, SuiteOption, seconds_of


@app.command(rich_help_panel="Measure")
def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A git revision or version before the change.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A later one that is worse.")],
    point: Annotated[
        str | None,
        typer.Option(
            "--point", metavar="NAME", help="The suite's point that is worse; else all.", show_default=False
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="The suite's metric that is worse.")
    ] = "throughput",
    suite: SuiteOption = "quick",
    profile: ProfileOption = "quick",
    engine: EngineOption = None,
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Measure at most this long in all.")
    ] = "2h",
    margin: MarginOption = None,
    uncapped: UncappedOption = False,
    wait: WaitOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
) -> None:
    """Find the first commit or version after GOOD that is worse than GOOD by more than the margin.

    GOOD and BAD are git revisions, or versions of one engine (`rocksdb@9.9.3 rocksdb@10.4.2`), of which those
    in engines/versions.yaml between them are compared. A version that is not built is passed by.

    Exact metrics need one pair a candidate; `binary.size` and `instructions.per_operation` need no pair.

    Exit status: 0 found, 2 not located. Repeat the command to continue it.

    Example: `kvdyno bisect v1 HEAD --point a`
    """
    request = pipeline.GateRequest(
        base=good,
        head=bad,
        suite=suite,
        profile=profile,
        engine=engine,
        margin=None if margin is None else share_of(margin, option="--margin"),
        point=point,
        metric=metric,
    )
    here = project(results=results, data=data)
    how = pipeline.SweepSettings(uncapped=uncapped)

    def prepare(asked: pipeline.GateRequest) -> pipeline.Gate:
        with BuildDisplay() as display:
            return pipeline.prepare_gate(here, asked, how=how, step=display.step)

    def measure(gate: pipeline.Gate) -> pipeline.GateResult:
        with GateDisplay(console, budget_seconds=gate.spec.budget_seconds) as display:
            return pipeline.run_gate(here, gate, how=how, observer=display, wait=wait)

    candidates = pipeline.candidates_between(here, good, bad)
    found = pipeline.bisect(
        request, candidates, budget_seconds=seconds_of(budget), prepare=prepare, measure=measure
    )
    typer.echo("\n".join(_lines(found, request)))
    typer.echo(f"again: {_again(request, budget=budget, margin=margin, uncapped=uncapped)}")
    raise typer.Exit(0 if found.bad_confirmed and found.left.located else 2)


def _lines(found: pipeline.Bisection, request: pipeline.GateRequest) -> list[str]:
    """Each candidate that was looked at, then the first bad one or the range that is left."""
    lines = []
    for n, finding in sorted(found.findings.items()):
        verdict = found.verdicts.get(n)
        figures = shown.figures(verdict) if verdict else ""
        why = f": {found.skipped[n]}" if n in found.skipped else ""
        lines.append(f"{_short(found.candidates[n])} {finding} {figures}".rstrip() + why)
    if found.out_of_budget:
        lines.append("the budget ended first: give more time")
    left = found.left
    if not found.bad_confirmed:
        return [*lines, f"not located: {request.head} was not found worse than {request.base}"]
    last = found.candidates[left.last]
    if left.located:
        before = found.candidates[left.last - 1] if left.last else request.base
        alone = replace(request, base=before if "@" in last else f"{last}~1", head=last)
        return [
            *lines,
            f"first bad {'version' if '@' in last else 'revision'}: {last}",
            f"to see it alone: {_regress(alone)}",
        ]
    return [*lines, f"not located: it is one of {_short(found.candidates[left.first])} to {_short(last)}"]


def _short(candidate: str) -> str:
    """A version as it is, a commit by its first digits."""
    return candidate if "@" in candidate else candidate[:12]


def _regress(request: pipeline.GateRequest) -> str:
    return shlex.join(["kvdyno", "regress", request.base, request.head, *_common(request)])


def _again(request: pipeline.GateRequest, *, budget: str, margin: str | None, uncapped: bool) -> str:
    words = ["kvdyno", "bisect", request.base, request.head, *_common(request), "--budget", budget]
    words += [*(["--point", request.point] if request.point else []), "--metric", request.metric or ""]
    words += [*(["--margin", margin] if margin else []), *(["--uncapped"] if uncapped else [])]
    return shlex.join(words)


def _common(request: pipeline.GateRequest) -> list[str]:
    """The options that bisect and regress share."""
    engine = ["--engine", request.engine] if request.engine else []
    return ["--suite", request.suite, "--profile", request.profile, *engine]
