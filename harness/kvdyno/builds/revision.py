"""Drivers of git revisions, patches on them, other trees: compiled apart from the checkout's own build.

A build is kept by the content of its sources, so that sources which differ in documents or tests share it.
Below the data folder, `engines/revisions/<engine>-<key>/` holds `bin/kvdyno-<engine>`, the adapters' folder
of the revision (presets and counters) and, where the engine has a library, a link to it as `lib`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kvdyno.errors import EngineError, HostError
from kvdyno.host.libraries import MANIFEST, compiler, driver_in, engines_folder, prefix_of
from kvdyno.model.project import Project
from kvdyno.model.sources import DOCKERFILE, adapter_folders, source_sha256
from kvdyno.model.versions import SYSTEM, read_versions

from .archive import extract
from .build import build_version
from .compiling import compile_targets, configure
from .work import Step, Work, working

#: What a driver is compiled from.
_SOURCES = ("engines", "CMakeLists.txt")
_GIT_SECONDS = 120
_NAME_DIGITS = 9
_NO_SOURCES = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass(frozen=True)
class Revision:
    """A driver that was compiled apart, and the folder of the adapters that describe its presets."""

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
    project: Project,
    commit: str,
    engine: str,
    *,
    step: Step,
    patch: Path | None = None,
    jobs: int | None = None,
) -> Revision:
    """The driver of that commit, with the patch if one is named, compiled if its sources were not before.

    The library of an engine that has versions is this checkout's default one. Raises EngineError, with the
    log's end, when the revision cannot be built, and for a patch that does not apply or changes nothing of
    the engine; HostError when git, disk or CMake lack.
    """
    name = commit[:_NAME_DIGITS]

    def fill(tree: Project) -> None:
        _export(project, commit, into=tree.root)
        if patch:
            _apply(patch, tree, engine, to=name)

    what = f"{name} with {patch.name}" if patch else name
    return _built(project, engine, fill, what=what, where=f"git revision {name}", step=step, jobs=jobs)


def build_tree(
    project: Project, folder: Path, engine: str, *, step: Step, jobs: int | None = None
) -> Revision:
    """The driver of another tree of this project, as its files are now; else as `build_revision`."""

    def fill(tree: Project) -> None:
        shutil.rmtree(tree.root, ignore_errors=True)
        for path in (folder / name for name in (*_SOURCES, str(DOCKERFILE))):
            target = tree.root / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target, ignore=_NO_SOURCES)
            else:
                shutil.copy2(path, target)

    return _built(project, engine, fill, what=str(folder), where=str(folder), step=step, jobs=jobs)


def tree_key(project: Project, folder: Path, engine: str) -> str:
    """A hash of what the engine's driver would be built from in that tree.

    Raises EngineError if the folder is no tree of this project, or has no such engine.
    """
    tree = replace(project, root=folder)
    missing = [name for name in (*_SOURCES, str(DOCKERFILE)) if not (folder / name).exists()]
    if missing:
        raise EngineError(
            f"expected a tree of this project, found no {missing[0]} in it",
            where=str(folder),
            remedy="name the folder that has engines/ in it",
        )
    _demand_engine(tree, engine, where=str(folder))
    return _key(tree, engine, None)


def _built(
    project: Project,
    engine: str,
    fill: Callable[[Project], None],
    *,
    what: str,
    where: str,
    step: Step,
    jobs: int | None,
) -> Revision:
    """The driver of the sources that `fill` lays down."""
    library = _library(project, engine, step=step, jobs=jobs)
    with working(project, step=step, jobs=jobs) as work:
        tree = replace(project, root=engines_folder(project) / "work" / "revision")
        fill(tree)
        _demand_engine(tree, engine, where=where)
        folder = engines_folder(project) / "revisions" / f"{engine}-{_key(tree, engine, library)}"
        found = Revision(driver_in(folder, engine), folder / "adapters")
        if not found.driver.is_file():
            step.say(f"building {engine} of {what}")
            _compile(work, tree, engine, library, folder=folder, what=f"{engine} of {what}")
    return found


def _demand_engine(tree: Project, engine: str, *, where: str) -> None:
    if not (tree.adapters / engine / "CMakeLists.txt").is_file():
        raise EngineError(f"has no engine {engine!r}", where=where)


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


def _apply(patch: Path, tree: Project, engine: str, *, to: str) -> None:
    """Change the tree by the patch.

    Git must not take the tree for a part of the checkout around it: it would leave out every file.
    """
    before = _key(tree, engine, None)
    command = ["git", "apply", "--whitespace=nowarn", "--exclude=results/*", str(patch.resolve())]
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.root.parent)}
    done = subprocess.run(command, cwd=tree.root, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(
            f"does not apply to {to}: {done.stderr.strip()}",
            where=str(patch),
            remedy=f"make it with `git diff {to}`, or name a source tree",
        )
    if _key(tree, engine, None) == before:
        raise EngineError(
            f"expected a change to what {engine!r} is built from, found none",
            where=str(patch),
            remedy="name the engine that it changes: --engine",
        )


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
