"""Committed metrics: the tidy table of a sweep, a row per run, phase and metric, as Parquet or CSV."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kvdyno.errors import StoreError


def write_metrics(path: Path, frame: pd.DataFrame) -> None:
    """Keep the rows in their order. Raises StoreError if the file cannot be written, or if an axis has both
    texts and numbers, which a column cannot hold.
    """
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        pq.write_table(table, path, compression="zstd")
    except pa.ArrowException as failure:
        raise StoreError(
            f"expected one type in each column, found several: {failure}", where=str(path)
        ) from None
    except OSError as failure:
        raise StoreError(f"cannot write: {failure.strerror}", where=str(path)) from failure


def read_metrics(path: Path) -> pd.DataFrame:
    """The table again. Raises StoreError if the file is missing or damaged."""
    frame: pd.DataFrame
    try:
        frame = pd.read_csv(path) if path.suffix == ".csv" else pq.read_table(path).to_pandas()
    except (OSError, pa.ArrowException, ValueError) as failure:
        raise StoreError(
            f"the committed metrics cannot be read: {failure}",
            where=str(path),
            remedy="git checkout the file",
        ) from failure
    return frame
