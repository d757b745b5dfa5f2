"""Drivers of git revisions: their sources, exported and compiled apart from the checkout's own build.

A build is kept by the content of its sources, so that revisions which differ in documents or tests share it.
Below the data folder, `engines/revisions/<engine>-<key>/` holds `bin/kvdyno-<engine>`, the adapters' folder
of the revision (presets and counters) and, where the engine has a library, a link to it as `lib`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

from kvdyno.errors import EngineError, HostError
from kvdyno.host.libraries import MANIFEST, compiler, driver_in, engines_folder, prefix_of
from kvdyno.model.project import Project
from kvdyno.model.sources import adapter_folders, source_sha256
from kvdyno.model.versions import SYSTEM, read_versions

from .archive import extract
from .build import build_version
from .compiling import compile_targets, configure
from .work import Step, Work, working

#: What a driver is compiled from.
_SOURCES = ("engines", "CMakeLists.txt")
_GIT_SECONDS = 120
_NAME_DIGITS = 9


@dataclass(frozen=True)
class Revision:
    """A driver of a commit, and the folder of the adapters that describe its presets."""

    commit: str
    driver: Path
    adapters: Path


def commit_of(project: Project, name: str) -> str | None:
    """The commit's full hash; None if git knows no such revision here. Raises HostError without git."""
    return _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def commits_between(project: Project, good: str, bad: str) -> tuple[str, ...] | None:
    """Commits after `good` up to `bad` that change sources, oldest first; None if `good` is no ancestor.

    A merge counts as one commit: what was merged is not walked.
    """
    if _git(project, "merge-base", "--is-ancestor", good, bad) is None:
        return None
    between = f"{good}..{bad}"
    found = _git(project, "rev-list", "--first-parent", "--reverse", between, "--", *_SOURCES)
    return tuple((found or "").split())


def changed_sources(project: Project) -> tuple[str, ...]:
    """Sources of drivers that differ from the commit that is checked out, as git lists them."""
    found = _git(project, "status", "--porcelain", "--", *_SOURCES) or ""
    return tuple(line.split(maxsplit=1)[1] for line in found.splitlines())


def build_revision(
    project: Project, commit: str, engine: str, *, step: Step, jobs: int | None = None
) -> Revision:
    """The driver of that commit, compiled if its sources were not compiled before.

    The library of an engine that has versions is this checkout's default one. Raises EngineError, with the
    log's end, when the revision cannot be built; HostError when git, disk or CMake lack.
    """
    library = _library(project, engine, step=step, jobs=jobs)
    with working(project, step=step, jobs=jobs) as work:
        tree = replace(project, root=engines_folder(project) / "work" / "revision")
        _export(project, commit, into=tree.root)
        if not (tree.adapters / engine / "CMakeLists.txt").is_file():
            raise EngineError(f"has no engine {engine!r}", where=f"git revision {commit[:_NAME_DIGITS]}")
        folder = engines_folder(project) / "revisions" / f"{engine}-{_key(tree, engine, library)}"
        found = Revision(commit, driver_in(folder, engine), folder / "adapters")
        if not found.driver.is_file():
            step.say(f"building {engine} of {commit[:_NAME_DIGITS]}")
            _compile(work, tree, engine, library, folder=folder, what=f"{engine} of {commit[:_NAME_DIGITS]}")
    return found


def _git(project: Project, *arguments: str) -> str | None:
    """What git printed; None if it refused."""
    command = ["git", "-C", str(project.root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise HostError(f"cannot be run: {error}", where="git", remedy="apt-get install git") from error
    return done.stdout.rstrip() if done.returncode == 0 else None


def _export(project: Project, commit: str, *, into: Path) -> None:
    """The commit's files but its results, in place of what is there.

    Every build has the same folder, so that a compiler's cache knows a file again.
    """
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    command = ["git", "-C", str(project.root), "archive", commit, ".", ":(exclude)results"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as packing:
        assert packing.stdout is not None
        assert packing.stderr is not None
        try:
            with tarfile.open(fileobj=packing.stdout, mode="r|") as packed:
                extract(packed, into=into)
        except tarfile.TarError as error:
            problem = packing.stderr.read().decode(errors="replace").strip() or str(error)
            raise EngineError(f"cannot be exported: {problem}", where=f"git revision {commit}") from error


def _library(project: Project, engine: str, *, step: Step, jobs: int | None) -> Path | None:
    """The folder of the library that the engine's bare name means, built; None: the system's, or none."""
    versions = read_versions(project)
    name, version = versions.library_of(engine), versions.default_of(engine)
    if name is None or version == SYSTEM:
        return None
    build_version(project, name, version, engines=(), step=step, jobs=jobs)
    return prefix_of(project, library=name, version=version)


def _key(tree: Project, engine: str, library: Path | None) -> str:
    """Hash of all that can change the driver, its presets or its counters."""
    adapters = sorted(adapter_folders(tree.adapters / engine))
    described = [path for folder in adapters for path in sorted(folder.glob("*.[yt]*")) if path.is_file()]
    texts = [source_sha256(tree, engine), library.name if library else "", compiler()]
    texts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in described]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _compile(
    work: Work, tree: Project, engine: str, library: Path | None, *, folder: Path, what: str
) -> None:
    """The driver last, when all beside it is there.

    Ninja compares dates, and an export's are its commit's: every build begins in an empty folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log, build = folder / "build.log", tree.root.with_name("revision-build")
    shutil.rmtree(build, ignore_errors=True)
    settings = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "KVDYNO_TESTS": "OFF",
        "KVDYNO_ENGINES": engine,
        "KVDYNO_ENGINE_PREFIX": str(library or ""),
        "KVDYNO_LIBRARY_FLAGS": json.loads((library / MANIFEST).read_text())["flags"] if library else "",
    }
    driver = driver_in(folder, engine)
    configure(tree.root, build=build, settings=settings, log=log, what=what)
    compile_targets(
        build, targets=[driver.name], jobs=work.jobs, log=log, what=what, progress=work.step.progress
    )
    shutil.copytree(tree.adapters, folder / "adapters")
    if library:
        (folder / "lib").symlink_to(library / "lib")
    driver.parent.mkdir()
    partial = driver.with_name(driver.name + ".part")
    shutil.copy2(build / "bin" / driver.name, partial)
    partial.replace(driver)
    shutil.rmtree(build)
