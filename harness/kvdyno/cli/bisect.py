"""Which commit made an engine slower: bisect."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from kvdyno import pipeline
from kvdyno.builds import Step
from kvdyno.errors import UsageError
from kvdyno.model.units import parse_seconds

from .app import DataOption, ProfileOption, ResultsOption, UncappedOption, app, console, project
from .pages import regress as shown
from .progress import GateDisplay


@app.command(rich_help_panel="Measure")
def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A git revision before the change.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A later one that is worse.")],
    point: Annotated[str, typer.Option("--point", metavar="NAME", help="The suite's point that is worse.")],
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="The suite's metric that is worse.")
    ] = "throughput",
    suite: Annotated[
        str, typer.Option("--suite", metavar="NAME", help="From experiments/regress/, or a path.")
    ] = "quick",
    profile: ProfileOption = "quick",
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Measure at most this long in all.")
    ] = "2h",
    uncapped: UncappedOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
) -> None:
    """Find the first commit after GOOD that is worse than GOOD by more than the suite's margin.

    Exit status: 0 found, 2 not located. The same command goes on where it was stopped.

    Example: `kvdyno bisect v1 HEAD --point a`
    """
    try:
        seconds = parse_seconds(budget)
    except ValueError as error:
        raise UsageError(str(error), where="--budget") from None
    here = project(results=results, data=data)
    how = pipeline.SweepSettings(uncapped=uncapped)
    step = Step(say=lambda line: console.print(line, soft_wrap=True), progress=lambda *_: None)

    def measure(gate: pipeline.Gate) -> pipeline.GateResult:
        with GateDisplay(console, budget_seconds=gate.spec.budget_seconds) as display:
            return pipeline.run_gate(here, gate, how=how, observer=display)

    request = pipeline.GateRequest(
        base=good, head=bad, suite=suite, profile=profile, point=point, metric=metric
    )
    found = pipeline.bisect(
        request,
        pipeline.candidates_between(here, good, bad),
        budget_seconds=seconds,
        prepare=lambda asked: pipeline.prepare_gate(here, asked, how=how, step=step),
        measure=measure,
    )
    typer.echo("\n".join(_lines(found, good=good)))
    words = ["kvdyno", "bisect", good, bad, "--point", point, "--metric", metric, "--suite", suite]
    words += ["--profile", profile, "--budget", budget, *(["--uncapped"] if uncapped else [])]
    typer.echo(f"again: {shlex.join(words)}")
    raise typer.Exit(0 if found.bad_confirmed and found.left.located else 2)


def _lines(found: pipeline.Bisection, *, good: str) -> list[str]:
    """Each candidate that was looked at, then the first bad one or the range that is left."""
    lines = []
    for n, finding in sorted(found.findings.items()):
        verdict = found.verdicts.get(n)
        figures = f" {shown.ratio(verdict)} ({shown.interval(verdict)})" if verdict else ""
        why = f": {found.skipped[n]}" if n in found.skipped else ""
        lines.append(f"{found.candidates[n][:12]} {finding}{figures}{why}")
    if found.out_of_budget:
        lines.append("the budget ended first: give more time")
    left = found.left
    if not found.bad_confirmed:
        return [*lines, f"not located: the last candidate was not found worse than {good}"]
    if left.located:
        return [*lines, f"first bad revision: {found.candidates[left.last]}"]
    first, last = found.candidates[left.first], found.candidates[left.last]
    return [*lines, f"not located: the first bad revision is one of {first[:12]} to {last[:12]}"]
