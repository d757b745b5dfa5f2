"""Gauges: what the machine can do just before a run, measured by the harness in a few tenths of a second.

A virtual disk may be a hundred times slower for blocks that were not read lately, and a neighbour may take
the CPU. A difference between two runs means little if their gauges differ as much. Reads and writes bypass
the page cache, so that a run finds it as its cache policy requires.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.host.owner import owned_name

from .disk import files_below, nearest_existing, remove_tree
from .extents import extents_of

Gauge = float | None

BLOCK = 4096
MIB = 1 << 20
_LOOP_BUFFER = bytes(range(256)) * 1024
_LOOP_ROUNDS = 16
_LOOP_TRIES = 3
_MICROSECONDS, _MILLISECONDS = 1e6, 1e3


@dataclass(frozen=True)
class Effort:
    """How many reads at random places, from a file of which size, and for how long at most; a write has the
    same size.
    """

    reads: int
    read_seconds: float
    file_bytes: int
    write_seconds: float


#: What a run waits for.
BRIEF = Effort(reads=64, read_seconds=0.08, file_bytes=16 * MIB, write_seconds=0.1)


class Gauges:
    """Measures with files of its own in `folder`, which is made when needed; `remove` takes it away."""

    def __init__(self, folder: Path, *, effort: Effort = BRIEF) -> None:
        self._folder = folder
        self._effort = effort
        self._random = random.Random(0)

    def take(self, store: Path | None = None) -> tuple[dict[str, Gauge], list[str]]:
        """The gauges by dotted names, and why those that are None could not be measured.

        `store`: a store whose blocks are read too. Never raises OSError.
        """
        gauges: dict[str, Gauge] = {"cpu.loop_ms": cpu_loop() * _MILLISECONDS}
        flaws: list[str] = []
        with noted(flaws, "4 KiB reads"):
            gauges |= {"disk.read_4k_p50_us": None, "disk.read_4k_p99_us": None}
            gauges |= self._reads("disk", [self.file()])
        with noted(flaws, "a sequential write"):
            gauges |= {"disk.write_mib_per_second": None}
            gauges |= {"disk.write_mib_per_second": self._write()}
        if store and any(path.stat().st_size >= BLOCK for path in files_below(store)):
            with noted(flaws, "4 KiB reads of the store"):
                gauges |= {"store.read_4k_p50_us": None, "store.read_4k_p99_us": None}
                gauges |= self._reads("store", list(files_below(store)))
        return {name: None if value is None else round(value, 3) for name, value in gauges.items()}, flaws

    def remove(self) -> None:
        """Take the files away. Raises HostError."""
        remove_tree(self._folder)

    def file(self) -> Path:
        """The file that reads go to: made once, so that all runs of a sweep read the same. Raises OSError."""
        path = self._folder / "read"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            try:
                with direct(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
                    _write_all(descriptor, self._effort.file_bytes, until=float("inf"))
                new.rename(path)
            finally:
                new.unlink(missing_ok=True)
        return path

    def _reads(self, what: str, files: Sequence[Path]) -> dict[str, Gauge]:
        """Median and 99th percentile of reads at random places, each block of data as likely as another.

        No device is read in a hole.
        """
        places = [(path, blocks) for path in files for blocks in _blocks_of(path)]
        if not places:
            raise OSError(errno.ENODATA, "no block holds data")
        weights = [len(blocks) for _, blocks in places]
        chosen = self._random.choices(places, weights=weights, k=self._effort.reads)
        latencies: list[float] = []
        deadline = time.monotonic() + self._effort.read_seconds
        for path, blocks in chosen:
            latencies.append(_timed_read(path, offset=self._random.choice(blocks) * BLOCK))
            if time.monotonic() > deadline:
                break
        median, tail = median_and_p99_us(latencies)
        return {f"{what}.read_4k_p50_us": median, f"{what}.read_4k_p99_us": tail}

    def _write(self) -> float:
        """MiB per second of one write from begin to end, with what makes it durable."""
        path = self._folder / "write"
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with direct(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
                started = time.monotonic()
                until = started + self._effort.write_seconds
                written = _write_all(descriptor, self._effort.file_bytes, until=until)
                return written / MIB / max(time.monotonic() - started, 1e-6)
        finally:
            path.unlink(missing_ok=True)


def take_gauges(data: Path) -> tuple[dict[str, Gauge], list[str]]:
    """The gauges of a machine whose stores will be below `data`, and why some are None; leaves nothing."""
    gauges = Gauges(nearest_existing(data) / owned_name("doctor"))
    try:
        return gauges.take()
    finally:
        gauges.remove()


def cpu_loop(clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds for a fixed amount of hashing: the best of three, which a single preemption does not change."""
    tries = []
    for _ in range(_LOOP_TRIES):
        started = clock()
        digest = hashlib.sha256()
        for _ in range(_LOOP_ROUNDS):
            digest.update(_LOOP_BUFFER)
        tries.append(clock() - started)
    return min(tries)


def median_and_p99_us(seconds: Sequence[float]) -> tuple[float, float]:
    """Median and 99th percentile of latencies, in microseconds."""
    ordered = sorted(seconds)
    last = min(len(ordered) - 1, int(0.99 * len(ordered)))
    return statistics.median(ordered) * _MICROSECONDS, ordered[last] * _MICROSECONDS


def _blocks_of(path: Path) -> list[range]:
    """Numbers of the whole blocks of a file that are in no hole."""
    found = (range(-(-each.start // BLOCK), each.stop // BLOCK) for each in extents_of(path))
    return [blocks for blocks in found if blocks]


@contextlib.contextmanager
def noted(flaws: list[str], what: str) -> Iterator[None]:
    """What the system refuses is a flaw, no failure."""
    try:
        yield
    except OSError as failure:
        flaws.append(f"gauge: {what} cannot be measured: {failure.strerror}")


@contextlib.contextmanager
def direct(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of a file that is read and written past the page cache."""
    descriptor = os.open(path, flags | os.O_DIRECT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _timed_read(path: Path, *, offset: int) -> float:
    """Seconds that the disk took for one block. Direct I/O needs aligned memory, as mmap gives."""
    with direct(path, os.O_RDONLY) as descriptor, contextlib.closing(mmap.mmap(-1, BLOCK)) as block:
        started = time.perf_counter()
        os.preadv(descriptor, [block], offset)
        return time.perf_counter() - started


def _write_all(descriptor: int, size: int, *, until: float) -> int:
    """Write `size` bytes of noise and make them durable; returns how many were written by the deadline."""
    written = 0
    with contextlib.closing(mmap.mmap(-1, MIB)) as chunk:
        chunk.write(os.urandom(MIB))
        while written < size:
            written += os.pwritev(descriptor, [chunk], written)
            if time.monotonic() > until:
                break
    os.fdatasync(descriptor)
    return written
