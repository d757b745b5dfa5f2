"""The Python package, as a program uses it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import chunkstore
import pytest


@pytest.fixture
def store(tmp_path: Path) -> Iterator[chunkstore.Store]:
    with chunkstore.open(tmp_path / "store", memory_budget="32MiB") as opened:
        yield opened


def key(number: int) -> bytes:
    return b"key%06d" % number


def test_is_a_mapping(store: chunkstore.Store) -> None:
    assert not store
    store[b"b"] = b"2"
    store[b"a"] = b"1"
    store.update({b"c": b"3", b"": b""})
    assert store
    assert store[b"a"] == b"1"
    assert store.get(b"none") is None
    assert store.get(b"none", b"other") == b"other"
    assert b"b" in store
    text: object = "b"
    assert text not in store
    assert len(store) == 4
    assert list(store) == [b"", b"a", b"b", b"c"]
    assert list(reversed(store)) == [b"c", b"b", b"a", b""]
    assert dict(store.items()) == {b"": b"", b"a": b"1", b"b": b"2", b"c": b"3"}
    assert list(store.values()) == [b"", b"1", b"2", b"3"]
    assert store.pop(b"b") == b"2"
    assert store.setdefault(b"a", b"9") == b"1"
    del store[b"a"]
    with pytest.raises(KeyError):
        store[b"a"]
    with pytest.raises(KeyError):
        del store[b"a"]
    store.delete(b"a")
    store.clear()
    assert not store


def test_scans_have_bounds(store: chunkstore.Store) -> None:
    store.update((key(i), b"%d" % i) for i in range(5000))
    rows = [(key(i), b"%d" % i) for i in range(5000)]
    assert list(store.scan()) == rows
    assert list(store.scan(reverse=True)) == rows[::-1]
    assert list(store.scan(key(10), key(20))) == rows[10:20]
    assert list(store.scan(key(10), key(20), reverse=True)) == rows[10:20][::-1]
    assert list(store.scan(b"key0000105", key(13), reverse=True)) == rows[11:13][::-1]
    assert list(store.scan(key(4990))) == rows[4990:]
    assert list(store.scan(end=key(3))) == rows[:3]
    assert list(store.scan(end=b"zzz", reverse=True, limit=2)) == rows[:-3:-1]
    assert list(store.scan(key(100), limit=7, fill_cache=False)) == rows[100:107]
    assert list(store.scan(b"x")) == []


def test_an_iterator_sees_one_moment(store: chunkstore.Store) -> None:
    store.update((key(i), b"old") for i in range(3000))
    rows = store.scan()
    assert next(rows) == (key(0), b"old")
    store.update((key(i), b"new") for i in range(3000))
    assert {value for _, value in rows} == {b"old"}


def test_snapshots_are_mappings(store: chunkstore.Store) -> None:
    store[b"a"] = b"1"
    with store.snapshot() as before:
        store[b"a"] = b"2"
        store[b"b"] = b"2"
        assert dict(before) == {b"a": b"1"}
        assert before.multi_get([b"b", b"a"]) == [None, b"1"]
        assert b"b" not in before
        assert before.version < store.snapshot().version
    with pytest.raises(chunkstore.InvalidArgumentError, match="snapshot is released"):
        before[b"a"]


def test_batches_are_whole_or_not_at_all(store: chunkstore.Store) -> None:
    with store.batch(durability="sync") as batch:
        batch[b"a"] = b"1"
        batch.put(b"b", b"2")
        del batch[b"a"]
        assert len(batch) == 3
        assert not store
    assert dict(store) == {b"b": b"2"}
    with pytest.raises(KeyError), store.batch() as batch:
        batch[b"c"] = store[b"none"]
    assert b"c" not in store
    again = chunkstore.Batch()
    again.put(b"d", b"4")
    store.write(again)
    again.clear()
    store.write(again)
    assert store.multi_get([b"d", b"x", b"b"]) == [b"4", None, b"2"]


def test_reopens_with_everything(tmp_path: Path) -> None:
    for durability in ("none", "async", "sync"):
        with chunkstore.open(tmp_path / "store", durability=durability, chunk_size="64KiB") as store:
            store.put(durability.encode(), b"1", durability="sync")
            store.close(reorganise=False)
    with chunkstore.open(tmp_path / "store", read_only=True) as store:
        assert store.recovery.clean
        assert sorted(store) == [b"async", b"none", b"sync"]
        with pytest.raises(chunkstore.ReadOnlyError):
            store[b"x"] = b"1"


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    program = (
        "import chunkstore, os, sys\n"
        "store = chunkstore.open(sys.argv[1])\n"
        "store.update((b'%d' % i, b'v') for i in range(1000))\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "store")], check=False)
    assert done.returncode == 9
    with chunkstore.open(tmp_path / "store") as store:
        assert not store.recovery.clean
        assert store.recovery.recovered_records == 1
        assert store.recovery.dropped_bytes == 0
        assert len(store) == 1000


def test_upkeep(store: chunkstore.Store, tmp_path: Path) -> None:
    store.update((key(i), b"v" * 100) for i in range(1000))
    store.checkpoint()
    store.flush()
    store.backup(tmp_path / "copy")
    store[b"later"] = b"1"
    store.pay_debt(0)
    store.compact()
    found = store.verify()
    assert found.problems == []
    assert found.entries == 1001
    assert store.statistics()["flushes"] >= 1
    with chunkstore.open(tmp_path / "copy") as copy:
        assert len(copy) == 1000
    assert chunkstore.repair(tmp_path / "copy").problems == []
    chunkstore.destroy(tmp_path / "copy")
    assert not list((tmp_path / "copy").glob("*"))


def test_errors_say_what_and_where(store: chunkstore.Store, tmp_path: Path) -> None:
    with pytest.raises(chunkstore.BusyError, match="store"):
        chunkstore.open(tmp_path / "store")
    with pytest.raises(chunkstore.InvalidArgumentError, match="option cunk_size"):
        chunkstore.open(tmp_path / "other", cunk_size="1MiB")
    with pytest.raises(ValueError, match="33554432"):
        chunkstore.open(tmp_path / "other", memory_budget="1MiB")
    with pytest.raises(chunkstore.InvalidArgumentError, match="65536"):
        store[b"k" * 70_000] = b""
    with pytest.raises(TypeError):
        store["text"] = b""  # type: ignore[index]  # the mistake that is tested
    store.close()
    with pytest.raises(chunkstore.InvalidArgumentError, match="closed"):
        store[b"a"]
    store.close()


def test_damage_is_reported_with_its_place(tmp_path: Path) -> None:
    with chunkstore.open(tmp_path / "store") as store:
        store.update((key(i), b"v" * 100) for i in range(1000))
    segment = next((tmp_path / "store").glob("segment-*.seg"))
    content = bytearray(segment.read_bytes())
    content[5000] ^= 1
    segment.write_bytes(content)
    with chunkstore.open(tmp_path / "store") as store:
        assert len(store.verify().problems) == 1
        with pytest.raises(chunkstore.CorruptionError, match=r"segment-\d+\.seg at \d+"):
            list(store.items())


def test_iterators_and_snapshots_may_outlive_the_store(tmp_path: Path) -> None:
    store = chunkstore.open(tmp_path / "store")
    store[b"a"] = b"1"
    rows = store.scan()
    snapshot = store.snapshot()
    store.close()
    del store
    with pytest.raises(chunkstore.InvalidArgumentError, match="closed"):
        list(rows)
    with pytest.raises(chunkstore.InvalidArgumentError, match="closed"):
        snapshot[b"a"]
    snapshot.release()


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get(b"a"),
        lambda store: store.put(b"a", b"1"),
        lambda store: store.multi_get([b"a"]),
        list,
        lambda store: store.flush(),
        lambda store: store.statistics(),
    ],
)
def test_calls_release_the_interpreters_lock(
    store: chunkstore.Store, call: Callable[[chunkstore.Store], object]
) -> None:
    """Where no thread is made to give the lock up, another one runs only when a call releases it."""
    store[b"a"] = b"1"
    begin = threading.Event()
    ran: list[bool] = []

    def wait_and_run() -> None:
        begin.wait()
        ran.append(True)

    thread = threading.Thread(target=wait_and_run)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        begin.set()
        for _ in range(100_000):
            call(store)
            if ran:
                break
    finally:
        sys.setswitchinterval(interval)
    found = bool(ran)
    thread.join()
    assert found


def test_threads_may_share_a_store(store: chunkstore.Store) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(2000):
                store[b"%d-%d" % (number, i % 100)] = b"%d" % i
                assert store[b"%d-%d" % (number, i % 100)] == b"%d" % i
        except BaseException as failure:
            failures.append(failure)

    def scan() -> None:
        while not stop.is_set():
            keys = list(store)
            assert keys == sorted(keys)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    scanner = threading.Thread(target=scan)
    for thread in [*threads, scanner]:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    scanner.join()
    assert not failures
    assert len(store) == 300


def test_stores_share_a_budget(tmp_path: Path) -> None:
    budget = chunkstore.SharedBudget(128 << 20)
    assert budget.size == 128 << 20
    with (
        chunkstore.open(tmp_path / "one", budget=budget) as one,
        chunkstore.open(tmp_path / "two", budget=budget) as two,
    ):
        one[b"a"] = b"1"
        two[b"a"] = b"2"
        assert 0 < budget.granted <= budget.size
        with pytest.raises(chunkstore.InvalidArgumentError, match="shared"):
            chunkstore.open(tmp_path / "three", budget=budget, memory_budget="100MiB")
    del one, two
