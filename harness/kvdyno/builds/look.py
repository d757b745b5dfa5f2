"""Which versions are built, and which of them are wanted."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.host.libraries import archives_folder, driver_in, is_built, is_current, prefix_of
from kvdyno.model.project import Project
from kvdyno.model.versions import SYSTEM, Version, read_versions, split_version
from kvdyno.model.words import unknown


@dataclass(frozen=True)
class VersionState:
    """One listed version. `drivers` are the engines whose driver is there and up to date.

    `size_bytes` is what the built folder takes, 0 where it is not built.
    """

    library: str
    version: str
    listed: Version
    prefix: Path
    built: bool
    drivers: tuple[str, ...]
    size_bytes: int


def version_states(project: Project) -> tuple[VersionState, ...]:
    """Every version that engines/versions.yaml lists, in its order. Raises SpecError."""
    return tuple(_state(project, library, version) for library, version in read_versions(project).all())


def _state(project: Project, library: str, version: str) -> VersionState:
    listed = read_versions(project).libraries[library]
    prefix = prefix_of(project, library=library, version=version)
    built = is_built(prefix)
    return VersionState(
        library=library,
        version=version,
        listed=listed.versions[version],
        prefix=prefix,
        built=built,
        drivers=tuple(e for e in listed.engines_of(version) if is_current(project, driver_in(prefix, e), e)),
        size_bytes=sum(p.lstat().st_size for p in prefix.rglob("*") if p.is_file()) if built else 0,
    )


def wanted_versions(project: Project, names: Iterable[str]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Libraries with their versions, and which engines' drivers these names ask for.

    A bare name means the engine's default version; system's need no library. Raises EngineError for an
    unknown engine or a version that is not listed.
    """
    versions = read_versions(project)
    wanted: dict[tuple[str, str], dict[str, None]] = {}
    for engine, version in _chosen(project, names):
        library = versions.library_of(engine)
        if version != SYSTEM and library:
            wanted.setdefault((library, version), {})[engine] = None
    return {key: tuple(engines) for key, engines in wanted.items()}


def wanted_without_version(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    """The engines among these names whose drivers the checkout's own build makes: ours, and system's.

    Raises EngineError as `wanted_versions` does.
    """
    library_of = read_versions(project).library_of
    return tuple(
        dict.fromkeys(
            engine
            for engine, version in _chosen(project, names)
            if version == SYSTEM or not library_of(engine)
        )
    )


def _chosen(project: Project, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name's engine and version, the default one where it names none."""
    versions = read_versions(project)
    for name in names:
        engine, version = split_version(name)
        if not (project.adapters / engine / "CMakeLists.txt").is_file():
            known = sorted(path.parent.name for path in project.adapters.glob("*/CMakeLists.txt"))
            raise EngineError(unknown("engine", engine, known))
        if version:
            versions.check(engine, version)
        yield engine, version or versions.default_of(engine)


def needed_packages(
    project: Project, wanted: Iterable[tuple[str, str]], *, tools: bool = False
) -> tuple[str, ...]:
    """Debian packages, besides compilers, that building these versions of libraries needs.

    `tools` adds those of the engines' own tools; without it, what is built needs none. A registry's client
    is named only where neither it nor the archive is here.
    """
    versions = read_versions(project)
    packages: dict[str, None] = {}
    for library, version in wanted:
        listed = versions.libraries[library]
        if is_built(prefix_of(project, library=library, version=version)) and not tools:
            continue
        packages.update(dict.fromkeys(listed.packages))
        if tools:
            packages.update(dict.fromkeys(listed.tool_packages))
        archive = listed.versions[version].archive
        here = (archives_folder(project) / archive.file).is_file()
        if archive.registry == "crates" and not here and not shutil.which("cargo"):
            packages["cargo"] = None
    return tuple(packages)
