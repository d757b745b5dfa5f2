"""A build's identity and size: the contents of a binary and of its libraries, wherever they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kvdyno.host import build
from kvdyno.host.build import build_bytes, build_sha256


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


def test_code_and_data_count_and_debugging_information_does_not(tmp_path: Path) -> None:
    (tmp_path / "part.cc").write_text("int part(int x) { return x + 1; }\n")
    (tmp_path / "main.cc").write_text("int part(int); int main(int n, char**) { return part(n) - 2; }\n")
    sizes = {}
    for name, flags in {"plain": [], "debug": ["-g"], "data": ["-DTABLE"]}.items():
        folder = tmp_path / name
        folder.mkdir()
        sources = tmp_path / "part.cc"
        if name == "data":
            sources = folder / "part.cc"
            sources.write_text("char table[100000] = {1};\n" + (tmp_path / "part.cc").read_text())
        compile_cc(sources, *flags, "-shared", "-fPIC", "-o", folder / "libpart.so")
        compile_cc(
            *(tmp_path / "main.cc", *flags, "-o", folder / "driver"),
            *(f"-L{folder}", "-lpart", f"-Wl,-rpath,{folder}"),
        )
        sizes[name] = build_bytes(folder / "driver")
    assert (tmp_path / "debug" / "driver").stat().st_size > (tmp_path / "plain" / "driver").stat().st_size
    assert sizes["debug"] == pytest.approx(sizes["plain"], abs=64), "the folder's name is in the driver"
    assert 100_000 <= sizes["data"] - sizes["plain"] < 110_000, "the library counts"
    assert sizes["plain"] < 20_000, "the C and C++ runtime do not count"


def test_a_script_has_the_size_of_its_file(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    assert build_bytes(script) == 17


def compile_cc(*words: object) -> None:
    subprocess.run(["c++", *map(str, words)], check=True, capture_output=True)
