"""Commands about engines: a list of them; engines build and packages, for versions from archives."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from kvdyno import catalog
from kvdyno.builds import (
    Step,
    VersionState,
    build_here,
    build_version,
    needed_packages,
    run_conformance,
    version_states,
    wanted_versions,
    wanted_without_version,
)
from kvdyno.errors import UsageError
from kvdyno.model.engine import RunnerName
from kvdyno.model.project import Project
from kvdyno.model.units import human_bytes
from kvdyno.model.versions import read_versions, versioned
from kvdyno.spec import engines_named

from .app import EnginesOption, JsonOption, RunnerOption, app, console, print_json, print_line, project, words
from .pages.engines import engine_document, engines_table
from .pages.shapes import plain_table

engines = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")
app.add_typer(engines, name="engines", rich_help_panel="Look")


NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Such as rocksdb@11.8.1; all listed versions without one."),
]
ExperimentOption = Annotated[
    str | None,
    typer.Option("--experiment", metavar="NAME", help="Only the versions that this experiment names."),
]
NeededExperimentOption = Annotated[str, typer.Option("--experiment", metavar="NAME", help="The experiment.")]
ExperimentRunnerOption = Annotated[
    RunnerName,
    typer.Option("--runner", "-r", help="What runs the engines that the experiment names no runner for."),
]
ToolsOption = Annotated[bool, typer.Option("--tools", metavar="", help="The engine's own benchmark as well.")]


@engines.callback()
def list_engines(context: typer.Context, runner: RunnerOption = "local", json: JsonOption = False) -> None:
    """List the engines that are built here, and the versions that can be built.

    Example: `kvdyno engines`
    """
    if context.invoked_subcommand:
        return
    here = project()
    found = catalog.discover(here, runner=runner)
    if json:
        print_json([engine_document(engine) for engine in found.values()])
        return
    engines_table(console, found)
    if runner == "local":
        _versions_table(version_states(here))


def _versions_table(states: Iterable[VersionState]) -> None:
    """What versions.yaml lists, and what is there of it."""
    table = plain_table("version", "state", ">size", ">to build")
    for state in states:
        needs = f"{state.listed.cpu_minutes:g} CPU min, {human_bytes(state.listed.disk)}"
        size = human_bytes(state.size_bytes) if state.built else ""
        table.add_row(versioned(state.library, state.version), _state_text(state), size, needs)
    if table.row_count:
        console.print()
        console.print(table)


def _state_text(state: VersionState) -> str:
    if not state.built:
        return "not built"
    return "built, drivers: " + (", ".join(state.drivers) or "none")


@engines.command()
def build(
    names: NamesArgument = None,
    experiment: ExperimentOption = None,
    chosen: EnginesOption = None,
    runner: ExperimentRunnerOption = "local",
    tools: ToolsOption = False,
    test: Annotated[
        bool, typer.Option("--test", metavar="", help="Run the conformance suite on what was built.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="Compilations at a time.")
    ] = None,
) -> None:
    """Build versions of engines from archives of package registries; what is up to date is left alone.

    Engines that need no version, such as the chunk store, are compiled where they are asked for. An
    interrupted build goes on where it was.

    Example: `kvdyno engines build rocksdb@11.8.1`
    """
    here = project()
    _refuse_both(names, experiment)
    if experiment:
        asked = _named(here, experiment, chosen, runner).get("local", ())
    else:
        asked = _asked(here, names or (), chosen=words(chosen))
    if own := wanted_without_version(here, asked):
        with BuildDisplay() as shown:
            build_here(here, own, step=shown.step, jobs=jobs)
    states = {(state.library, state.version): state for state in version_states(here)}
    for (library, version), wanted in wanted_versions(here, asked).items():
        state = states[library, version]
        missing = [engine for engine in wanted if engine not in state.drivers]
        if state.built and not missing and not tools and not test:
            print_line(f"{versioned(library, version)}: is up to date")
            continue
        if not state.built:
            _announce(state)
        begun = time.monotonic()
        with BuildDisplay() as shown:
            prefix = build_version(
                here, library, version, engines=wanted, step=shown.step, jobs=jobs, tools=tools
            )
            if test:
                for engine in wanted:
                    run_conformance(here, prefix, engine, step=shown.step, jobs=jobs)
        print_line(f"{versioned(library, version)}: done in {time.monotonic() - begun:.0f} s, {prefix}")


@engines.command()
def packages(
    names: NamesArgument = None,
    experiment: ExperimentOption = None,
    chosen: EnginesOption = None,
    tools: ToolsOption = False,
) -> None:
    """Print the Debian packages that building versions needs on this machine, one a line.

    Example: `kvdyno engines packages --experiment quickstart`
    """
    here = project()
    _refuse_both(names, experiment)
    if experiment:
        # An image's build fetches the archive of its version here, too.
        asked = tuple(chain.from_iterable(_named(here, experiment, chosen, "local").values()))
    else:
        asked = _asked(here, names or (), chosen=words(chosen))
    for package in needed_packages(here, wanted_versions(here, asked), tools=tools):
        typer.echo(package)


@engines.command()
def runners(
    experiment: NeededExperimentOption,
    chosen: EnginesOption = None,
    runner: ExperimentRunnerOption = "local",
) -> None:
    """Print the runners that an experiment needs, one a line.

    Example: `kvdyno engines runners --experiment runner-parity`
    """
    for each in _named(project(), experiment, chosen, runner):
        typer.echo(each)


def _named(
    here: Project, experiment: str, chosen: str | None, runner: RunnerName
) -> Mapping[RunnerName, tuple[str, ...]]:
    return engines_named(experiment, project=here, labels=words(chosen), runner=runner)


def _refuse_both(names: Sequence[str] | None, experiment: str | None) -> None:
    if experiment and names:
        raise UsageError("expected names or --experiment, found both")


def _asked(here: Project, names: Sequence[str], *, chosen: Sequence[str]) -> tuple[str, ...]:
    """The names that are asked for without an experiment; every listed version where there is none."""
    return (*names, *chosen) or read_versions(here).names()


def _announce(state: VersionState) -> None:
    listed = state.listed
    print_line(
        f"{versioned(state.library, state.version)}: about {listed.cpu_minutes:g} minutes of one core and "
        f"{human_bytes(listed.disk)} of disk, from {listed.archive.file}"
    )


class BuildDisplay:
    """A build on the terminal: a bar while compilers run, elsewhere a line at every tenth."""

    def __init__(self) -> None:
        columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._task: TaskID | None = None
        self._tenth = 0
        self.step = Step(say=print_line, progress=self._progress)

    def __enter__(self) -> BuildDisplay:
        """Start drawing, on a terminal."""
        if console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_failure: object) -> None:
        """Stop drawing."""
        if console.is_terminal:
            self._bar.stop()

    def _progress(self, done: int, total: int) -> None:
        if not console.is_terminal:
            tenth = done * 10 // max(1, total)
            if tenth != self._tenth and done < total:
                print_line(f"  {done} of {total} compiled")
            self._tenth = tenth
            return
        if self._task is None:
            self._task = self._bar.add_task("", total=total)
        self._bar.update(self._task, completed=done, total=total)
