"""The Python package, as a program uses it."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any, get_args

import kvdyno_sampling
import numpy as np
import pytest
from kvdyno_sampling import RECORD, Index
from kvdyno_sampling._index import Kind

README = Path(__file__).parents[1] / "README.md"
KINDS = get_args(Kind)
POLICIES = [(layout, deletes) for layout in ("tiering", "leveling") for deletes in ("tagging", "tombstones")]


def filled(**options: Any) -> Index:
    index = Index(buffer_records=64, scale_factor=2, **options)
    index.insert(np.arange(2000), np.arange(2000) + 5, np.arange(2000) % 7)
    return index


def test_readme_examples(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    in_memory, external = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(in_memory, {})
    assert capsys.readouterr().out.startswith("[ True  True False] 999 ")
    exec(external, {})
    assert capsys.readouterr().out == "True True\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layout", "deletes"), POLICIES)
def test_inserts_deletes_and_samples(kind: str, layout: str, deletes: str) -> None:
    index = filled(kind=kind, layout=layout, deletes=deletes)
    gone = np.arange(0, 2000, 3)
    assert index.delete(gone, gone + 5).all()
    assert not index.delete(gone, gone + 5).any()
    keys = np.setdiff1d(np.arange(2000), gone)
    live = index.live()
    assert live.dtype == RECORD
    assert (live["key"] == keys).all()
    assert (live["value"] == keys + 5).all()
    assert len(index) == len(keys)
    assert index.total_weight == (len(keys) if kind == "uniform-range" else (keys % 7).sum())
    samples = index.sample(5000, seed=1, first=100, last=1500)
    assert samples.dtype == RECORD
    assert np.isin(samples["key"], keys).all()
    assert samples["key"].min() >= 100
    assert samples["key"].max() <= 1500
    assert (samples["value"] == samples["key"] + 5).all()
    index.settle()
    index.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_draws_follow_the_weights(kind: Kind) -> None:
    index = Index(kind=kind, buffer_records=4, scale_factor=2)
    weights = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 90.0] * 3)
    index.insert(np.arange(18), weights=weights)
    index.delete(17)
    live = np.ones(17) if kind == "uniform-range" else weights[:17]
    draws = 100_000
    expected = draws * live / live.sum()
    found = np.bincount(index.sample(draws, seed=3)["key"].astype(np.int64), minlength=17)
    assert found[17:].sum() == 0
    assert (found[expected == 0] == 0).all()
    drawn = expected > 0
    chi2 = ((found - expected)[drawn] ** 2 / expected[drawn]).sum()
    assert chi2 < 45  # 16 degrees of freedom: exceeded with probability 1.4e-4


def test_scalars_and_64_bits() -> None:
    index = Index()
    index.insert(2**64 - 1, 2**64 - 1, 0.5)
    index.insert(np.uint64(1))
    assert index.live().tolist() == [(1, 0, 1.0), (2**64 - 1, 2**64 - 1, 0.5)]
    assert index.sample(1, first=2)["key"][0] == 2**64 - 1
    assert index.delete(1).tolist() == [True]
    assert index.delete([]).tolist() == []
    index.insert([], [], [])
    index.insert(1)
    assert len(index) == 2


def test_seeds() -> None:
    index = filled()
    again = index.sample(50, seed=9)
    assert (index.sample(50, seed=9) == again).all()
    one, other = np.random.default_rng(4), np.random.default_rng(4)
    first = index.sample(50, seed=one)
    assert (index.sample(50, seed=other) == first).all()
    assert (index.sample(50, seed=one) != first).any()
    assert (index.sample(50) != index.sample(50)).any()


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e300])
def test_wrong_weights_insert_nothing(weight: float) -> None:
    index = Index()
    with pytest.raises(ValueError, match=r"row 1: .*weight"):
        index.insert([1, 2, 3], weights=[1.0, weight, 1.0])
    assert len(index) == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 2], [1], 1.0), "expected equal lengths, got 2 keys, 1 values, 2 weights"),
        (([1, 2], 0, [1.0]), "expected equal lengths"),
        (([-1], 0, 1.0), "keys: .* got -1"),
        (([1.5], 0, 1.0), "keys: expected integers .* got float64"),
        (([1], ["a"], 1.0), "values: expected integers"),
        (([1], 0, ["a"]), "weights: expected numbers"),
        (([[1, 2]], 0, 1.0), "keys: expected one dimension, got 2"),
        (([2**64], 0, 1.0), "keys: expected integers"),
    ],
)
def test_wrong_columns_insert_nothing(columns: tuple[Any, Any, Any], message: str) -> None:
    index = Index()
    with pytest.raises(ValueError, match=message):
        index.insert(*columns)
    assert len(index) == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"k": 0}, "k: expected an integer from 1"),
        ({"k": 2**60}, "sample: expected 1 to"),
        ({"k": 1.5}, "k: expected an integer"),
        ({"k": 1, "first": 9, "last": 3}, "range"),
        ({"k": 1, "first": -1}, "first: expected"),
        ({"k": 1, "seed": -1}, "seed: expected"),
        ({"k": 1, "first": 5000}, "weigh more than 0"),
    ],
)
def test_wrong_queries(query: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        filled().sample(**query)


def test_zero_total_weight_has_no_samples() -> None:
    index = Index()
    with pytest.raises(ValueError, match="weigh more than 0"):
        index.sample(1)
    index.insert([1, 2], weights=0)
    with pytest.raises(ValueError, match="weigh more than 0"):
        index.sample(1)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kind", "heap"),
        ("layout", "flat"),
        ("deletes", "none"),
        ("scale_factor", 1),
        ("scale_factor", -1),
        ("buffer_records", 0),
        ("max_deleted", 0.0),
        ("max_deleted", 1.0),
        ("max_deleted", np.nan),
        ("filter_false_positives", 0.0),
    ],
)
def test_options_out_of_range(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(ValueError, match=option):
        Index(**options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layout", "deletes"), POLICIES)
def test_external_mode_has_the_same_records(tmp_path: Path, kind: Kind, layout: str, deletes: str) -> None:
    external: dict[str, Any] = {"memory_bytes": 3 << 20, "memory_levels": 1}
    policy: dict[str, Any] = {"kind": kind, "layout": layout, "deletes": deletes}
    index, inside = filled(directory=tmp_path / "a", **external, **policy), filled(**policy)
    gone = np.arange(0, 2000, 3)
    for each in (index, inside):
        assert each.delete(gone, gone + 5).all()
        assert not each.delete(gone, gone + 5).any()
        each.settle()
        each.verify()
    assert (index.live() == inside.live()).all()
    samples = index.sample(5000, seed=1, first=100, last=1500)
    assert (samples["key"] % 3 != 0).all()
    assert samples["key"].min() >= 100
    statistics = index.statistics()
    files = [file for file in (tmp_path / "a").iterdir() if file.name != "LOCK"]
    assert statistics["disk_bytes"] == sum(file.stat().st_size for file in files)
    assert statistics["bytes"] <= external["memory_bytes"]
    assert statistics["pages_written"] > 0
    assert statistics["page_hits"] > 0
    assert inside.statistics()["disk_bytes"] == 0


def test_a_directory_serves_one_index_at_a_time(tmp_path: Path) -> None:
    index = filled(directory=str(tmp_path), memory_levels=0)
    assert index.statistics()["disk_bytes"] > 0
    with pytest.raises(OSError, match=r"busy: .*LOCK"):
        Index(directory=tmp_path)
    del index
    assert [file.name for file in tmp_path.iterdir()] == ["LOCK"]
    assert len(Index(directory=tmp_path)) == 0


def test_a_damaged_page_is_named_and_nothing_is_drawn_from_it(tmp_path: Path) -> None:
    index = filled(directory=tmp_path, memory_levels=0)
    for file in tmp_path.iterdir():
        if file.name != "LOCK":
            file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(OSError, match=rf"corruption: .*{tmp_path}.* at offset "):
        index.sample(1000, seed=1)


def test_an_index_beyond_its_memory_names_the_row(tmp_path: Path) -> None:
    index = Index(
        buffer_records=2000, scale_factor=2, directory=tmp_path, memory_levels=0, memory_bytes=1_300_000
    )
    rows = np.arange(300_000)
    with pytest.raises(OSError, match=r"row \d+: no space: .*memory_bytes"):
        index.insert(rows)
    live = len(index)
    assert 0 < live < len(rows)
    assert index.sample(10, seed=1)["key"].max() < live


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"memory_bytes": 1 << 30}, ValueError, "memory_bytes: expected a directory beside it"),
        ({"memory_levels": 1, "directory": None}, ValueError, "memory_levels: expected a directory"),
        ({"directory": ""}, ValueError, "directory: expected a path"),
        ({"directory": "a", "memory_bytes": 1000}, ValueError, "memory_bytes: expected at least"),
        ({"directory": "a", "memory_bytes": -1}, ValueError, "memory_bytes: expected an integer"),
        ({"directory": "a", "memory_levels": 21}, ValueError, "memory_levels: expected 0 to 20"),
        ({"directory": "/nonexistent/a"}, OSError, "/nonexistent/a"),
    ],
)
def test_external_mode_that_cannot_work(
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        Index(**options)


def test_statistics() -> None:
    index = filled()
    index.sample(100)
    statistics = index.statistics()
    assert statistics["records"] == 2000
    assert statistics["accepted"] == 100
    assert statistics["shards"] > 0


def test_threads_sample_while_others_write() -> None:
    index = filled(background=True)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for round_ in range(20):
                keys = np.arange(100) + 10_000 * (number + 1) + 100 * round_
                index.insert(keys)
                assert index.delete(keys[:50]).all()
        except BaseException as failure:
            failures.append(failure)

    def sample() -> None:
        try:
            for _ in range(50):
                index.sample(200)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(2)]
    threads += [threading.Thread(target=sample) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    index.settle()
    index.verify()
    assert len(index) == 2000 + 2 * 20 * 50


def test_samples_outlive_the_index() -> None:
    samples = filled().sample(1000, seed=1)
    assert samples["weight"].min() > 0


def test_reads_csv_and_parquet(tmp_path: Path) -> None:
    csv, parquet = tmp_path / "a.csv", tmp_path / "a.parquet"
    csv.write_text("key,value,weight\n7,1,2.5\n8,2,3\n")
    pyarrow_csv, pq = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pyarrow_csv.read_csv(csv).rename_columns(["id", "n", "w"]), parquet)
    for records in (
        kvdyno_sampling.read(csv),
        kvdyno_sampling.read(parquet, key="id", value="n", weight="w"),
    ):
        assert records.tolist() == [(7, 1, 2.5), (8, 2, 3.0)]
        index = Index()
        index.insert(records["key"], records["value"], records["weight"])
        assert (index.live() == records).all()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "key,weight\n1,2\n", "expected a column 'value', got key, weight; name it by value="),
        ("a.csv", "key,value,weight\n1,1,heavy\n", "column weight: .*expected numbers"),
        ("a.csv", "key,value,weight\nx,1,1\n", "column key: .*expected integers"),
        ("a.csv", "key,value,weight\n1,1,\n2,1,1\n", "column weight: .*empty cells"),
        ("a.csv", "key,value,weight\n1,1\n", "a.csv: "),
        ("a.parquet", "no parquet", "a.parquet: "),
        ("a.txt", "", "a.txt: expected a .csv or .parquet file"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        kvdyno_sampling.read(tmp_path / name)
