"""All metrics of all records as one table, for questions in SQL; made from the records at any time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kvdyno.errors import StoreError, UsageError
from kvdyno.model.record import Record

#: One row a metric; a run without phases (it failed early) has one row without phase, metric and value.
COLUMNS = pa.schema(
    [
        ("run_id", pa.string()),
        ("sweep_id", pa.string()),
        ("host_id", pa.string()),
        ("started_at", pa.string()),
        ("slug", pa.string()),
        ("identity", pa.string()),
        ("engine", pa.string()),
        ("preset", pa.string()),
        ("axes", pa.string()),  # a JSON object
        ("repetition", pa.int64()),
        ("capped", pa.bool_()),
        ("status", pa.string()),
        ("phase", pa.string()),
        ("seconds", pa.float64()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
    ]
)


class RunIndex:
    """The table `metrics`, kept in one Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rebuild(self, records: Iterable[Record]) -> int:
        """Make the file from these records; returns the number of rows. Raises StoreError."""
        table = pa.Table.from_pylist([row for record in records for row in _rows(record)], schema=COLUMNS)
        temporary = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, temporary)
            temporary.replace(self.path)
        except OSError as failure:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise StoreError(f"cannot write the index: {failure.strerror}", where=str(self.path)) from failure
        return int(table.num_rows)

    def query(self, sql: str) -> pd.DataFrame:
        """The answer to a question about the table `metrics`. Raises StoreError, UsageError for bad SQL."""
        if not self.path.exists():
            raise StoreError("there is no index", where=str(self.path), remedy="rebuild it from the records")
        with duckdb.connect() as connection:
            try:
                connection.read_parquet(str(self.path)).create_view("metrics")
            except duckdb.Error as failure:
                raise StoreError(
                    f"the index cannot be read: {failure}", where=str(self.path), remedy="rebuild it"
                ) from failure
            try:
                answer: pd.DataFrame = connection.execute(sql).df()
            except duckdb.Error as failure:
                raise UsageError(
                    str(failure), where="SQL", remedy=f"the columns of metrics are {', '.join(COLUMNS.names)}"
                ) from failure
        return answer


def _rows(record: Record) -> Iterator[dict[str, object]]:
    point = record.point
    run: dict[str, object] = {
        "run_id": record.run_id,
        "sweep_id": record.sweep_id,
        "host_id": record.environment.host_id,
        "started_at": record.started_at,
        "slug": point.slug,
        "identity": point.identity,
        "engine": point.engine,
        "preset": point.preset,
        "axes": json.dumps(dict(point.axes), sort_keys=True),
        "repetition": record.repetition,
        "capped": record.runner.capped,
        "status": record.status,
    }
    phases = record.outcome.phases if record.outcome else ()
    if not any(phase.metrics for phase in phases):
        yield run
    for phase in phases:
        for name, metric in phase.metrics.items():
            yield run | {
                "phase": phase.name,
                "seconds": phase.seconds,
                "metric": name,
                "value": metric.value,
                "unit": metric.unit,
            }
