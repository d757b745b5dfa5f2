"""Cache policies: what a run finds in the page cache, and what records say of it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.model.point import Point
from kvdyno.runner import runner as runner_module
from kvdyno.runner.cache_policy import drop_caches, joined, warmed
from kvdyno.runner.disk import sparse_files

from .conftest import MIB, Execute


def test_a_warm_store_is_read_whole_before_the_driver(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "deep").mkdir(parents=True)
    for name in ("a", "deep/b c"):
        (store / name).write_bytes(b"x" * 5000)
    (store / "deep/.hidden").write_bytes(b"x" * 5000)
    marker = ["/bin/sh", "-c", "cat /proc/$$/io"]
    done = subprocess.run(warmed(store, marker, sparse={}), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rchar:"), "the driver follows, with its own output"
    assert int(done.stdout.split()[1]) > 15_000, "what was read before is on the account of the same process"


def test_holes_of_a_warm_store_are_not_read(tmp_path: Path) -> None:
    """They would take minutes, and their zeros would fill the cap."""
    store = tmp_path / "store"
    (store / "deep").mkdir(parents=True)
    for name in ("it's a map", "deep/map"):
        with (store / name).open("wb") as stream:
            for place in range(0, 64 * 1000, 64):
                stream.seek(place << 20)
                stream.write(b"x" * 4096)
            stream.truncate(1 << 40)
    (store / "empty").touch()
    os.truncate(store / "empty", 1 << 40)
    marker = ["/bin/sh", "-c", "cat /proc/$$/io"]
    command = warmed(store, marker, sparse=sparse_files(store))
    assert max(map(len, command)) < 128 << 10, "an argument's limit"
    parts = joined([range(place, place + 1) for place in (0, 100, 1 << 30, (1 << 30) + 1)], 2)
    assert parts == [range(101), range(1 << 30, (1 << 30) + 2)]
    some = {name: extents[:20] for name, extents in sparse_files(store).items()}
    done = subprocess.run(warmed(store, marker, sparse=some), capture_output=True, text=True, check=True)
    assert 2 * 20 * 4096 < int(done.stdout.split()[1]) < 8 << 20


def test_a_store_that_cannot_be_read_starts_no_driver(tmp_path: Path) -> None:
    done = subprocess.run(
        warmed(tmp_path / "gone", ["echo", "started"], sparse={}), capture_output=True, check=False
    )
    assert done.returncode == 125
    assert done.stdout == b""


@pytest.mark.parametrize("policy", ["cold", "snapshot-read", "warm"])
def test_records_say_their_policy(
    execute: Execute, loaded_point: Point, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setattr(runner_module, "drop_caches", lambda: False)
    record = execute(replace(loaded_point, cache=policy))  # type: ignore[arg-type]
    assert record.status == "ok", record.failure
    assert record.runner.details["cache_policy"] == policy
    assert ("caches_dropped" in record.runner.details) == (policy == "cold")


def test_a_run_on_an_empty_store_has_none(execute: Execute, point: Point) -> None:
    assert "cache_policy" not in execute(point).runner.details


@pytest.mark.usefixtures("capped")
def test_a_warm_store_is_charged_to_the_run(execute: Execute, loaded_point: Point) -> None:
    """The store's pages are the run's own, under its cap; otherwise it starts with none."""
    assert loaded_point.dataset
    properties = {**loaded_point.dataset.properties, "fake.load.bytes": str(24 * MIB)}
    point = replace(loaded_point, dataset=replace(loaded_point.dataset, properties=properties))
    cold, warm = (execute(point, cache=policy) for policy in ("snapshot-read", "warm"))
    assert warm.status == cold.status == "ok"
    difference = warm.runner.details["peak_bytes"] - cold.runner.details["peak_bytes"]
    assert difference > 16 * MIB
    assert warm.runner.details["peak_bytes"] <= point.cap_bytes


def test_caches_are_dropped_where_that_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "drop_caches"
    assert drop_caches(file=file)
    assert file.read_text() == "3"
    assert not drop_caches(file=tmp_path / "not" / "there")
