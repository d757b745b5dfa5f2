"""The same sources make the same code wherever the checkout is, so that its hash identifies a build."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from kvdyno.model.project import Project
from kvdyno.model.sources import common_sources, own_sources

PROJECT = Project.find(start=Path(__file__))
ENGINE = "noop"
#: One of the driver and the adapter: compiling all would take a minute.
OBJECTS = (
    "engines/driver/CMakeFiles/kvdyno_driver_shared.dir/places.cc.o",
    f"engines/adapters/{ENGINE}/CMakeFiles/{ENGINE}_adapter.dir/adapter.cc.o",
)


def compiled(checkout: Path, build: Path) -> list[bytes]:
    """The objects of a copy of the checkout."""
    for path in (*common_sources(PROJECT), *own_sources(PROJECT, ENGINE)):
        target = checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT.root / path, target)
    settings = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DKVDYNO_TESTS=OFF", f"-DKVDYNO_ENGINES={ENGINE}")
    for command in (
        ["cmake", "-S", str(checkout), "-B", str(build), "-G", "Ninja", *settings],
        ["ninja", "-C", str(build), "-j1", *OBJECTS],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return [(build / each).read_bytes() for each in OBJECTS]


@pytest.mark.skipif(not shutil.which("ninja") or not shutil.which("cmake"), reason="needs CMake and Ninja")
def test_neither_checkout_nor_build_shows_in_what_is_compiled(tmp_path: Path) -> None:
    one = compiled(tmp_path / "one", tmp_path / "one" / "build")
    other = compiled(tmp_path / "other" / "place", tmp_path / "data" / "build")
    assert not any(str(tmp_path).encode() in each for each in one + other)
    sums = [[hashlib.sha256(each).hexdigest() for each in objects] for objects in (one, other)]
    assert sums[0] == sums[1]
