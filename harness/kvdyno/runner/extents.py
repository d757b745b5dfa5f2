"""Where files hold data. Sparse files (LMDB's map may have 256 GiB) are read and copied without their holes.

A file system that keeps no holes has one extent a file.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

#: Hears how many bytes were read or copied since it was called last.
Counted = Callable[[int], None]

_AT_ONCE = 1 << 20
_BLOCK = 128 << 10
_ZEROS = bytes(_BLOCK)


def extents_of(path: Path) -> tuple[range, ...]:
    """The bytes of a file that are in no hole."""
    with path.open("rb", buffering=0) as stream:
        return tuple(_extents(stream.fileno()))


def data_bytes(path: Path) -> int:
    """How many bytes of a file are in no hole."""
    return sum(map(len, extents_of(path)))


def read_data(path: Path, *, counted: Counted) -> None:
    """Have the kernel deliver every byte that is in no hole."""
    buffer = bytearray(_AT_ONCE)
    with path.open("rb", buffering=0) as stream:
        for extent in _extents(stream.fileno()):
            for start in extent[::_AT_ONCE]:
                part = memoryview(buffer)[: min(_AT_ONCE, extent.stop - start)]
                counted(os.preadv(stream.fileno(), [part], start))


def copy_data(source: Path, target: Path, *, counted: Counted) -> None:
    """Make `target` a copy with the same holes. Nothing is shared: every byte of data is read and written."""
    with source.open("rb", buffering=0) as reader, target.open("xb", buffering=0) as writer:
        for extent in _extents(reader.fileno()):
            start = extent.start
            while start < extent.stop:
                data = os.pread(reader.fileno(), min(_AT_ONCE, extent.stop - start), start)
                if not data:
                    raise OSError(errno.EIO, "became shorter while it was copied", str(source))
                written = os.pwrite(writer.fileno(), data, start)
                counted(written)
                start += written
        writer.truncate(os.fstat(reader.fileno()).st_size)


def data_sha256(path: Path, *, counted: Counted) -> str:
    """SHA-256, in hexadecimal, over the blocks of 128 KiB that are not all zeros, each after its number.

    So it is the same whether zeros are in a hole or on the disk, which a file system may change.
    """
    digest = hashlib.sha256()
    done = -1
    with path.open("rb", buffering=0) as stream:
        for extent in _extents(stream.fileno()):
            for number in range(max(done + 1, extent.start // _BLOCK), -(-extent.stop // _BLOCK)):
                block = os.pread(stream.fileno(), _BLOCK, number * _BLOCK)
                if block != _ZEROS[: len(block)]:
                    digest.update(number.to_bytes(8, "little") + block)
                counted(len(block))
                done = number
    return digest.hexdigest()


def _extents(descriptor: int) -> Iterator[range]:
    end = 0
    while True:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as failure:
            if failure.errno == errno.ENXIO:  # no data beyond
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield range(start, end)
