"""Snapshots: whole or absent, and never changed unnoticed."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.runner import snapshots as module
from kvdyno.runner.snapshots import Snapshot, Snapshots

ONCE = ("*.sst",)


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "snapshots")


def make(snapshots: Snapshots, identity: str = "id") -> Snapshot:
    store = snapshots.begin(identity)
    (store / "deep" / "empty").mkdir(parents=True)
    (store / "1.sst").write_bytes(b"table" * 1000)
    (store / "deep" / "LOG").write_bytes(b"log")
    return snapshots.commit(identity, slug="engine.1MiB", load_run="run-1")


def find(snapshots: Snapshots, identity: str = "id") -> tuple[Snapshot | None, list[str]]:
    reports: list[str] = []
    return snapshots.find(identity, report=reports.append), reports


def test_a_copy_equals_the_snapshot_and_links_what_is_written_once(
    snapshots: Snapshots, tmp_path: Path
) -> None:
    snapshot = make(snapshots)
    target = tmp_path / "work" / "store"
    snapshot.lay_out(target, write_once=ONCE, read_first=True)
    assert (target / "1.sst").read_bytes() == b"table" * 1000
    assert (target / "1.sst").samefile(snapshot.store / "1.sst")
    assert (target / "deep" / "LOG").read_bytes() == b"log"
    assert not (target / "deep" / "LOG").samefile(snapshot.store / "deep" / "LOG")
    assert (target / "deep" / "LOG").stat().st_mode & 0o200, "copies may be written"
    assert not (target / "1.sst").stat().st_mode & 0o222, "links may not"
    assert (target / "deep" / "empty").is_dir()
    assert (snapshot.bytes, snapshot.copied_bytes(ONCE)) == (5003, 3)


def test_every_byte_is_read_before_a_run(snapshots: Snapshots, tmp_path: Path) -> None:
    snapshot = make(snapshots)
    before = bytes_read()
    snapshot.lay_out(tmp_path / "store", write_once=["*"], read_first=True)
    assert bytes_read() - before >= snapshot.bytes


def test_a_cold_copy_reads_nothing_that_it_links(snapshots: Snapshots, tmp_path: Path) -> None:
    snapshot = make(snapshots)
    before = bytes_read()
    snapshot.lay_out(tmp_path / "store", write_once=["*"], read_first=False)
    assert bytes_read() - before < snapshot.bytes


def bytes_read() -> int:
    """By this process, whatever delivered them."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])


def test_another_sweep_finds_it(snapshots: Snapshots, tmp_path: Path) -> None:
    made = make(snapshots)
    assert find(Snapshots(tmp_path / "snapshots")) == (made, [])
    assert find(snapshots, "other") == (None, [])


def damage_content(store: Path) -> None:
    """As a failing disk would: neither size nor time tells."""
    path = store / "1.sst"
    before = path.stat()
    path.chmod(0o644)
    path.write_bytes(b"tAble" + path.read_bytes()[5:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(store: Path) -> None:
    (store / "1.sst").chmod(0o644)
    os.truncate(store / "1.sst", 10)


def touch(store: Path) -> None:
    os.utime(store / "1.sst")


def remove(store: Path) -> None:
    (store / "deep" / "LOG").unlink()


def forget(store: Path) -> None:
    (store.parent / "manifest.json").unlink()


def garble(store: Path) -> None:
    (store.parent / "manifest.json").write_bytes(b"\xff{")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (damage_content, "checksum"),
        (truncate, "expected 5000 bytes, found 10"),
        (touch, "modified"),
        (remove, "No such file"),
        (forget, "manifest"),
        (garble, "manifest"),
    ],
)
def test_a_corrupt_snapshot_is_removed_and_spoken_of(
    snapshots: Snapshots, tmp_path: Path, harm: object, said: str
) -> None:
    snapshot = make(snapshots)
    harm(snapshot.store)  # type: ignore[operator]
    found, [report] = find(Snapshots(tmp_path / "snapshots"))
    assert found is None
    assert said in report
    assert not snapshot.folder.exists()


def test_checksums_are_read_once_a_sweep(snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    make(snapshots)
    monkeypatch.setattr(module, "_sha256", lambda path: pytest.fail("read again"))
    assert find(snapshots)[0] is not None


def test_what_was_interrupted_does_not_exist_and_is_removed(snapshots: Snapshots, tmp_path: Path) -> None:
    store = snapshots.begin("id")
    (store / "half").write_bytes(b"x")
    later = Snapshots(tmp_path / "snapshots")
    assert find(later) == (None, [])
    assert not store.exists()
    snapshots.begin("id")
    assert later.remove_partial() == ("id.partial",)
    assert later.remove_partial() == ()


def test_beginning_again_starts_empty(snapshots: Snapshots) -> None:
    (snapshots.begin("id") / "half").write_bytes(b"x")
    assert list(snapshots.begin("id").iterdir()) == []


def test_all_can_be_removed(snapshots: Snapshots) -> None:
    make(snapshots, "one")
    make(snapshots, "two")
    assert snapshots.remove_all() == ("one", "two")
    assert find(snapshots, "one") == (None, [])


def test_a_full_disk_while_copying_is_an_error_with_a_place(
    snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = make(snapshots)

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(module.shutil, "copyfile", full)
    with pytest.raises(HostError, match="No space left on device"):
        snapshot.lay_out(tmp_path / "copy", write_once=ONCE, read_first=True)


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="Not a directory"):
        Snapshots(tmp_path / "file").begin("id")


def test_neither_side_stays_in_the_page_cache(snapshots: Snapshots, tmp_path: Path) -> None:
    snapshot = make(snapshots)
    target = tmp_path / "copy"
    snapshot.lay_out(target, write_once=ONCE, read_first=True)
    for path in (target / "1.sst", target / "deep" / "LOG", snapshot.store / "deep" / "LOG"):
        assert cached_pages(path) == 0
    (target / "1.sst").read_bytes()
    assert cached_pages(target / "1.sst") > 0, "the instrument works"


def cached_pages(path: Path) -> int:
    """By mincore(2): pages of the file in the cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("rb") as stream:
        size = path.stat().st_size
        libc.mmap.restype = ctypes.c_void_p
        address = libc.mmap(None, ctypes.c_size_t(size), 1, 2, stream.fileno(), ctypes.c_long(0))
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages) == 0
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return sum(page & 1 for page in pages)
