"""A build's identity: the contents of a binary and of its libraries, wherever they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kvdyno.host import build
from kvdyno.host.build import build_sha256


def test_where_a_library_is_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above /lib or below it in order of path, as data folders may be."""
    resolved: list[Path] = []

    def trace(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        lines = "".join(f"\t{path.name} => {path} (0x00007f0000000000)\n" for path in resolved)
        return subprocess.CompletedProcess((), 0, stdout=lines.encode())

    monkeypatch.setattr(build.subprocess, "run", trace)
    sums = set()
    for data in ("a", "z"):
        folder = tmp_path / data
        (folder / "lib").mkdir(parents=True)
        (tmp_path / "lib").mkdir(exist_ok=True)
        resolved[:] = [folder / "lib" / "librocksdb.so", tmp_path / "lib" / "libc.so"]
        for path in (*resolved, folder / "driver"):
            path.write_bytes(path.name.encode())
        sums.add(build_sha256(folder / "driver"))
    assert len(sums) == 1
    resolved[0].write_bytes(b"another")
    assert build_sha256(folder / "driver") not in sums
