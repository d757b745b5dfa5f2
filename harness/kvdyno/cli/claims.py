"""Verdicts on experiments' claims: claims."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from kvdyno import pipeline
from kvdyno.errors import StoreError
from kvdyno.model.engine import RunnerName
from kvdyno.model.project import Project
from kvdyno.model.results import Analysis, ClaimVerdict

from .app import (
    BuildsOfOption,
    JsonOption,
    ProfileOption,
    RecordedRunnerOption,
    ResultsOption,
    UncappedOption,
    app,
    console,
    error_console,
    print_json,
    project,
    warn_of,
)
from .pages.shapes import counted, hanging, harmless, plain_table, relative

#: Exit statuses beside those of errors: a claim is contradicted; none is, but not all are supported.
CONTRADICTED, OPEN = 9, 10

_STYLES: dict[ClaimVerdict | str, str] = {
    "supported": "green",
    "contradicted": "bold red",
    "undecided": "yellow",
    "not measured": "dim",
}


@app.command(rich_help_panel="Look")
def claims(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT...",
            help="Names from experiments/ or paths of YAML files; without one, all that were measured.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = "quick",
    runner: RecordedRunnerOption = None,
    builds_of: BuildsOfOption = None,
    uncapped: UncappedOption = False,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Judge claims by stored records: bounds, what was measured, the verdict, and what would settle it.

    Measures nothing. Verdicts are adjusted for the number of claims of an experiment. claims.json beside the
    experiment's report holds them for scripts.

    Exit status: 0 every claim is supported, 9 one is contradicted, 10 none is contradicted but one is
    undecided or not measured; those of errors as for every command.

    Example: `kvdyno claims evendb-writes --profile small`
    """
    here = project(results=results)
    judged: list[tuple[Analysis, Path]] = []
    for name in experiments or pipeline.measured_experiments(here, profile=profile):
        request = pipeline.Request(experiment=name, profile=profile, runner=runner or "local")
        try:
            judged += _judged(here, request, runner=runner, builds_of=builds_of, uncapped=uncapped)
        except StoreError as error:
            if experiments:
                raise
            error_console.print(f"note: {name} is left out: {error}", soft_wrap=True)
    if not judged:
        raise StoreError(
            f"no experiment with claims has records at profile {profile!r}",
            where=str(here.runs),
            remedy="run one, or name its --profile",
        )
    if json:
        print_json([pipeline.claims_document(found) for found, _ in judged])
    else:
        for found, path in judged:
            _page(found, path)
    status = status_of(claim.verdict for found, _ in judged for claim in found.claims)
    if status:
        raise typer.Exit(status)


def _judged(
    here: Project,
    request: pipeline.Request,
    *,
    runner: RunnerName | None,
    builds_of: str | None,
    uncapped: bool,
) -> list[tuple[Analysis, Path]]:
    """The analysis of an experiment, and where its verdicts are; none if it has no claims."""
    recorded = pipeline.find_recorded(here, request, runner=runner, builds_of=builds_of, uncapped=uncapped)
    experiment = recorded.plan.experiment
    if not experiment.claims:
        return []
    warn_of(pipeline.corrupt(here, recorded.plan))
    for note in recorded.notes:
        error_console.print(f"note: {note}", soft_wrap=True)
    found = pipeline.analyse(here, recorded.plan, records=recorded.records.values())
    for note in found.excluded:
        error_console.print(f"note: {harmless(note)}", soft_wrap=True)
    path = pipeline.write_claims(here, found, experiment, partial=recorded.partial, uncapped=uncapped)
    return [(found, path)]


def status_of(verdicts: Iterable[ClaimVerdict]) -> int:
    """The exit status that these verdicts together have."""
    every = set(verdicts)
    if "contradicted" in every:
        return CONTRADICTED
    return OPEN if every - {"supported"} else 0


def _page(found: Analysis, path: Path) -> None:
    """A line a claim and point, then the open claims with what would settle them."""
    lines = pipeline.claim_lines(found)
    number = counted(len(found.claims), "claim")
    console.print(Text(f"\n{found.experiment}, profile {found.profile}: {number}", "bold"))
    points = any(line.point for line in lines)
    table = plain_table(
        "claim", *(["point"] if points else []), "bounds", ">measured", ">n", "verdict", gap=1
    )
    for line in lines:
        verdict = Text(line.verdict, _STYLES.get(line.verdict, ""))
        table.add_row(
            line.claim, *([line.point] if points else []), line.bounds, line.measured, line.n, verdict
        )
    console.print(table)
    for claim in found.claims:
        if claim.verdict != "supported":
            settle = f"; would settle it: {claim.settle}" if claim.settle else ""
            hanging(console, f"{claim.id}:", harmless(claim.why + settle), style="bold")
    console.print(relative(path), soft_wrap=True)
