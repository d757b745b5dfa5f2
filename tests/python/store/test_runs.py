"""Records are kept whole or not at all, and none is ever lost or passed over in silence."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from kvdyno.errors import StoreError
from kvdyno.model.record import RECORD_SCHEMA
from kvdyno.store import RunStore

from .conftest import MakeRecord, make_record, make_run


def test_a_record_comes_back_as_it_was(store: RunStore, keep: MakeRecord) -> None:
    record = keep()
    assert list(store.records()) == [record]
    run_dir = store.run_dir(record)
    assert run_dir.parent.name == "rocksdb.A-aaaaaaaaaaaa"
    assert {p.name for p in run_dir.iterdir()} == {"record.json"}


def test_records_are_in_order_of_start_and_can_be_chosen(store: RunStore, keep: MakeRecord) -> None:
    other = make_run("leveldb.A", identity="b" * 64)
    late, early, elsewhere = keep(started=9), keep(other, started=1), keep(started=5, host="there")
    assert list(store.records()) == [early, elsewhere, late]
    assert list(store.records(identities={"a" * 64})) == [elsewhere, late]
    assert list(store.records(identities={"a" * 64}, host_id="here")) == [late]
    assert list(store.records(identities=set())) == []


def test_equal_beginnings_of_identities_are_distinguished(store: RunStore, keep: MakeRecord) -> None:
    twin = keep(make_run(identity="a" * 12 + "b" * 52))
    keep()
    assert list(store.records(identities={twin.point.identity})) == [twin]


def test_run_ids_are_unique_though_begun_at_once(store: RunStore) -> None:
    assert len({store.begin(make_run()) for _ in range(50)}) == 50


def test_an_earlier_record_is_never_replaced(store: RunStore) -> None:
    run = make_run()
    run_dir = store.begin(run)
    first = make_record(run_dir, run)
    store.commit(first, run_dir=run_dir)
    with pytest.raises(StoreError, match="exists"):
        store.commit(make_record(run_dir, run, ok=False), run_dir=run_dir)
    assert list(store.records()) == [first]


def test_a_record_against_the_schema_is_refused(store: RunStore) -> None:
    run = make_run()
    run_dir = store.begin(run)
    wrong = make_record(run_dir, run).model_copy(update={"repetition": 0})
    with pytest.raises(StoreError, match="repetition"):
        store.commit(wrong, run_dir=run_dir)
    assert list(run_dir.iterdir()) == []


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda text: text[: len(text) // 2], "expected JSON"),
        (lambda text: "", "expected JSON"),
        (lambda text: text.replace(RECORD_SCHEMA, "kvdyno.record/9"), "a newer kvdyno wrote it"),
        (lambda text: text.replace(RECORD_SCHEMA, "kvdyno.record/0"), "kvdyno.record/0"),
        (
            lambda text: text.replace(RECORD_SCHEMA, "kvdyno.record/1").replace('"runner"', '"other"'),
            "expected the fields of kvdyno.record/1: KeyError('runner')",
        ),
        (lambda text: text.replace('"status": "ok"', '"status": "fine"', 1), "fine"),
    ],
)
def test_corrupt_records_are_reported_and_kept(
    store: RunStore, keep: MakeRecord, harm: object, said: str
) -> None:
    sound, harmed = keep(started=1), keep(started=2)
    path = store.run_dir(harmed) / "record.json"
    path.write_text(harm(path.read_text()))  # type: ignore[operator]
    assert list(store.records()) == [sound]
    [corrupt] = store.corrupt_records()
    assert corrupt.path == path
    assert said in str(corrupt)
    store.clean()
    assert path.exists()


def test_a_record_is_read_once_until_its_file_changes(store: RunStore, keep: MakeRecord) -> None:
    path = store.run_dir(keep()) / "record.json"
    [first] = store.records()
    [again] = RunStore(store.root).records()
    assert again is first
    path.write_text("")
    assert not list(store.records())
    assert len(store.corrupt_records()) == 1


def test_a_record_of_version_1_gets_todays_names(store: RunStore, keep: MakeRecord) -> None:
    record = keep()
    path = store.run_dir(record) / "record.json"
    document = json.loads(path.read_text())
    document |= {"schema_version": "kvdyno.record/1", "probes": document.pop("gauges")}
    document["runner"]["details"] = {"engine": "Docker Engine 20.10", "seconds": 1.5}
    path.write_text(json.dumps(document))
    before = path.read_bytes()
    [found] = store.records()
    assert found.runner.details == {"container_engine": "Docker Engine 20.10", "seconds": 1.5}
    assert found.model_copy(update={"runner": record.runner}) == record
    assert path.read_bytes() == before, "a record stays as it was written"


def test_runs_without_a_record_are_abandoned_and_cleaned(store: RunStore, keep: MakeRecord) -> None:
    record = keep()
    left = store.begin(make_run())
    (left / ".record.json.new").write_text("{")
    alone = store.begin(make_run("leveldb.A", identity="b" * 64))
    assert set(store.abandoned()) == {left, alone}
    assert set(store.clean()) == {left, alone}
    assert not alone.parent.exists()
    assert list(store.records()) == [record]
    assert store.clean() == ()


@pytest.mark.parametrize(
    "foreign",
    [
        "photos/2024",
        "rocksdb.A-aaaaaaaaaaaa/notes",
        "photos/20240101T000000Z-r1-abcdef",
        "rocksdb.A-aaaaaaaaaaaa.old/20240101T000000Z-r1-abcdef",
    ],
)
def test_folders_of_others_are_left_alone(store: RunStore, foreign: str) -> None:
    folder = store.root / foreign
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("keep me")
    left = store.begin(make_run())
    assert store.clean() == (left,)
    assert (folder / "mine.txt").exists()


def test_what_a_link_leads_to_is_left_alone(store: RunStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    left = store.begin(make_run())
    (left.parent / "20240101T000000Z-r1-abcdef").symlink_to(elsewhere)
    assert store.clean() == (left,)
    assert elsewhere.exists()


def test_a_records_files_are_durable_before_it_is_there(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    run_dir = store.begin(run)
    (run_dir / "driver.log").write_text("said")
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        if not (run_dir / "record.json").exists():
            synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", fsync)
    record = make_record(run_dir, run).model_copy(update={"files": {"log": "driver.log"}})
    store.commit(record, run_dir=run_dir)
    assert synced == ["driver.log", ".record.json.new"]


def test_no_results_yet_is_no_error(store: RunStore) -> None:
    assert list(store.records()) == []
    assert store.clean() == ()


def test_an_unwritable_folder_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where a folder is wanted")
    with pytest.raises(StoreError, match="remedy"):
        RunStore(tmp_path / "runs").begin(make_run())


@pytest.mark.parametrize("failing", ["fsync", "link"])
def test_a_disk_that_fails_leaves_no_half_record(
    store: RunStore, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    run_dir = store.begin(run)

    def fail(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(StoreError, match="No space left"):
        store.commit(make_record(run_dir, run), run_dir=run_dir)
    assert list(run_dir.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_leaves_earlier_records_and_no_half_one(tmp_path: Path) -> None:
    """On a real file system of 256 KiB."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    tried = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mounted], capture_output=True, check=False
    )
    if tried.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        store = RunStore(mounted)
        run = make_run()
        first, second = store.begin(run), store.begin(run)
        store.commit(make_record(first, run), run_dir=first)
        with contextlib.suppress(OSError), (mounted / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        with pytest.raises(StoreError, match="No space left"):
            store.commit(make_record(second, run), run_dir=second)
        assert list(second.iterdir()) == []
        assert [r.run_id for r in store.records()] == [first.name]
    finally:
        subprocess.run(["umount", mounted], check=True)
