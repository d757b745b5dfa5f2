"""Records from CSV and Parquet files."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._columns import RECORD, integers, weights


def read(
    path: str | os.PathLike[str], *, key: str = "key", value: str = "value", weight: str = "weight"
) -> NDArray[Any]:
    """The records of a .csv or .parquet file, by the names of its columns: an array of dtype `RECORD`.

    Needs pyarrow (the extra `files`). Raises ValueError, naming file and column, for a column that is
    missing, has empty cells, or holds anything but numbers.
    """
    file = Path(path)
    table = _table(file)
    records = np.empty(table.num_rows, RECORD)
    for field, name in (("key", key), ("value", value), ("weight", weight)):
        if name not in table.column_names:
            columns = ", ".join(table.column_names)
            raise ValueError(f"{file}: expected a column {name!r}, got {columns}; name it by {field}=")
        column = table.column(name)
        if column.null_count:
            raise ValueError(f"{file}, column {name}: expected a number in each row, got empty cells")
        try:
            data = column.to_numpy()
            records[field] = weights(data) if field == "weight" else integers(name, data)
        except ValueError as error:
            raise ValueError(f"{file}, column {name}: {error}") from None
    return records


def _table(file: Path) -> Any:
    """The columns, in pyarrow's table, which has no types."""
    readers = {".csv": ("pyarrow.csv", "read_csv"), ".parquet": ("pyarrow.parquet", "read_table")}
    if file.suffix not in readers:
        raise ValueError(f"{file}: expected a .csv or .parquet file")
    module, name = readers[file.suffix]
    read = getattr(import_module(module), name)
    try:
        return read(file)
    except import_module("pyarrow").ArrowInvalid as error:
        raise ValueError(f"{file}: {error}") from None
