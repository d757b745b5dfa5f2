"""What an image's build sees of a version: archive, options, recipe; and nothing for a package."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.images.library import library_part
from kvdyno.model.project import Project


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive"
    path.write_bytes(b"packed")
    return path


def test_a_packages_engine_builds_no_library() -> None:
    assert library_part(Project.find(), "rocksdb", archive=None) == {"library/facts": b""}


def test_a_version_brings_archive_options_and_recipe(archive: Path) -> None:
    part = library_part(Project.find(), "leveldb@1.23", archive=archive)
    assert part["library/archive"] == b"packed"
    facts = part["library/facts"].decode().splitlines()
    assert {"folder=.", "target=leveldb", "library=libleveldb.so", "packages=libsnappy-dev"} <= set(facts)
    options = part["library/options.cmake"].decode().splitlines()
    assert 'set(CMAKE_BUILD_TYPE "Release" CACHE STRING "")' in options
    recipe = "library/engines/versions/leveldb.cmake"
    assert f'set(CMAKE_PROJECT_INCLUDE "/{recipe}" CACHE STRING "")' in options
    assert {recipe, "library/engines/base/crc32c.cc"} <= set(part)
