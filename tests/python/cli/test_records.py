"""Weighted records of CSV and Parquet files, for the sampling driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from .conftest import BINARIES, Checkout

GOOD: dict[str, list[Any]] = {
    "id": [1, 2, 2**62], "place": [7, 7, 8], "fare": [2.5, 0.0, 1e3], "note": ["a", 'b, "c"', None],
}  # fmt: skip
COLUMNS = ("--key", "place", "--value", "id", "--weight", "fare")


def write(path: Path, data: dict[str, list[Any]]) -> Path:
    table = pa.table(data)
    if path.suffix == ".csv":
        pcsv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_records_of_any_columns_are_what_the_driver_reads(checkout: Checkout, name: str) -> None:
    source, target = write(checkout.root / name, GOOD), checkout.root / "records.csv"
    answer = checkout.kvdyno("records", str(source), str(target), *COLUMNS)
    assert answer.status == 0, answer.err
    assert "3 records" in answer.out
    assert target.read_text().splitlines() == [
        '"key","value","weight"', "7,1,2.5", "7,2,0", f"8,{2**62},1000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fare": [1.0, float("nan"), 2.0]}, "row 2: expected a weight from 0 to 1e290, found nan"),
        ({"fare": [1.0, 2.0, -0.5]}, "row 3: expected a weight"),
        ({"fare": ["1", "much", "2"]}, "column fare"),
        ({"fare": [1.0, None, 2.0]}, "found empty cells"),
        ({"place": [1.5, 2.0, 3.0]}, "column place"),
        ({"place": [-1, 2, 3]}, "column place"),
        ({"place": ["here", "there", "x"]}, "expected whole numbers from 0"),
    ],
)
def test_columns_that_are_no_records(checkout: Checkout, change: dict[str, list[Any]], message: str) -> None:
    target = checkout.root / "records.csv"
    target.write_text("as before")
    source = write(checkout.root / "data.parquet", GOOD | change)
    answer = checkout.kvdyno("records", str(source), str(target), *COLUMNS)
    assert answer.status != 0
    assert message in " ".join(answer.err.split())
    assert target.read_text() == "as before"
    assert not list(checkout.root.glob("*.part"))


def test_files_that_cannot_be_read(checkout: Checkout) -> None:
    source = write(checkout.root / "data.parquet", GOOD)
    lacking = checkout.kvdyno("records", str(source), "records.csv")
    assert "unknown column 'key'" in lacking.err
    assert "--key" in lacking.err
    source.write_bytes(b"PAR1 is not enough")
    for path in (source, checkout.root / "nowhere.csv"):
        assert checkout.kvdyno("records", str(path), "records.csv").status != 0


def test_an_experiment_samples_a_file(checkout: Checkout) -> None:
    driver = BINARIES / "kvdyno-sampling"
    if not driver.is_file():
        pytest.skip("kvdyno-sampling is not built")
    (checkout.binaries / driver.name).symlink_to(driver)
    rows = range(20000)
    source = write(checkout.root / "data.parquet", {"key": rows, "value": rows, "weight": [1.5] * len(rows)})
    target = checkout.root / "records.csv"
    assert checkout.kvdyno("records", str(source), str(target)).status == 0
    text = f"""\
title: A file
engines: [sampling]
grid: {{records: [640000]}}
properties: {{queries: 20, k: 50, records.file: {target}}}
cap: 4GiB
"""
    checkout.experiment("file", text)
    answer = checkout.kvdyno("run", "file", "--uncapped", "--json")
    assert answer.status == 0, answer.err
    target.write_text(target.read_text().replace("7,7,1.5", "7,7,-1.5"))
    refused = checkout.kvdyno("run", "file", "--uncapped", "--force")
    assert refused.status != 0
    assert "column weight" in " ".join(refused.out.split()) + " ".join(refused.err.split())
