"""Weighted records of a CSV or Parquet file as the CSV that the sampling driver reads (`records.file`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from kvdyno.errors import UsageError
from kvdyno.model.words import unknown

_TYPES = {"key": pa.uint64(), "value": pa.uint64(), "weight": pa.float64()}
_SCHEMA = pa.schema(list(_TYPES.items()))
#: Sums of the largest weights stay finite in the index.
_WEIGHT_MAX = 1e290


def write_records(source: Path, target: Path, *, columns: Mapping[str, str]) -> int:
    """Write key, value and weight of every row, read from these columns; returns how many rows there are.

    Batch by batch, so that the file may be larger than memory. Raises UsageError where the source cannot be
    read, lacks a column, or holds anything but whole numbers from 0 as keys and values, and weights from 0.
    An earlier target stays until the new one is whole.
    """
    part = target.with_name(target.name + ".part")
    rows = 0
    try:
        with pcsv.CSVWriter(part, _SCHEMA) as writer:
            for batch in _batches(source, columns):
                writer.write_batch(_checked(batch, source, columns, first=rows + 1))
                rows += batch.num_rows
        part.replace(target)
    except OSError as error:
        raise UsageError(f"cannot read or write: {error}", where=str(source)) from error
    except pa.ArrowException as error:
        message = f"expected a CSV or Parquet file, found: {error}"
        raise UsageError(message, where=str(source)) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
    return rows


def _batches(source: Path, columns: Mapping[str, str]) -> Iterator[Any]:
    wanted = list(columns.values())
    if source.suffix == ".csv":
        with pcsv.open_csv(source) as reader:
            _demand(wanted, reader.schema.names, source)
            yield from (batch.select(wanted) for batch in reader)
        return
    with pq.ParquetFile(source) as file:
        _demand(wanted, file.schema_arrow.names, source)
        yield from file.iter_batches(columns=wanted)


def _demand(wanted: list[str], known: list[str], source: Path) -> None:
    for name in wanted:
        if name not in known:
            remedy = "name the columns with --key, --value and --weight"
            raise UsageError(unknown("column", name, known), where=str(source), remedy=remedy)


def _checked(batch: Any, source: Path, columns: Mapping[str, str], *, first: int) -> Any:
    """The batch in the target's types; `first` is the number of its first row."""
    arrays = []
    for name, wanted in _TYPES.items():
        column = batch.column(columns[name])
        where = f"{source}, column {columns[name]}, rows {first} to {first + batch.num_rows - 1}"
        if column.null_count:
            raise UsageError("expected a number in each row, found empty cells", where=where)
        try:
            arrays.append(pc.cast(column, wanted))
        except pa.ArrowException as error:
            kind = "weights" if name == "weight" else "whole numbers from 0, below 2^64"
            raise UsageError(f"expected {kind}, found: {error}", where=where) from None
    weights = arrays[2].to_numpy()
    wrong = ~((weights >= 0) & (weights <= _WEIGHT_MAX))
    if wrong.any():
        place = int(wrong.argmax())
        where = f"{source}, column {columns['weight']}, row {first + place}"
        raise UsageError(f"expected a weight from 0 to 1e290, found {weights[place]}", where=where)
    return pa.record_batch(arrays, schema=_SCHEMA)
