"""The command that tests the dynamometer itself: selftest."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kvdyno import catalog, pipeline
from kvdyno.errors import EngineError, UsageError
from kvdyno.model.engine import Engine
from kvdyno.model.noise import HostNoise
from kvdyno.model.project import Project
from kvdyno.pipeline import selftest as parts
from kvdyno.selftest import agreement
from kvdyno.selftest.generators import Check
from kvdyno.selftest.noise import COMPARISONS_LEAST, COVERAGE_LEAST, FALSE_ALARMS_MOST, Score, scores

from .app import DataOption, JsonOption, RepeatOption, ResultsOption, app, console, print_json, project
from .display import SweepDisplay
from .forecast import Forecast

_EXPERIMENT = "selftest"
_TOOL_REPETITIONS = 7


@app.command(rich_help_panel="This machine")
def selftest(
    repeat: RepeatOption = None,
    tools: Annotated[
        bool, typer.Option("--tools/--no-tools", help="Compare with db_bench, and ycsb if it is named.")
    ] = True,
    db_bench: Annotated[
        Path | None,
        typer.Option("--db-bench", metavar="FILE", help="A db_bench of the same build; else the one on PATH."),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="The RocksDB engine that db_bench is a tool of.")
    ] = "rocksdb",
    ycsb: Annotated[
        Path | None, typer.Option("--ycsb", metavar="FILE", help="An upstream YCSB-cpp with that engine.")
    ] = None,
    results: ResultsOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Test this dynamometer on this host: does it see no difference where there is none?

    Draws are tested against their laws and histograms against another library's; twins of each engine run in turn
    and are compared as engines would be; rates stand beside db_bench's. What twins say of the host's noise is kept,
    and each report then says which differences it cannot see. Takes about an hour; nothing else may run.

    Example: `kvdyno selftest --repeat 9 --no-tools`
    """
    here = project(results=results, data=data)
    environment = parts.demand_quiet(here)
    engines, whole = pipeline.make_plan(here, pipeline.Request(experiment=_EXPERIMENT, repeat=repeat))
    checks = parts.check_generators(next(iter(engines.values())).binary)
    how = pipeline.Confinement()
    rest = pipeline.remaining(whole, pipeline.reusable(here, whole, how=how))
    with SweepDisplay(console, Forecast(rest.runs, load_seconds=0)) as display:
        swept = pipeline.sweep(here, whole, how=how, observer=display)
    counted = parts.check_histograms(here, swept.records)
    found = parts.measure_noise(here, whole, records=swept.records, environment=environment)
    compared = _tools(here, engines[engine], db_bench=db_bench, ycsb=ycsb) if tools else ()
    if json:
        print_json(_document(checks, counted, found, compared))
    else:
        _page(checks, counted, found, compared)
    _demand_sound(checks, counted, found, compared)
