"""Commands about images: images build, list, base, harness."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kvdyno.builds import get_archive
from kvdyno.host.docker_engine import connect
from kvdyno.host.libraries import archives_folder
from kvdyno.images import (
    HARNESS_IMAGE,
    ImageState,
    build_engine,
    build_harness,
    find_base,
    image_states,
)
from kvdyno.model.image import image_name
from kvdyno.model.project import Project
from kvdyno.model.sources import buildable_engines
from kvdyno.model.units import human_bytes
from kvdyno.model.versions import read_versions, split_version
from kvdyno.spec import engines_named

from .app import (
    EnginesOption,
    JsonOption,
    app,
    console,
    error_console,
    print_json,
    print_line,
    project,
    words,
)
from .engines import ExperimentRunnerOption
from .pages.shapes import harmless, plain_table

images = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(images, name="images", rich_help_panel="This machine", help="Build or list engines' images.")


BaseOption = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="IMAGE",
        help="What to build on; debian:bookworm-slim, or one made here where that cannot be pulled.",
        show_default=False,
    ),
]
ExperimentOption = Annotated[
    str | None,
    typer.Option("--experiment", metavar="NAME", help="Only the engines that this experiment names."),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", metavar="", help="Print the builds' output.")]


@images.command()
def build(
    engines: EnginesOption = None,
    experiment: ExperimentOption = None,
    runner: ExperimentRunnerOption = "docker",
    base: BaseOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Build the images that are missing or stale.

    Without names, an image of every engine's default version; `rocksdb@7.9.2` names another one. With an
    experiment and names, those of its engines.

    Example: `kvdyno images build --engines rocksdb`
    """
    here = project()
    if experiment:
        by_runner = engines_named(experiment, project=here, labels=words(engines), runner=runner)
        named = by_runner.get("docker", ())
    else:
        named = words(engines) or buildable_engines(here)
    wanted = dict.fromkeys(map(read_versions(here).resolve, named))
    if not wanted:
        print_line("no image is needed")
        return
    client = connect(timeout_seconds=_BUILD_SILENCE_SECONDS)
    states = image_states(client, here, tuple(wanted))
    found = find_base(here, named=base, say=print_line)
    for state in states:
        if not state.trouble and state.base == found.id:
            print_line(f"{image_name(state.engine)}: is up to date")
            continue
        begun = time.monotonic()
        archive = _archive(here, state.engine)
        build_engine(
            client, here, state.engine, base=found, say=print_line if verbose else _ignore, archive=archive
        )
        (now,) = image_states(client, here, [state.engine])
        took = f"built in {time.monotonic() - begun:.0f} s"
        print_line(f"{image_name(state.engine)}: {took}, {human_bytes(now.size_bytes)}, {now.id}")


def _archive(here: Project, name: str) -> Path | None:
    """That of the version that `name` ends with, fetched and verified; prints what building it takes."""
    engine, version = split_version(name)
    versions = read_versions(here)
    library = versions.library_of(engine)
    if version is None or library is None:
        return None
    listed = versions.libraries[library].versions[version]
    print_line(
        f"{image_name(name)}: about {listed.cpu_minutes:g} minutes of one core, unless an image of the same "
        f"version was built before, from {listed.archive.file}"
    )
    return get_archive(listed, folder=archives_folder(here), say=print_line)


@images.command(name="list")
def list_images(engines: EnginesOption = None, json: JsonOption = False) -> None:
    """List engines' images, and which of them may not be measured.

    Example: `kvdyno images list`
    """
    here = project()
    wanted = tuple(map(read_versions(here).resolve, words(engines)))
    states = image_states(connect(), here, wanted)
    if json:
        print_json([asdict(state) for state in states])
        return
    table = plain_table("engine", "version", ">size", "id", "state")
    for state in states:
        table.add_row(state.engine, *_cells(state))
    console.print(table)


@images.command(name="base")
def print_base(base: BaseOption = None) -> None:
    """Get or make the base image, and print its name; its progress goes to stderr.

    Example: `kvdyno images base`
    """
    found = find_base(project(), named=base, say=lambda line: error_console.print(harmless(line)))
    typer.echo(found.name)


@images.command()
def harness(base: BaseOption = None, verbose: VerboseOption = False) -> None:
    """Build an image of kvdyno itself, with LaTeX.

    Example: `kvdyno images harness`
    """
    client, begun = connect(timeout_seconds=_BUILD_SILENCE_SECONDS), time.monotonic()
    found = find_base(project(), named=base, say=print_line)
    made = build_harness(client, project(), base=found, say=print_line if verbose else _ignore)
    size = human_bytes(client.images.get(made).attrs["Size"])
    print_line(f"{HARNESS_IMAGE}: built in {time.monotonic() - begun:.0f} s, {size}, {made}")


def _cells(state: ImageState) -> tuple[str, ...]:
    size = human_bytes(state.size_bytes) if state.size_bytes else ""
    short = state.id.removeprefix("sha256:")[:12]
    return state.version, size, short, state.trouble or "current"


def _ignore(_line: str) -> None: ...


# Installing packages and compiling may take long between two lines of a build.
_BUILD_SILENCE_SECONDS = 1800
