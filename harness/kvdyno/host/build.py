"""A build's identity and size: an engine is often a shared library, which changes while its driver stays."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

_RESOLVED = re.compile(r"=> (/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_RESOLVE_SECONDS = 10
#: Libraries of the compiler and of the system's C library, which are no part of an engine.
_RUNTIME = re.compile(r"(ld-.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|atomic))\.so(\..*)?")
#: ELF files of 64 bits, little end first: where their table of segments is, and how they mark what is loaded.
_ELF = b"\x7fELF\x02\x01"
_TABLE_PLACE, _ENTRY_PLACE = 32, 54
_LOADED = 1

#: In the environment of a program: the dynamic loader prints what it would load, and ends.
TRACE = {"LD_TRACE_LOADED_OBJECTS": "1"}


def build_sha256(binary: Path) -> str:
    """SHA-256, in hexadecimal, over those of the binary and of the shared objects that it starts with.

    Raises OSError when one cannot be read.
    """
    digest = hashlib.sha256()
    for path in (binary, *_shared_objects(binary)):
        status = path.stat()
        digest.update(_file_sha256(path, status.st_ino, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()


def build_bytes(binary: Path) -> int:
    """Bytes of code and data that the binary and its libraries load from their files.

    Debugging information is not loaded. The C and C++ runtime do not count: they are the system's. Raises
    OSError when a file cannot be read.
    """
    return sum(loaded_bytes(path.read_bytes()) for path in (binary, *own_objects(_shared_objects(binary))))


def own_objects(objects: Iterable[Path]) -> tuple[Path, ...]:
    """Those that are no part of the C and C++ runtime."""
    return tuple(path for path in objects if not _RUNTIME.fullmatch(path.name))


def loaded_bytes(content: bytes) -> int:
    """The loaded segments of an ELF file (elf(5)); all bytes of another program, such as a script."""
    if not content.startswith(_ELF):
        return len(content)
    (table,) = struct.unpack_from("<Q", content, _TABLE_PLACE)
    entry_bytes, entries = struct.unpack_from("<HH", content, _ENTRY_PLACE)
    segments = (struct.unpack_from("<I28xQ", content, table + n * entry_bytes) for n in range(entries))
    return sum(file_bytes for kind, file_bytes in segments if kind == _LOADED)


def _shared_objects(binary: Path) -> tuple[Path, ...]:
    """What the dynamic loader resolves, in order of name; none of a program that has no such loader.

    Their paths depend on where a library was built: they are no part of a build's identity.
    The loader answers instead of starting the program. One that starts all the same is asked for no work.
    """
    try:
        done = subprocess.run(
            [str(binary), "--describe"],
            env={**os.environ, **TRACE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_RESOLVE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ()
    return traced_objects(done.stdout)


def traced_objects(printed: bytes) -> tuple[Path, ...]:
    """The shared objects that a dynamic loader printed, in order of name."""
    paths = {Path(path) for path in _RESOLVED.findall(printed.decode(errors="replace"))}
    return tuple(sorted(paths, key=lambda path: (path.name, path)))


@functools.lru_cache(maxsize=256)
def _file_sha256(path: Path, _inode: int, _size: int, _modified_ns: int) -> bytes:
    """Hashed again only when the file is another one."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
