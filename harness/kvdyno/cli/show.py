"""Commands that show what there is: show, compare, describe."""

from __future__ import annotations

import json as json_module
from typing import Annotated

import pandas as pd
import typer

from kvdyno import catalog, pipeline, spec
from kvdyno.errors import StoreError, UsageError
from kvdyno.model.record import Record
from kvdyno.model.words import nearest
from kvdyno.store import RunStore

from .app import JsonOption, ResultsOption, RunnerOption, app, console, print_json, project, warn_of
from .pages.engines import driver_page, engine_document, engine_page, metrics_page
from .pages.records import comparison, record_page, records_table


@app.command(rich_help_panel="Look")
def show(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="A run's id or its end, or a part of a point's slug.", show_default=False
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(
            "--sql",
            metavar="QUERY",
            help="A query over the table metrics: one row per run, phase and metric.",
        ),
    ] = None,
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Show stored records: all of them, those of a point, one in full, or a query's answer.

    Example: `kvdyno show --sql "select slug, value from metrics where metric = 'throughput'"`
    """
    here = project(results=results)
    store = RunStore(here.runs)
    records, corrupt = store.read()
    warn_of(corrupt)
    if sql is not None:
        answer = pipeline.query(here, sql, records=records)
        if json:
            print_json(_rows(answer))
        else:
            typer.echo(answer.to_string(index=False))
        return
    chosen = [record for record in records if run is None or _is_meant(record, run)]
    if json:
        print_json([record.model_dump() for record in chosen])
    elif not records:
        raise StoreError("there are no records yet", where=str(here.runs), remedy="kvdyno run quickstart")
    elif not chosen:
        raise UsageError(
            f"no record matches {run!r}", where=str(here.runs), remedy="`kvdyno show` lists the records"
        )
    elif len(chosen) == 1:
        record_page(console, chosen[0], store.run_dir(chosen[0]))
    else:
        records_table(console, chosen)


def _is_meant(record: Record, text: str) -> bool:
    return record.run_id.endswith(text) or text == record.point.identity or text in record.point.slug


def _rows(table: pd.DataFrame) -> object:
    """As JSON has it: missing values are null."""
    return json_module.loads(table.to_json(orient="records", date_format="iso"))


@app.command(rich_help_panel="Look")
def compare(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE", help="A sweep's id, an engine's label, or a results folder.", show_default=False
        ),
    ],
    after: Annotated[
        str, typer.Argument(metavar="AFTER", help="The same, to compare with it.", show_default=False)
    ],
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="Any metric of docs/formats.md.")
    ] = "throughput",
    phase: Annotated[str, typer.Option("--phase", metavar="NAME", help="A phase or span.")] = "run",
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Compare two sets of records point by point: ratio, interval, verdict.

    Example: `kvdyno compare rocksdb leveldb --metric write_amplification.net`
    """
    here = project(results=results)
    warn_of(RunStore(here.runs).corrupt_records())
    compared = pipeline.compare(here, before, after)
    for option, column, word in (("--metric", "metric", metric), ("--phase", "phase", phase)):
        known = dict.fromkeys(compared.rows[column])
        if word not in known:
            close = nearest(word, known)
            raise UsageError(
                f"no {column} {word!r} in both" + (f"; did you mean {close!r}?" if close else ""),
                where=f"kvdyno compare {option}",
            )
    if json:
        print_json(_rows(compared.rows))
    else:
        comparison(console, compared, metric=metric, phase=phase)


@app.command(rich_help_panel="Look")
def describe(
    engine: Annotated[
        str,
        typer.Argument(
            metavar="ENGINE", help="An engine's name; `kvdyno engines` lists them.", show_default=False
        ),
    ],
    driver: Annotated[
        bool, typer.Option("--driver", metavar="", help="The driver's properties instead.")
    ] = False,
    metrics: Annotated[
        bool,
        typer.Option("--metrics", metavar="", help="What its runs can measure instead: names for figures."),
    ] = False,
    runner: RunnerOption = "local",
    json: JsonOption = False,
) -> None:
    """Explain an engine: what it is, its presets, and every option with unit, range, default and effect.

    Example: `kvdyno describe rocksdb`
    """
    found = catalog.discover(project(), runner=runner)
    its = spec.engine_named(engine, catalog=found, project=project(), where="kvdyno describe", runner=runner)
    if json:
        print_json(engine_document(its))
    elif metrics:
        metrics_page(console, its)
    elif driver:
        driver_page(console, its)
    else:
        engine_page(console, its)
