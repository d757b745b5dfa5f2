"""A version that engines/versions.yaml lists, from its registry to the conformance suite.

LevelDB's, which builds in half a minute. KVDYNO_TEST_VERSIONS=1 asks for it; what was built is kept.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvdyno import catalog
from kvdyno.builds import build_version, run_conformance
from kvdyno.errors import HostError
from kvdyno.model.project import Project
from kvdyno.model.versions import read_versions

from .fixtures import Heard

PROJECT = Project.find(start=Path(__file__))


def test_listed_engines_have_adapters_and_recipes() -> None:
    for library in read_versions(PROJECT).libraries.values():
        for engine in library.engines:
            assert (PROJECT.adapters / engine / "CMakeLists.txt").is_file()
        for path in (*([library.recipe] if library.recipe else []), *library.uses):
            assert (PROJECT.adapters.parent / path).is_file()


@pytest.mark.skipif(
    os.environ.get("KVDYNO_TEST_VERSIONS") != "1", reason="takes a minute: KVDYNO_TEST_VERSIONS=1 asks for it"
)
def test_leveldb_is_built_and_conforms() -> None:
    heard = Heard()
    try:
        prefix = build_version(PROJECT, "leveldb", "1.23", engines=["leveldb"], step=heard.step)
    except HostError as reason:
        pytest.skip(str(reason))
    run_conformance(PROJECT, prefix, "leveldb", step=heard.step)
    assert "tests passed" in heard.lines[-1]
    found = catalog.discover(PROJECT)["leveldb@1.23"].description.engine
    assert found.version == "1.23"
    assert found.library
    assert (found.library.origin, found.library.assertions) == ("built", False)
    assert "-O3" in found.library.flags
    if "sse4_2" in Path("/proc/cpuinfo").read_text():
        assert found.library.checksum == "hardware"
