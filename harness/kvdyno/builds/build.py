"""Builds one version: its library, then the drivers that load it. What is up to date is left alone."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import EngineError, HostError
from kvdyno.model.image import source_sha256
from kvdyno.model.project import Project
from kvdyno.model.versions import (
    MANIFEST,
    Library,
    archives_folder,
    compiler,
    driver_in,
    engines_folder,
    is_built,
    is_current,
    prefix_of,
    read_versions,
    stamp_of,
    versioned,
)

from .archive import demand_space, get_archive, unpack
from .compiling import Progress, compile_targets, configure

_TEST_SECONDS = 1800


@dataclass(frozen=True)
class Step:
    """What is heard of a build: `say` gets a line at each step, `progress` counts of compilations."""

    say: Callable[[str], None]
    progress: Progress


def build_version(
    project: Project,
    library: str,
    version: str,
    *,
    engines: Sequence[str],
    step: Step,
    jobs: int | None = None,
    tools: bool = False,
) -> Path:
    """The folder of the built version, with a driver for each of `engines`; `tools` adds the library's own.

    An interrupted build goes on where it was. Raises EngineError when the archive is not the listed one or a
    build fails, HostError when disk, client or registry lack. What was built before stays as it is.
    """
    found = read_versions(project).libraries[library]
    prefix = prefix_of(project, library=library, version=version)
    workers = jobs or len(os.sched_getaffinity(0))
    with _alone(project, step=step), _space_told(project):
        if tools or not is_built(prefix):
            _build_library(
                project, found, versioned(library, version), prefix, step=step, jobs=workers, tools=tools
            )
        for engine in engines:
            if not is_current(project, driver_in(prefix, engine), engine):
                _build_driver(project, prefix, engine, version=version, step=step, jobs=workers)
    return prefix


@contextlib.contextmanager
def _alone(project: Project, *, step: Step) -> Iterator[None]:
    """One build at a time in a data folder."""
    folder = engines_folder(project)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            step.say("another build is under way in this data folder; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _space_told(project: Project) -> Iterator[None]:
    """A disk that fills up while files are copied is this machine's trouble."""
    try:
        yield
    except OSError as error:
        raise HostError(
            error.strerror or str(error),
            where=str(error.filename or engines_folder(project)),
            remedy="free some disk, or set KVDYNO_DATA to a folder on another disk; the same command goes on",
        ) from error


def _build_library(
    project: Project, library: Library, name: str, prefix: Path, *, step: Step, jobs: int, tools: bool
) -> None:
    """Fetch, verify, unpack, configure, build, install."""
    version = library.versions[name.partition("@")[2]]
    folder = engines_folder(project)
    demand_space(folder, needed_bytes=version.disk)
    work = folder / "work" / prefix.name
    archive = get_archive(version, folder=archives_folder(project), say=step.say)
    sources = unpack(archive, spec=version.archive, folder=work / "source")
    build, log = work / "build", work / "build.log"
    settings = dict(library.settings())
    if library.recipe:
        recipe = project.adapters.parent / library.recipe
        settings["CMAKE_PROJECT_INCLUDE"] = str(recipe)
    step.say(f"building {name}; its log is {log}")
    begun = time.monotonic()
    configure(sources, build=build, settings=settings, log=log, what=name)
    targets = [library.target, *(["kvdyno-tools"] if tools else [])]
    compile_targets(build, targets=targets, jobs=jobs, log=log, what=name, progress=step.progress)
    if not is_built(prefix):
        facts = _facts(library, name, flags=_flags(settings, build), seconds=time.monotonic() - begun)
        _install(library, build, sources, prefix=prefix, facts=facts)
    if tools:
        _install_tools(build, prefix=prefix)


def _facts(library: Library, name: str, *, flags: str, seconds: float) -> Mapping[str, object]:
    version = library.versions[name.partition("@")[2]]
    return {
        "schema_version": "kvdyno.library/1",
        "name": name,
        "archive": version.archive.file,
        "sha256": version.sha256,
        "compiler": compiler(),
        "flags": flags,
        "options": dict(library.settings()),
        "seconds": round(seconds, 1),
    }


def _flags(settings: Mapping[str, str], build: Path) -> str:
    """The compiler's flags, as CMake has them for the build type."""
    kind = settings.get("CMAKE_BUILD_TYPE", "")
    names = ("CMAKE_CXX_FLAGS", f"CMAKE_CXX_FLAGS_{kind.upper()}")
    cached = {}
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        name, _, value = line.partition("=")
        cached[name.partition(":")[0]] = value
    return " ".join(filter(None, (cached.get(name, "").strip() for name in names)))


def _install(
    library: Library, build: Path, sources: Path, *, prefix: Path, facts: Mapping[str, object]
) -> None:
    """The shared library with its links and the headers; the manifest last, then the folder's name."""
    partial = prefix.with_name(prefix.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(prefix, ignore_errors=True)
    (partial / "lib").mkdir(parents=True)
    for path in sorted(build.glob(library.library + "*")):
        shutil.copy2(path, partial / "lib" / path.name, follow_symlinks=False)
    if not (partial / "lib" / library.library).exists():
        raise EngineError(f"expected {library.library} of the build, found none", where=str(build))
    shutil.copytree(sources / library.headers, partial / "include")
    (partial / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n")
    partial.rename(prefix)


def _install_tools(build: Path, *, prefix: Path) -> None:
    """Executables of the tools' target; they load the library from beside them, as drivers do."""
    (prefix / "bin").mkdir(exist_ok=True)
    for path in build.glob("db_bench"):
        shutil.copy2(path, prefix / "bin" / path.name)


def _build_driver(
    project: Project, prefix: Path, engine: str, *, version: str, step: Step, jobs: int
) -> None:
    """Compile the adapter against the built library, and link it with the driver."""
    driver, name = driver_in(prefix, engine), versioned(engine, version)
    sources = source_sha256(project, engine)
    build = engines_folder(project) / "work" / "drivers"
    log = prefix / "drivers.log"
    step.say(f"building the driver of {name}")
    _configure_drivers(project, prefix, build=build, tests=False, log=log, what=name)
    compile_targets(
        build, targets=[driver.name], jobs=jobs, log=log, what=f"the driver of {name}", progress=step.progress
    )
    driver.parent.mkdir(exist_ok=True)
    partial = driver.with_name(driver.name + ".part")
    shutil.copy2(build / "bin" / driver.name, partial)
    partial.replace(driver)
    stamp_of(driver).write_text(sources + "\n")


def _configure_drivers(
    project: Project, prefix: Path, *, build: Path, tests: bool, log: Path, what: str
) -> None:
    """This project's own CMake, with the engine's library from `prefix`."""
    facts = json.loads((prefix / MANIFEST).read_text())
    settings = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "KVDYNO_TESTS": "ON" if tests else "OFF",
        "KVDYNO_ENGINE_PREFIX": str(prefix),
        "KVDYNO_LIBRARY_FLAGS": facts["flags"],
    }
    configure(project.root, build=build, settings=settings, log=log, what=what)


def run_conformance(
    project: Project, prefix: Path, engine: str, *, step: Step, jobs: int | None = None
) -> None:
    """Runs the conformance suite against the built version. Raises EngineError with the end of its log."""
    build = engines_folder(project) / "work" / "tests"
    log, suite = prefix / "tests.log", f"{engine}_conformance"
    workers = jobs or len(os.sched_getaffinity(0))
    with _alone(project, step=step), _space_told(project):
        step.say(f"testing {engine} on {prefix.name}")
        _configure_drivers(project, prefix, build=build, tests=True, log=log, what=suite)
        compile_targets(build, targets=[suite], jobs=workers, log=log, what=suite, progress=step.progress)
        chosen = ["-R", f"^{engine}\\.", "-L", "conformance"]
        done = subprocess.run(
            ["ctest", "--test-dir", str(build), "-j", str(workers), "--output-on-failure", *chosen],
            env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TEST_SECONDS,
            check=False,
        )
        log.write_text(done.stdout + done.stderr)
    if done.returncode != 0 or "No tests were found" in done.stderr:
        end = "\n".join(f"    {line}" for line in done.stdout.splitlines()[-40:])
        raise EngineError(f"the conformance suite failed:\n{end}", where=str(log))
    step.say(next((line for line in done.stdout.splitlines() if "tests passed" in line), "passed"))
