"""Commands about this machine: doctor, clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from kvdyno import pipeline
from kvdyno.doctor import Finding
from kvdyno.errors import HostError

from .app import (
    DataOption,
    JsonOption,
    ResultsOption,
    RunnerOption,
    WaitOption,
    app,
    console,
    print_json,
    project,
    say_waiting,
)
from .pages.shapes import hanging

_LEVEL_STYLE = {"ok": "green", "warn": "yellow", "bad": "bold red"}


@app.command(rich_help_panel="This machine")
def doctor(runner: RunnerOption = "local", data: DataOption = None, json: JsonOption = False) -> None:
    """List what this machine lacks for fair measurements, and the remedy for each.

    Example: `kvdyno doctor --runner docker`
    """
    found = pipeline.examine(project(data=data), runner=runner)
    if json:
        print_json([asdict(finding) for finding in found])
    else:
        _print_findings(found)
    bad = [finding for finding in found if finding.level == "bad"]
    if bad:
        raise HostError(
            f"not fit to measure: {', '.join(finding.what for finding in bad)}",
            remedy="; ".join(dict.fromkeys(finding.remedy for finding in bad)),
        )


def _print_findings(found: Sequence[Finding]) -> None:
    for finding in found:
        text = Text.assemble((f"{finding.what}: ", "bold"), finding.found)
        if finding.remedy:
            text.append(f"\nremedy: {finding.remedy}")
        hanging(console, finding.level, text, style=_LEVEL_STYLE[finding.level], width=4)


@app.command(rich_help_panel="This machine")
def clean(
    snapshots: Annotated[
        bool, typer.Option("--snapshots", metavar="", help="Also remove dataset snapshots.")
    ] = False,
    wait: WaitOption = False,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Remove what killed sweeps left, and unfinished runs. Records are never removed.

    Example: `kvdyno clean --snapshots`
    """
    here = project(results=results, data=data)
    removed = pipeline.clean(here, snapshots=snapshots, waiting=say_waiting if wait else None)
    if json:
        print_json({"removed": removed})
        return
    for name in removed:
        console.print(f"removed {name}", soft_wrap=True)
    if not removed:
        console.print("nothing to remove")
