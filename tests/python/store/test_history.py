"""A history's files: they grow, merge, and say which line is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvdyno.errors import StoreError
from kvdyno.model.history import Entry
from kvdyno.store import HistoryStore

ENTRY = Entry(
    at="2026-11-23", host="h", revision="r", subject="chunkstore", suite="s quick", point="c",
    metric="throughput", unit="op/s", value=1.5,
)  # fmt: skip


def test_what_is_there_is_not_added_again(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path / "history")
    other = ENTRY.model_copy(update={"host": "other"})
    assert store.append([ENTRY, ENTRY, other]) == 2
    assert store.append([ENTRY]) == 0
    assert set(store.entries()) == {ENTRY, other}
    assert sorted(path.name for path in store.folder.glob("*.jsonl")) == ["h.jsonl", "other.jsonl"]


def test_lines_of_two_branches_merge(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.append([ENTRY])
    assert (tmp_path / ".gitattributes").read_text() == "*.jsonl merge=union\n"
    path = tmp_path / "h.jsonl"
    path.write_text(path.read_text() * 2)
    assert store.entries() == (ENTRY,)


def test_a_last_line_without_an_end_gets_one(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.append([ENTRY])
    path = tmp_path / "h.jsonl"
    path.write_text(path.read_text().rstrip("\n"))
    store.append([ENTRY.model_copy(update={"revision": "next"})])
    assert [each.revision for each in store.entries()] == ["r", "next"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"at": "2026', "expected JSON"),
        ('{"schema_version": "kvdyno.history/2"}', "a newer kvdyno"),
        ('{"schema_version": "kvdyno.history/1"}', "at: field required"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, expected: str) -> None:
    store = HistoryStore(tmp_path)
    store.append([ENTRY])
    with (tmp_path / "h.jsonl").open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(StoreError, match=expected) as refused:
        store.entries()
    assert refused.value.where == f"{tmp_path / 'h.jsonl'}:2"


def test_nothing_is_added_where_the_end_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HistoryStore(tmp_path)
    store.append([ENTRY])
    before = (tmp_path / "h.jsonl").read_bytes()

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StoreError, match="No space left"):
        store.append([ENTRY.model_copy(update={"revision": "next"})])
    assert (tmp_path / "h.jsonl").read_bytes() == before
