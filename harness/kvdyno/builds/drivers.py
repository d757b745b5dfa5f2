"""Drivers: this project's own CMake, pointed at the folder of a built library, or at the system's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.host.libraries import MANIFEST, driver_in, engines_folder, stamp_of
from kvdyno.model.sources import source_sha256
from kvdyno.model.versions import read_versions, versioned

from .compiling import compile_targets, configure, has_target
from .work import Work

_TEST_SECONDS = 1800
_LOG_LINES = 40
#: The driver's own libraries, without any engine.
_SHARED_TARGETS = ("kvdyno_driver", "kvdyno_tuners")


def build_driver(work: Work, prefix: Path, engine: str, *, version: str) -> None:
    """Compile the adapter against the library in `prefix`, and link it with the driver.

    Raises EngineError.
    """
    driver, name = driver_in(prefix, engine), versioned(engine, version)
    sources = source_sha256(work.project, engine)
    build, log = engines_folder(work.project) / "work" / "drivers", prefix / "drivers.log"
    work.step.say(f"building the driver of {name}")
    _configure(work, prefix, build=build, tests=False, log=log)
    _compile(work, build, driver.name, log=log)
    driver.parent.mkdir(exist_ok=True)
    partial = driver.with_name(driver.name + ".part")
    shutil.copy2(build / "bin" / driver.name, partial)
    partial.replace(driver)
    stamp_of(driver).write_text(sources + "\n")


def build_own_drivers(work: Work, engines: Sequence[str]) -> None:
    """Brings drivers in the checkout's own build up to date; names those that it is not configured for."""
    build, log = _own_build(work), engines_folder(work.project) / "work" / "own-drivers.log"
    if not (build / "build.ninja").is_file():
        raise EngineError("not configured", where=str(build), remedy="make build")
    drivers = {engine: f"kvdyno-{engine}" for engine in engines}
    there = {engine: driver for engine, driver in drivers.items() if has_target(build, driver)}
    for engine in sorted(drivers.keys() - there):
        packages = work.project.adapters / engine / "packages.txt"
        work.step.say(f"{engine}: left out, its library is not installed; {packages} names the packages")
    if there:
        work.step.say(f"building the drivers of {', '.join(there)}")
        _compile(work, build, *there.values(), log=log)


def run_suite(work: Work, prefix: Path, engine: str) -> None:
    """Compile and run the conformance suite. Raises EngineError with the end of its log."""
    build, log = engines_folder(work.project) / "work" / "tests", prefix / "tests.log"
    work.step.say(f"testing {engine} on {prefix.name}")
    _configure(work, prefix, build=build, tests=True, log=log)
    _compile(work, build, f"{engine}_conformance", log=log)
    chosen = ["-R", f"^{engine}\\.", "-L", "conformance", "--no-tests=error"]
    done = subprocess.run(
        ["ctest", "--test-dir", str(build), "-j", str(work.jobs), "--output-on-failure", *chosen],
        env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TEST_SECONDS,
        check=False,
    )
    log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        end = "\n".join(f"    {line}" for line in (done.stdout + done.stderr).splitlines()[-_LOG_LINES:])
        raise EngineError(f"the conformance suite failed:\n{end}", where=str(log))
    work.step.say(next(line for line in done.stdout.splitlines() if "tests passed" in line))


def _own_build(work: Work) -> Path:
    return work.project.root / "build"


def _configure(work: Work, prefix: Path, *, build: Path, tests: bool, log: Path) -> None:
    """The driver's libraries are those of the usual build where there is one, brought up to date."""
    usual = _own_build(work)
    shared = (usual / "build.ninja").is_file()
    if shared:
        _compile(work, usual, *_SHARED_TARGETS, log=log)
    library = prefix.name.partition("@")[0]
    settings = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "KVDYNO_TESTS": "ON" if tests else "OFF",
        "KVDYNO_ENGINES": ";".join(read_versions(work.project).libraries[library].engines),
        "KVDYNO_ENGINE_PREFIX": str(prefix),
        "KVDYNO_DRIVER_BUILD": str(usual) if shared else "",
        "KVDYNO_LIBRARY_FLAGS": json.loads((prefix / MANIFEST).read_text())["flags"],
    }
    configure(work.project.root, build=build, settings=settings, log=log, what="the driver")


def _compile(work: Work, build: Path, *targets: str, log: Path) -> None:
    compile_targets(
        build, targets=targets, jobs=work.jobs, log=log, what=targets[0], progress=work.step.progress
    )
