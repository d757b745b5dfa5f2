"""Cautions where the contenders' libraries differ."""

from __future__ import annotations

from pathlib import Path

from fakes_records import Fake, Sweep, fake_sweep

from kvdyno.analysis.libraries import differences, library_text
from kvdyno.model.engine import LibraryFacts
from kvdyno.model.record import Record

DEBIAN = LibraryFacts(
    origin="system", assertions=True, checksum="software", allocator="glibc 2.36", flags="-O2 -g"
)
BUILT = LibraryFacts(
    origin="built", assertions=False, checksum="hardware", allocator="glibc 2.36", flags="-O2 -O3"
)


def with_libraries(sweep: Sweep, libraries: dict[str, LibraryFacts | None]) -> list[Record]:
    records = []
    for record in sweep.records:
        assert record.outcome
        library = libraries[record.point.engine]
        engine = record.outcome.engine.model_copy(update={"library": library})
        outcome = record.outcome.model_copy(update={"engine": engine})
        records.append(record.model_copy(update={"outcome": outcome}))
    return records


def messages(sweep: Sweep, **libraries: LibraryFacts | None) -> list[str]:
    found = differences(with_libraries(sweep, libraries))
    assert all(caution.kind == "library" and caution.remedy for caution in found)
    return [caution.message for caution in found]


def test_each_difference_is_named_with_who_has_what(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(tmp_path, repetitions=1))
    assert messages(sweep, rocksdb=DEBIAN, leveldb=BUILT) == [
        "the engines' assertions differ (assertions compiled in: RocksDB; none: LevelDB)",
        "how the engines compute checksums differs (software: RocksDB; hardware: LevelDB)",
        "the engines' optimisation differs (-O2: RocksDB; -O3: LevelDB)",
    ]


def test_another_allocator(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(tmp_path, repetitions=1))
    jemalloc = BUILT.model_copy(update={"allocator": "jemalloc"})
    assert messages(sweep, rocksdb=BUILT, leveldb=jemalloc) == [
        "the engines' memory allocators differ (glibc 2.36: RocksDB; jemalloc: LevelDB)"
    ]


def test_equal_and_unknown_facts_differ_in_nothing(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(tmp_path, repetitions=1))
    assert messages(sweep, rocksdb=BUILT, leveldb=BUILT) == []
    assert messages(sweep, rocksdb=BUILT, leveldb=None) == []
    assert messages(sweep, rocksdb=BUILT, leveldb=LibraryFacts(origin="system")) == []


def test_a_library_in_words() -> None:
    assert library_text(None) == ""
    assert library_text(BUILT) == "built, no assertions, hardware checksums, glibc 2.36, -O2 -O3"
    assert library_text(LibraryFacts(origin="system")) == "system"
