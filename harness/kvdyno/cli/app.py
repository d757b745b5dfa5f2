"""The application object, its consoles, and the options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from kvdyno import __version__
from kvdyno.errors import UsageError
from kvdyno.model.engine import RunnerName
from kvdyno.model.experiment import CachePolicy
from kvdyno.model.project import Project
from kvdyno.store import CorruptRecord

from .pages.shapes import harmless

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "A dynamometer for storage engines: one YAML file in; fair, capped, repeatable measurements out.\n\n"
        "Start with `kvdyno doctor`, then `kvdyno plan quickstart`, then `kvdyno run quickstart`.\n\n"
        "Exit status: 0 done, 2 wrong argument, 3 wrong experiment file, 4 engine trouble, 5 this machine "
        "lacks something, 6 another sweep is running, 7 results unreadable or unwritable, 8 some runs "
        "failed, 130 interrupted; of `claims` 9 one is contradicted, 10 one is undecided or not measured. "
        "`regress` has its own."
    ),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kvdyno {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", help="Print the version.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """What may stand before a command."""


# Markup is off: names, reasons and logs may hold brackets.
console = Console(highlight=False, markup=False)
error_console = Console(stderr=True, highlight=False, markup=False)

NeededExperiment = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT", help="A name from experiments/ or a path to a YAML file.", show_default=False
    ),
]
BuildsOfOption = Annotated[
    str | None,
    typer.Option("--builds-of", metavar="SWEEP", help="Records of the builds that this sweep measured."),
]
Experiment = Annotated[
    str | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help="A name from experiments/ or a path to a YAML file; without one, the names are listed.",
        show_default=False,
    ),
]
ProfileOption = Annotated[
    str,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        help="Scale of everything: quick, small, medium, paper (experiments/profiles.yaml).",
    ),
]
EnginesOption = Annotated[
    str | None,
    typer.Option("--engines", "-e", metavar="A,B", help="Only these engines, by label or name."),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="PATTERN",
        help="Only points that match: axis=value, or a glob on the slug. Repeatable: any matches.",
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="Leave out points that match. Repeatable."),
]
RepeatOption = Annotated[
    int | None,
    typer.Option("--repeat", metavar="N", help="Repetitions, instead of the experiment's."),
]
RunnerOption = Annotated[
    RunnerName,
    typer.Option(
        "--runner",
        "-r",
        help="What confines the drivers: this machine's own cgroups, or Docker (`make images` first).",
    ),
]
#: What `kvdyno run` may hand runs to.
SweepRunnerOption = Annotated[
    Literal["local", "docker", "slurm"],
    typer.Option(
        "--runner",
        "-r",
        help="What confines the drivers: this machine's own cgroups, or Docker (`make images` first). slurm: "
        "on the hosts of a cluster.",
    ),
]
RecordedRunnerOption = Annotated[
    RunnerName | None,
    typer.Option("--runner", "-r", help="What ran the engines; any if not given.", show_default=False),
]
CacheOption = Annotated[
    CachePolicy | None,
    typer.Option(
        "--cache",
        help="What caches hold when a run starts, instead of the experiment's choice: nothing (cold), what "
        "the storage below keeps of a snapshot just read (snapshot-read), or the store's pages (warm).",
        show_default=False,
    ),
]
GovernorOption = Annotated[
    str | None,
    typer.Option(
        "--governor",
        metavar="NAME",
        help="CPU frequency governor during the sweep, such as performance; restored afterwards.",
    ),
]
NoTurboOption = Annotated[
    bool,
    typer.Option("--no-turbo", metavar="", help="Turbo off during the sweep; restored afterwards."),
]
UncappedOption = Annotated[
    bool, typer.Option("--uncapped", metavar="", help="Run without a memory cap; every record notes it.")
]
WaitOption = Annotated[
    bool,
    typer.Option("--wait", metavar="", help="Wait until the sweep that runs on this machine has ended."),
]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="DIR",
        help="Where records and reports are; results/ if not given.",
        file_okay=False,
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Where stores and snapshots go, on a real disk; KVDYNO_DATA, else .kvdyno/, if not given.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", metavar="", help="Print JSON for scripts instead of text.")
]


def project(*, results: Path | None = None, data: Path | None = None) -> Project:
    """The checkout that this command works on."""
    return Project.find(results=results, data=data)


def words(text: str | None) -> tuple[str, ...]:
    """A comma-separated list."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def share_of(text: str, *, option: str) -> float:
    """A share between 0 and 1, as "5%" or "0.05". Raises UsageError."""
    number, percent, _ = text.partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f'expected a share like "5%" or 0.05, found {text!r}', where=option)
    return share


def cpu_list(text: str | None) -> tuple[int, ...] | None:
    """CPUs as the kernel writes them: "0-3,6"."""
    if text is None:
        return None
    chosen: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        try:
            span = range(int(first), int(last or first) + 1)
        except ValueError:
            span = range(0)
        if not span or span[-1] >= _CPUS_MAX:
            raise UsageError(f'expected CPUs like "0-3,6", found {text!r}', where="--cpus")
        chosen.update(span)
    return tuple(sorted(chosen))


_CPUS_MAX = 1 << 16


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def print_line(line: str) -> None:
    """A line of a program's own output, without what would command the terminal."""
    console.print(harmless(line), soft_wrap=True)


def say_waiting(holder: str) -> None:
    """Name the sweep that is waited for, whatever else is printed."""
    error_console.print(f"waiting for another sweep to end: {harmless(holder)}", soft_wrap=True)


def warn_of(corrupt: Sequence[CorruptRecord]) -> None:
    """Speak of records that cannot be read, whatever else is printed."""
    for record in corrupt:
        error_console.print(
            Text.assemble(("warning: ", "yellow"), f"unreadable record, left out: {record}"), soft_wrap=True
        )
