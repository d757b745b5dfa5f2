"""The command that tests the dynamometer itself: selftest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import DataOption, JsonOption, RepeatOption, ResultsOption, app, project


@app.command(rich_help_panel="This machine")
def selftest(
    repeat: RepeatOption = None,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Measure stored runs again.")] = False,
    tools: Annotated[
        bool, typer.Option("--tools/--no-tools", help="Compare with db_bench, and ycsb if it is named.")
    ] = True,
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
    noise, which is kept; each later report names the differences that it cannot see. Takes about an hour;
    nothing else may run.

    Example: `kvdyno selftest --repeat 9 --no-tools`
    """
    from . import selftest_run  # statistics bring libraries that take seconds to import

    tested = selftest_run.Tools(engine=engine, db_bench=db_bench, ycsb=ycsb, wanted=tools, pairs=tool_pairs)
    selftest_run.run(project(results=results, data=data), repeat=repeat, tools=tested, force=force, json=json)
