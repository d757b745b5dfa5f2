"""Snapshots: whole or absent, and never changed unnoticed."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.runner import snapshots as module
from kvdyno.runner.extents import data_bytes, data_sha256
from kvdyno.runner.snapshots import Snapshot, Snapshots
from kvdyno.runner.tally import Tally
from kvdyno.runner.watch import Progress

ONCE = ("*.sst",)


def ignore(line: Progress) -> None: ...


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "snapshots")


def make(snapshots: Snapshots, identity: str = "id") -> Snapshot:
    store = snapshots.begin(identity)
    (store / "deep" / "empty").mkdir(parents=True)
    (store / "1.sst").write_bytes(b"table" * 1000)
    (store / "deep" / "LOG").write_bytes(b"log")
    return snapshots.commit(identity, slug="engine.1MiB", load_run="run-1", progress=ignore)


def find(snapshots: Snapshots, identity: str = "id") -> tuple[Snapshot | None, list[str]]:
    reports: list[str] = []
    return snapshots.find(identity, report=reports.append, progress=ignore), reports


def test_a_copy_equals_the_snapshot_and_links_what_is_written_once(
    snapshots: Snapshots, tmp_path: Path
) -> None:
    snapshot = make(snapshots)
    target = tmp_path / "work" / "store"
    snapshot.lay_out(target, write_once=ONCE, read_first=True, progress=ignore)
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
    snapshot.lay_out(tmp_path / "store", write_once=["*"], read_first=True, progress=ignore)
    assert bytes_read() - before >= snapshot.bytes


def test_a_cold_copy_reads_nothing_that_it_links(snapshots: Snapshots, tmp_path: Path) -> None:
    snapshot = make(snapshots)
    before = bytes_read()
    snapshot.lay_out(tmp_path / "store", write_once=["*"], read_first=False, progress=ignore)
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
    """As a failing disk would: neither size nor time shows it."""
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
    monkeypatch.setattr(module, "data_sha256", lambda path, counted: pytest.fail("read again"))
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

    def full(source: Path, target: Path, *, counted: object) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(module, "copy_data", full)
    with pytest.raises(HostError, match="No space left on device"):
        snapshot.lay_out(tmp_path / "copy", write_once=ONCE, read_first=True, progress=ignore)


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="Not a directory"):
        Snapshots(tmp_path / "file").begin("id")


def test_neither_side_stays_in_the_page_cache(snapshots: Snapshots, tmp_path: Path) -> None:
    snapshot = make(snapshots)
    target = tmp_path / "copy"
    snapshot.lay_out(target, write_once=ONCE, read_first=True, progress=ignore)
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


MAP_BYTES = 1 << 40


def make_sparse(snapshots: Snapshots) -> Snapshot:
    """As LMDB does: a map of a terabyte that holds a few pages."""
    store = snapshots.begin("sparse")
    with (store / "data.mdb").open("wb") as stream:
        for place in (0, 7 << 30, MAP_BYTES - 8192):
            stream.seek(place)
            stream.write(b"page" * 1024)
        stream.truncate(MAP_BYTES)
    return snapshots.commit("sparse", slug="lmdb", load_run="run-1", progress=ignore)


@pytest.mark.parametrize("once", [(), ("*",)])
def test_holes_are_neither_read_nor_copied(
    snapshots: Snapshots, tmp_path: Path, once: tuple[str, ...]
) -> None:
    before = bytes_read()
    snapshot = make_sparse(snapshots)
    target = tmp_path / "store"
    snapshot.lay_out(target, write_once=once, read_first=True, progress=ignore)
    assert find(Snapshots(tmp_path / "snapshots"), "sparse") == (snapshot, [])
    assert bytes_read() - before < 8 << 20
    assert (snapshot.bytes, snapshot.copied_bytes(())) == (3 * 4096, 3 * 4096), "data, not the map's size"
    copy = target / "data.mdb"
    assert copy.stat().st_size == MAP_BYTES
    assert copy.stat().st_blocks * 512 < 1 << 20
    with copy.open("rb") as stream:
        for place in (0, 7 << 30, MAP_BYTES - 8192):
            stream.seek(place)
            assert stream.read(4096) == b"page" * 1024


def test_damage_between_holes_is_found(snapshots: Snapshots, tmp_path: Path) -> None:
    path = make_sparse(snapshots).store / "data.mdb"
    before = path.stat()
    path.chmod(0o644)
    with path.open("r+b") as stream:
        stream.seek(1 << 35)
        stream.write(b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    found, [report] = find(Snapshots(tmp_path / "snapshots"), "sparse")
    assert found is None
    assert "checksum" in report


def test_zeros_are_the_same_in_a_hole_and_on_the_disk(tmp_path: Path) -> None:
    """A file system may turn one into the other, as when it preallocates."""
    written, hole = tmp_path / "written", tmp_path / "hole"
    content = b"a" * 300_000 + bytes(900_000) + b"b" * 77
    written.write_bytes(content)
    with hole.open("wb") as stream:
        stream.write(content[:300_000])
        stream.seek(1_200_000)
        stream.write(b"b" * 77)
    assert data_bytes(hole) < data_bytes(written) == len(content)
    sums = {data_sha256(path, counted=lambda count: None) for path in (written, hole)}
    written.write_bytes(content + b"c")
    assert len(sums) == 1
    assert data_sha256(written, counted=lambda count: None) not in sums


def test_a_snapshot_of_an_older_form_is_made_again(snapshots: Snapshots, tmp_path: Path) -> None:
    manifest = make(snapshots).folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("kvdyno.snapshot/2", "kvdyno.snapshot/1"))
    found, [report] = find(Snapshots(tmp_path / "snapshots"))
    assert found is None
    assert "no usable manifest" in report


def test_what_takes_long_is_reported_with_its_share() -> None:
    lines: list[Progress] = []
    now = [0.0]
    tally = Tally("copying", total=4 << 20, progress=lines.append, clock=lambda: now[0])
    tally.add(1 << 20)
    assert lines == []
    now[0] = 2.0
    tally.add(1 << 20)
    tally.add(1 << 20)
    assert [(line.phase, line.fraction, line.rate, line.unit) for line in lines] == [
        ("copying", 0.5, 1.0, "MiB/s")
    ]
