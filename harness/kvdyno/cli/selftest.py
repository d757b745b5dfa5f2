"""The command that tests the dynamometer itself: selftest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvdyno.errors import UsageError

from .app import DataOption, JsonOption, RepeatOption, ResultsOption, RunnerOption, app, project


@app.command(rich_help_panel="This machine")
def selftest(
    runner: RunnerOption = "local",
    repeat: RepeatOption = None,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Measure stored runs again.")] = False,
    tools: Annotated[
        bool | None,
        typer.Option(
            "--tools/--no-tools",
            help="Compare with db_bench, and ycsb if it is named; yes if not given, but not in containers.",
            show_default=False,
        ),
    ] = None,
    db_bench: Annotated[
        Path | None,
        typer.Option(
            "--db-bench",
            metavar="FILE",
            help="A db_bench of the same build; else the engine's own (engines build --tools), or PATH's.",
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="The RocksDB engine that db_bench is a tool of.")
    ] = "rocksdb",
    ycsb: Annotated[
        Path | None, typer.Option("--ycsb", metavar="FILE", help="An upstream YCSB-cpp with that engine.")
    ] = None,
    tool_pairs: Annotated[
        int,
        typer.Option(
            "--tool-pairs", metavar="N", min=3, help="How often each tool takes turns with the driver."
        ),
    ] = 15,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Test this dynamometer on this host: does it see no difference where there is none?

    It tests draws against their laws and histograms against another library's, and puts rates beside
    db_bench's. Twins of each engine run in turn and are compared as engines would be. They show the host's
    noise, which is kept; each later report names the differences that it cannot see. Disk, memory and the
    driver's own cost are measured, too. Takes about an hour; nothing else may run.

    With `--runner docker` twins run in containers, and so does the driver that draws. Reports and gates take
    the noise of the runner that measured.

    Example: `kvdyno selftest --repeat 9 --no-tools`
    """
    from . import selftest_run  # statistics bring libraries that take seconds to import

    if runner != "local" and (tools or db_bench or ycsb):
        raise UsageError(
            "expected the local runner: images hold no other tools",
            where="--tools" if tools else "--db-bench" if db_bench else "--ycsb",
            remedy="leave it out, or leave out --runner",
        )
    wanted = runner == "local" if tools is None else tools
    tested = selftest_run.Tools(engine=engine, db_bench=db_bench, ycsb=ycsb, wanted=wanted, pairs=tool_pairs)
    here = project(results=results, data=data)
    selftest_run.run(here, runner=runner, repeat=repeat, tools=tested, force=force, json=json)
