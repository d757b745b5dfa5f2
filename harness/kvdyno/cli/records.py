"""The command about data of the sampling driver: records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvdyno import pipeline

from .app import app, console
from .pages.shapes import counted


@app.command(rich_help_panel="Measure")
def records(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file.")],
    target: Annotated[Path, typer.Argument(metavar="CSV", help="Where the records go.")],
    key: Annotated[str, typer.Option("--key", metavar="COLUMN", help="Whole numbers from 0.")] = "key",
    value: Annotated[str, typer.Option("--value", metavar="COLUMN", help="Whole numbers from 0.")] = "value",
    weight: Annotated[str, typer.Option("--weight", metavar="COLUMN", help="Numbers from 0.")] = "weight",
) -> None:
    """Write weighted records as the CSV that the sampling driver reads (its property records.file).

    Example: `kvdyno records trips.parquet trips.csv --key pickup --value id --weight fare`
    """
    columns = {"key": key, "value": value, "weight": weight}
    rows = pipeline.write_records(source, target, columns=columns)
    console.print(f"{counted(rows, 'record')}: {target}")
