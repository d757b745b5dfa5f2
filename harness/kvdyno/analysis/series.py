"""The per-interval series of a run: a CSV file beside its record, columns' units in the record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kvdyno.errors import StoreError
from kvdyno.model.record import SeriesFile

_KEYS = ("phase", "elapsed")


def load_series(spec: SeriesFile, *, folder: Path) -> pd.DataFrame:
    """The series as written: `phase`, `elapsed` (s since the driver's start), and the columns of `spec`.

    An empty cell is NaN. Raises StoreError if the file is missing, is no CSV or lacks a column.
    """
    path = folder / spec.file
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise StoreError(f"expected a series, found: {error}", where=str(path)) from error
    missing = [name for name in (*_KEYS, *spec.columns) if name not in table.columns]
    if missing:
        found = ", ".join(table.columns)
        raise StoreError(f"expected columns {', '.join(missing)}; found {found}", where=str(path))
    try:
        numbers = dict.fromkeys(("elapsed", *spec.columns), "float64")
        return table[[*_KEYS, *spec.columns]].astype(numbers)
    except ValueError as error:
        raise StoreError(f"expected numbers, found: {error}", where=str(path)) from error


def long_form(table: pd.DataFrame, *, spec: SeriesFile) -> pd.DataFrame:
    """A row per interval and column: phase, elapsed, column, value, unit. Empty cells are left out."""
    melted = table.melt(id_vars=list(_KEYS), value_vars=list(spec.columns), var_name="column")
    finite: pd.DataFrame = melted[np.isfinite(melted["value"])]
    return finite.assign(unit=finite["column"].map(dict(spec.columns)))


def rate_column(spec: SeriesFile) -> str | None:
    """The column that shows how fast the run went: "throughput", else the first rate, else the first count of
    operations (an interval's count is proportional to its rate). None if there is none.
    """
    units = spec.columns
    if "throughput" in units:
        return "throughput"
    rates = [name for name, unit in units.items() if unit.endswith("/s")]
    counts = [name for name, unit in units.items() if unit == "op"]
    return next(iter([*rates, *counts]), None)
