"""An engine's library: unpacked, configured, built, and installed under its key."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.host.libraries import (
    MANIFEST,
    PLACES_LEFT_OUT,
    archives_folder,
    compiler,
    engines_folder,
    is_built,
)
from kvdyno.model.versions import Library, read_versions, versioned

from .archive import demand_space, get_archive, unpack
from .compiling import compile_targets, configure
from .work import Work

#: What a recipe calls the engine's own tools, and where they are in its build.
_TOOLS_TARGET, _TOOLS = "kvdyno-tools", "kvdyno-tools/*"


def build_library(work: Work, library: str, version: str, *, prefix: Path, tools: bool) -> None:
    """Fetch, verify, unpack, configure, build, install. Raises EngineError and HostError."""
    folder, name = engines_folder(work.project), versioned(library, version)
    found = read_versions(work.project).libraries[library]
    listed = found.versions[version]
    if tools and not found.tool_packages:
        raise EngineError(
            f"{name} comes without tools", remedy=f"kvdyno engines build {name}, without --tools"
        )
    demand_space(folder, needed_bytes=listed.disk)
    archive = get_archive(listed, folder=archives_folder(work.project), say=work.step.say)
    place = folder / "work" / prefix.name
    sources = unpack(archive, spec=listed.archive, folder=place / "source")
    build, log = place / "build", place / "build.log"
    places = place / "places.cmake"
    places.write_text(PLACES_LEFT_OUT)
    settings = {**found.settings(), "CMAKE_PROJECT_INCLUDE_BEFORE": str(places)}
    if found.recipe:
        settings["CMAKE_PROJECT_INCLUDE"] = str(work.project.adapters.parent / found.recipe)
    work.step.say(f"building {name}; its log is {log}")
    begun = time.monotonic()
    configure(sources, build=build, settings=settings, log=log, what=name)
    compiles = partial(
        compile_targets, build, jobs=work.jobs, log=log, what=name, progress=work.step.progress
    )
    compiles(targets=[found.target])
    if not is_built(prefix):
        facts = {
            "name": name,
            "archive": listed.archive.file,
            "sha256": listed.sha256,
            "flags": _flags(settings, build),
            "seconds": round(time.monotonic() - begun, 1),
        }
        _install(found, build, sources, prefix=prefix, facts=facts)
    if tools:
        compiles(targets=[_TOOLS_TARGET])
        _install_tools(build, prefix=prefix, name=name)


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
    """The shared library with its links, and the headers; the manifest last, then the folder's name."""
    partial = prefix.with_name(prefix.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(prefix, ignore_errors=True)
    (partial / "lib").mkdir(parents=True)
    for path in sorted(build.glob(library.library + "*")):
        shutil.copy2(path, partial / "lib" / path.name, follow_symlinks=False)
    if not (partial / "lib" / library.library).exists():
        raise EngineError(f"expected {library.library} of the build, found none", where=str(build))
    shutil.copytree(sources / library.headers, partial / "include")
    manifest = {
        "schema_version": "kvdyno.library/1",
        **facts,
        "compiler": compiler(),
        "options": dict(library.settings()),
    }
    (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    partial.rename(prefix)


def _install_tools(build: Path, *, prefix: Path, name: str) -> None:
    """The engine's own programs; they load the library from beside them, as drivers do."""
    programs = [path for path in build.glob(_TOOLS) if path.is_file()]
    if not programs:
        raise EngineError(f"the recipe of {name} makes no tools", where=str(build))
    (prefix / "bin").mkdir(exist_ok=True)
    for path in programs:
        shutil.copy2(path, prefix / "bin" / path.name)
