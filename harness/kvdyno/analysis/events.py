"""The events of a run, as stalls, flushes and a tuner's steps: a CSV file beside its record."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kvdyno.errors import StoreError

#: Column to type. `begin` and `duration` are in seconds, `begin` from the driver's start as in the series;
#: `ended` is false for what still went on when the store was closed.
COLUMNS = {
    "phase": "str",
    "begin": "float64",
    "duration": "float64",
    "ended": "bool",
    "kind": "str",
    "state": "str",
    "cause": "str",
    "detail": "str",
}


def load_events(path: Path) -> pd.DataFrame:
    """A row per event, in the order of their beginnings; a missing word is empty text.

    Raises StoreError if the file is missing, is no CSV, lacks a column or holds something else than numbers.
    """
    words = {name: "str" for name, kind in COLUMNS.items() if kind == "str"}
    try:
        table = pd.read_csv(path, dtype=words, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"expected events, found: {error}", where=str(path)) from error
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        found = ", ".join(table.columns)
        raise StoreError(f"expected columns {', '.join(missing)}; found {found}", where=str(path))
    try:
        numbers = table.astype({"begin": "float64", "duration": "float64", "ended": "int64"})
    except ValueError as error:
        raise StoreError(f"expected numbers, found: {error}", where=str(path)) from error
    typed = numbers[list(COLUMNS)].astype(COLUMNS)
    return typed.sort_values("begin", kind="stable", ignore_index=True)
