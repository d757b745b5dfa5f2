"""What this host's disk and memory do, for a self-test: gauges that are taken for longer, and what runs have
no time for. A few seconds in all. Files pass by the page cache.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kvdyno.host.owner import owned_name

from .gauges import BLOCK, MIB, Effort, Gauge, Gauges, direct, median_and_p99_us, noted

_EFFORT = Effort(reads=2000, read_seconds=1.0, file_bytes=128 * MIB, write_seconds=2.0)
_DEPTH = 16
_SECONDS = 1.0
_SYNCS = 500
#: Beyond the last-level cache that any one core can use.
_COPY_BYTES = 256 * MIB
_COPIES = 5


def take_host_gauges(data: Path, *, effort: Effort = _EFFORT) -> tuple[dict[str, Gauge], list[str]]:
    """Gauges of a host whose stores will be below `data` (docs/formats.md), and why some are None.

    Leaves no file. Never raises OSError.
    """
    gauges = Gauges(data / "work" / owned_name("gauges"), effort=effort)
    try:
        values, flaws = gauges.take()
        for names, what, measure in (
            (("disk.read_4k_depth16_per_second",), "4 KiB reads at depth 16", _deep_reads),
            (("disk.read_mib_per_second",), "sequential reads", _sequential_reads),
            (("disk.fsync_p50_us", "disk.fsync_p99_us"), "synced writes", _synced_writes),
        ):
            values |= dict.fromkeys(names)
            with noted(flaws, what):
                found = measure(gauges.file())
                values |= {name: round(each, 3) for name, each in zip(names, found, strict=True)}
    finally:
        gauges.remove()
    values["memory.copy_mib_per_second"] = round(memory_copy(), 3)
    return values, flaws


def memory_copy(*, size: int = _COPY_BYTES, clock: Callable[[], float] = time.perf_counter) -> float:
    """MiB per second that one thread copies, the best of five.

    Bytes read and bytes written both count, as in STREAM's copy (McCalpin, "Memory Bandwidth and Machine
    Balance in Current High Performance Computers", 1995).
    """
    source, target = bytearray(b"\1") * size, bytearray(size)
    tries = []
    for _ in range(_COPIES):
        begun = clock()
        target[:] = source
        tries.append(clock() - begun)
    return 2 * size / MIB / min(tries)


def _deep_reads(path: Path) -> tuple[float, ...]:
    """Blocks per second at random places of a file, with that many reads in flight."""
    blocks = path.stat().st_size // BLOCK
    begun = time.monotonic()

    def read(seed: int) -> int:
        draw, done = random.Random(seed), 0
        with direct(path, os.O_RDONLY) as descriptor, contextlib.closing(mmap.mmap(-1, BLOCK)) as block:
            while time.monotonic() - begun < _SECONDS:
                os.preadv(descriptor, [block], draw.randrange(blocks) * BLOCK)
                done += 1
        return done

    with ThreadPoolExecutor(_DEPTH) as pool:
        done = sum(pool.map(read, range(_DEPTH)))
    return (done / (time.monotonic() - begun),)


def _sequential_reads(path: Path) -> tuple[float, ...]:
    """MiB per second from the beginning of a file, a MiB at a time."""
    done, begun = 0, time.monotonic()
    with direct(path, os.O_RDONLY) as descriptor, contextlib.closing(mmap.mmap(-1, MIB)) as chunk:
        while time.monotonic() - begun < _SECONDS and (count := os.preadv(descriptor, [chunk], done)):
            done += count
    return (done / MIB / max(time.monotonic() - begun, 1e-6),)


def _synced_writes(beside: Path) -> tuple[float, ...]:
    """Median and 99th percentile of appending a block to a file and fsync, in microseconds."""
    latencies: list[float] = []
    begun = time.monotonic()
    with (
        direct(beside.with_name("appended"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor,
        contextlib.closing(mmap.mmap(-1, BLOCK)) as block,
    ):
        while len(latencies) < _SYNCS and time.monotonic() - begun < _SECONDS:
            started = time.perf_counter()
            os.pwritev(descriptor, [block], len(latencies) * BLOCK)
            os.fsync(descriptor)
            latencies.append(time.perf_counter() - started)
    return median_and_p99_us(latencies)
