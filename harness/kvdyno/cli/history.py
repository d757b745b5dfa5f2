"""What each revision made of a suite: history add, show, changes, report, import, export."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from kvdyno import pipeline
from kvdyno.errors import UsageError
from kvdyno.history import LEAST_ENTRIES, Format, export_text, ordered, standings
from kvdyno.model.history import Entry, Standing
from kvdyno.model.project import Project
from plots.units import change_text, quantity

from .app import (
    BuildsOfOption,
    JsonOption,
    NeededExperiment,
    ProfileOption,
    RecordedRunnerOption,
    ResultsOption,
    UncappedOption,
    app,
    console,
    print_json,
    project,
)
from .pages.shapes import counted, harmless, plain_table, relative

_REVISION = 12

history = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(
    history,
    name="history",
    rich_help_panel="Measure",
    help="Keep what each revision made, and see what drifts.",
)

HistoryOption = Annotated[
    Path | None,
    typer.Option(
        "--history",
        metavar="DIR",
        help="The folder of the history's files; results/history/ if not given.",
        file_okay=False,
        show_default=False,
    ),
]
SubjectOption = Annotated[
    str | None, typer.Option("--subject", metavar="NAME", help="Only this engine, by its label.")
]
MetricOption = Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Only this metric.")]
RevisionOption = Annotated[
    str | None,
    typer.Option("--revision", metavar="NAME", help="What was measured, such as a commit or a release."),
]


@history.command("add")
def add(
    experiment: NeededExperiment,
    profile: ProfileOption = "quick",
    revision: RevisionOption = None,
    runner: RecordedRunnerOption = None,
    builds_of: BuildsOfOption = None,
    uncapped: UncappedOption = False,
    history: HistoryOption = None,
    results: ResultsOption = None,
) -> None:
    """Add an experiment's stored results: throughput and what its tables show.

    The revision of an engine that was built from an archive is its version, of any other the commit of this
    checkout. Ratios to the experiment's baseline are kept as well, so that revisions can be compared across
    days and hosts.

    Example: `kvdyno run regress/wide; kvdyno history add regress/wide`
    """
    here = project(results=results)
    request = pipeline.Request(experiment=experiment, profile=profile, runner=runner or "local")
    recorded = pipeline.find_recorded(here, request, runner=runner, builds_of=builds_of, uncapped=uncapped)
    found = pipeline.analyse(here, recorded.plan, records=recorded.records.values())
    folder = _folder(here, history)
    _added(pipeline.add_to_history(recorded, found, folder=folder, revision=revision), folder)


@history.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="report.tsv of RocksDB, Bencher's JSON, or github-action-benchmark's JSON or data.js.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ],
    host: Annotated[
        str, typer.Option("--host", metavar="NAME", help="What to call the machine that measured it.")
    ] = "imported",
    revision: RevisionOption = None,
    history: HistoryOption = None,
    results: ResultsOption = None,
) -> None:
    """Add what another tool measured. A file that does not say which revision needs `--revision`.

    Example: `kvdyno history import report.tsv --host bench-1`
    """
    if not host.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"expected letters, digits, - and _, found {host!r}", where="--host")
    folder = _folder(project(results=results), history)
    now = datetime.datetime.now(datetime.UTC)
    _added(pipeline.import_to_history(file, folder=folder, host=host, revision=revision, now=now), folder)


@history.command("export")
def export(
    form: Annotated[Format, typer.Option("--format", help="Whose form.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, show_default=False)
    ],
    subject: SubjectOption = None,
    metric: MetricOption = None,
    revision: RevisionOption = None,
    history: HistoryOption = None,
    results: ResultsOption = None,
) -> None:
    """Write the history in another tool's form: rocksdb (report.tsv), bencher, or github.

    bencher and github hold one revision: each benchmark's latest, or `--revision`. github-action-benchmark
    asks whether larger is better, so export the metrics of either kind apart.

    Example: `kvdyno history export --format github --metric throughput -o bench.json`
    """
    entries: Sequence[Entry] = pipeline.read_history(
        _folder(project(results=results), history), subject=subject, metric=metric
    )
    if revision is not None:
        entries = [entry for entry in entries if entry.revision.startswith(revision)]
        if not entries:
            raise UsageError(f"the history has no revision {revision!r}", where="--revision")
    text = export_text(sorted(entries, key=lambda each: each.at), form=form)
    output.write_text(text, encoding="utf-8")
    console.print(f"{output}: {counted(len(text.splitlines()), 'line')}", soft_wrap=True)


@history.command("show")
def show(
    subject: SubjectOption = None,
    metric: MetricOption = None,
    history: HistoryOption = None,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Show where each track stands: its latest revision over the one before, and over the first.

    Two sweeps of two days are not paired, so a step is a hint; `kvdyno regress` decides. Where the same
    anchor ran beside both, steps and drifts are those of the ratio to it.

    Example: `kvdyno history show --metric throughput`
    """
    folder = _folder(project(results=results), history)
    found = standings(pipeline.read_history(folder, subject=subject, metric=metric))
    if json:
        print_json([_document(each) for each in found])
        return
    for (suite, name, host), mine in _grouped(found).items():
        console.print(Text(harmless(f"\n{suite}, {name}, host {host}"), "bold"))
        _page(mine)
    console.print("\nn: revisions. Bold: the intervals of the last two do not touch.", soft_wrap=True)


def _page(tracks: Sequence[Standing]) -> None:
    table = plain_table("subject", "point", "revision", ">latest", ">step", ">drift", ">n", gap=1)
    for each in tracks:
        names = (each.track.subject, each.track.point, each.latest.revision[:_REVISION])
        step = Text(change_text(each.step), "bold" if each.apart else "")
        drift, number = change_text(each.drift), str(len(each.entries))
        table.add_row(
            *map(harmless, names), quantity(each.latest.value, each.latest.unit), step, drift, number
        )
    console.print(table)


@history.command("report")
def report(
    subject: SubjectOption = None,
    metric: MetricOption = None,
    history: HistoryOption = None,
    results: ResultsOption = None,
) -> None:
    """Draw every track over its revisions, on one page.

    Example: `kvdyno history report`
    """
    here = project(results=results)
    entries = pipeline.read_history(_folder(here, history), subject=subject, metric=metric)
    console.print(relative(pipeline.write_history(here, entries)), soft_wrap=True)


@history.command("changes")
def changes(
    subject: SubjectOption = None,
    metric: MetricOption = None,
    history: HistoryOption = None,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Find the revisions at which a track changed for good, with apache-otava.

    `harness/setup.sh otava` installs it. A track is judged by its ratios to an anchor where all entries have
    them. Such a change is a hint: `kvdyno bisect` confirms and locates it.

    Example: `kvdyno history changes --metric throughput`
    """
    here = project(results=results)
    entries = pipeline.read_history(_folder(here, history), subject=subject, metric=metric)
    found = pipeline.find_changes(here, entries)
    if json:
        print_json([{**c.track._asdict(), "revision": c.revision, "ratio": c.ratio} for c in found])
        return
    table = plain_table("subject", "point", "metric", "from revision", ">change", gap=1)
    for each in found:
        track = each.track
        names = (track.subject, track.point, track.metric, each.revision[:_REVISION])
        table.add_row(*map(harmless, names), change_text(each.ratio))
    if found:
        console.print(table)
    long = [mine for mine in ordered(entries).values() if len(mine) >= LEAST_ENTRIES]
    judged = f"{counted(len(long), 'track')} of {LEAST_ENTRIES} revisions or more"
    console.print(f"{counted(len(found), 'change')} in {judged}", soft_wrap=True)


def _folder(here: Project, chosen: Path | None) -> Path:
    return chosen or here.history


def _added(counts: tuple[int, int], folder: Path) -> None:
    new, every = counts
    known = f", {every - new} known already" if new < every else ""
    console.print(f"{relative(folder)}: {new} added{known}", soft_wrap=True)


def _grouped(found: Iterable[Standing]) -> dict[tuple[str, str, str], list[Standing]]:
    """By suite, metric and host, in the order in which they appear."""
    groups: dict[tuple[str, str, str], list[Standing]] = {}
    for each in found:
        groups.setdefault((each.track.suite, each.track.metric, each.track.host), []).append(each)
    return groups


def _document(standing: Standing) -> dict[str, Any]:
    """For scripts; docs/formats.md describes it."""
    return {
        **standing.track._asdict(),
        "step": standing.step,
        "drift": standing.drift,
        "apart": standing.apart,
        "anchored": standing.anchored,
        "entries": [entry.model_dump(exclude={*standing.track._fields}) for entry in standing.entries],
    }
