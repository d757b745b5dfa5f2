"""The index holds every metric, can always be made again, and answers SQL."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from kvdyno.errors import StoreError, UsageError
from kvdyno.store import RunIndex, RunStore

from .conftest import MakeRecord, make_run


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    return RunIndex(tmp_path / "runs" / "index.parquet")


def test_a_row_a_metric_and_one_for_a_failure(store: RunStore, keep: MakeRecord, index: RunIndex) -> None:
    keep()
    keep(make_run(repetition=2), ok=False)
    assert index.rebuild(store.records()) == 2
    good, bad = index.query("select * from metrics order by repetition").to_dict("records")
    assert (good["phase"], good["metric"], good["value"], good["unit"]) == (
        "measure",
        "throughput",
        1000.5,
        "op/s",
    )
    assert json.loads(good["axes"]) == {"engine": "rocksdb", "preset": "default", "threads": 2}
    assert bad["status"] == "crash"
    assert pd.isna(bad["metric"])


def test_rebuilding_replaces_it(store: RunStore, keep: MakeRecord, index: RunIndex) -> None:
    keep()
    index.rebuild(store.records())
    index.path.write_bytes(b"harmed")
    with pytest.raises(StoreError, match="cannot be read"):
        index.query("select 1 from metrics")
    keep()
    assert index.rebuild(store.records()) == 2
    assert index.query("select count(*) as n from metrics")["n"][0] == 2


def test_without_records_it_is_empty_but_there(index: RunIndex) -> None:
    assert index.rebuild([]) == 0
    assert index.query("select * from metrics").empty


def test_bad_sql_names_the_columns(index: RunIndex) -> None:
    index.rebuild([])
    with pytest.raises(UsageError, match="the columns of metrics are run_id"):
        index.query("select trhoughput from metrics")


def test_no_index_is_an_error_with_a_remedy(index: RunIndex) -> None:
    with pytest.raises(StoreError, match="rebuild"):
        index.query("select 1")


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write the index"):
        RunIndex(tmp_path / "file" / "index.parquet").rebuild([])
