"""The chunk store's build that is slower on purpose: what it costs, and that its version shows it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kvdyno import catalog, profiling
from kvdyno.model.calls import CallProfile
from kvdyno.profiling import FixedRun

REPOSITORY = Path(__file__).parents[3]
BUILD = Path(os.environ.get("KVDYNO_BUILD", REPOSITORY / "build"))
ADAPTERS = REPOSITORY / "engines" / "adapters"
GET, VALUE = 500, 800

needs_compiling = pytest.mark.skipif(
    os.environ.get("KVDYNO_TEST_SLOWDOWN") != "1",
    reason="compiles the chunk store once more, for minutes: set KVDYNO_TEST_SLOWDOWN=1",
)


@pytest.fixture(scope="module")
def slowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver of a slowed build."""
    build = tmp_path_factory.mktemp("slowed")
    options = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "KVDYNO_TESTS": "OFF",
        "KVDYNO_ENGINES": "chunkstore",
        "CHUNKSTORE_TEST_SLOWDOWN_GET": str(GET),
        "CHUNKSTORE_TEST_SLOWDOWN_PUT": "ON",
    }
    entries = [f"-D{name}={value}" for name, value in options.items()]
    configure = ["cmake", "-S", str(REPOSITORY), "-B", str(build), "-G", "Ninja", *entries]
    for command in (configure, ["cmake", "--build", str(build), "--target", "kvdyno-chunkstore"]):
        subprocess.run(command, check=True, capture_output=True)
    return build / "bin" / "kvdyno-chunkstore"


def counted(driver: Path, scratch: Path, **mix: str) -> CallProfile:
    properties = {"recordcount": "2000", "fieldcount": "1", "fieldlength": str(VALUE), **mix}
    run = FixedRun({"readproportion": "0", "updateproportion": "0", **properties}, 4000, 8000)
    return profiling.count_calls(driver, run, scratch=scratch)


@needs_compiling
def test_a_slowed_build_executes_more_and_its_version_shows_it(slowed: Path, tmp_path: Path) -> None:
    usual = BUILD / "bin" / "kvdyno-chunkstore"
    assert catalog.local_engine(slowed, adapters=ADAPTERS).description.engine.slowed
    assert not catalog.local_engine(usual, adapters=ADAPTERS).description.engine.slowed
    gets, slow_gets = (
        counted(driver, tmp_path / f"gets-{driver is slowed}", readproportion="1").by_function()
        for driver in (usual, slowed)
    )
    (name,) = [each for each in slow_gets if "StoreImpl::Get(" in each]
    assert slow_gets[name] - gets.get(name, 0.0) == pytest.approx(GET, rel=0.1)
    puts, slow_puts = (
        counted(driver, tmp_path / f"puts-{driver is slowed}", updateproportion="1").by_function()
        for driver in (usual, slowed)
    )
    (copy,) = [each for each in slow_puts if "memcpy" in each]
    assert slow_puts[copy] > puts[copy], "one more copy of each value"
