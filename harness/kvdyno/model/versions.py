"""Versions of engines: what engines/versions.yaml lists."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kvdyno.errors import EngineError, UsageError

from .document import read_document
from .engine import Frozen
from .project import Project
from .reading import read_form
from .units import parse_bytes
from .words import shown, unknown

#: The distribution's package, as a version.
SYSTEM = "system"
#: Environment variable: `system` makes bare names mean packages, whatever versions.yaml lists.
DEFAULTS = "KVDYNO_VERSIONS"


def _sha256(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError(f"expected 64 hexadecimal digits, found {shown(text)}")
    return text


Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
Sha256 = Annotated[str, AfterValidator(_sha256)]


class Archive(Frozen):
    """A file of a package registry: `crates` (cargo's) or `debian` (source packages, by apt's client).

    `folder` is where the engine's sources are inside what the archive unpacks to.
    """

    registry: Literal["crates", "debian"]
    name: str
    version: str
    folder: str = "."

    @property
    def file(self) -> str:
        """The archive's file name."""
        if self.registry == "crates":
            return f"{self.name}-{self.version}.crate"
        return f"{self.name}_{self.version}.orig.tar.gz"


class Version(Frozen):
    """One version: its archive with SHA-256, and what building it takes. `cpu_minutes` counts one core.

    `engines`: the adapters that build with it; without it, all of the library's.
    """

    archive: Archive
    engines: tuple[str, ...] | None = None
    sha256: Sha256
    cpu_minutes: Annotated[float, Field(gt=0)]
    disk: Bytes


class Library(Frozen):
    """An engine's library: which adapters use it, and how every version of it is built with CMake.

    `default` is the version that an engine's bare name means. `target` is what CMake builds; of its output
    `library` is the file that linkers look for, `headers` a folder of the sources. `recipe`, relative to
    engines/, is included by the project's CMakeLists.txt; `uses` are further files of engines/ that it
    compiles. `packages` are Debian's that the build needs, `tool_packages` those that the engine's own tools
    need in addition: without any it comes without tools.
    An option's value may depend on the processor.
    """

    default: str = SYSTEM
    engines: tuple[str, ...]
    packages: tuple[str, ...] = ()
    tool_packages: tuple[str, ...] = ()
    recipe: Path | None = None
    uses: tuple[Path, ...] = ()
    target: str
    library: str
    headers: str
    options: Mapping[str, str | Mapping[str, str]] = Field(default_factory=dict)
    versions: Mapping[str, Version]

    @model_validator(mode="after")
    def _names_exist(self) -> Library:
        if self.default not in (SYSTEM, *self.versions):
            raise ValueError(unknown("default version", self.default, (SYSTEM, *self.versions)))
        for version in self.versions:
            for engine in self.engines_of(version):
                if engine not in self.engines:
                    raise ValueError(f"versions: {version}: {unknown('engine', engine, self.engines)}")
        return self

    def engines_of(self, version: str) -> tuple[str, ...]:
        """The adapters that build with a listed version."""
        of_version = self.versions[version].engines
        return self.engines if of_version is None else of_version

    def versions_of(self, engine: str) -> tuple[str, ...]:
        """The listed versions that an adapter builds with."""
        return tuple(version for version in self.versions if engine in self.engines_of(version))

    def settings(self) -> Mapping[str, str]:
        """CMake's options for this machine's processor, by name."""
        here = platform.machine()
        return {
            name: value if isinstance(value, str) else value.get(here, "")
            for name, value in self.options.items()
        }


class Versions(Frozen):
    """All libraries that versions.yaml lists."""

    libraries: Mapping[str, Library] = Field(default_factory=dict)

    def library_of(self, engine: str) -> str | None:
        """The name of the library that the engine's adapter uses; None if no versions of it are listed."""
        return next((name for name, each in self.libraries.items() if engine in each.engines), None)

    def default_of(self, engine: str) -> str:
        """The version that the engine's bare name means."""
        library = self.library_of(engine)
        return self.libraries[library].default if library else SYSTEM

    def check(self, engine: str, version: str, *, where: str | None = None) -> None:
        """Raises EngineError, which names the nearest, unless the version is listed."""
        library = self.library_of(engine)
        known = (SYSTEM, *self.libraries[library].versions_of(engine)) if library else (SYSTEM,)
        if version not in known:
            raise EngineError(unknown(f"version of {engine}", version, known), where=where)

    def resolve(self, name: str) -> str:
        """What a name of an engine stands for: "rocksdb@11.8.1", and "rocksdb" alone for the package.

        Raises EngineError for a version that is not listed.
        """
        engine, version = split_version(name)
        if version:
            self.check(engine, version)
        chosen = version or self.default_of(engine)
        return versioned(engine, None if chosen == SYSTEM else chosen)

    def names(self) -> tuple[str, ...]:
        """Every engine with each version that it builds with: "rocksdb@11.8.1"."""
        return tuple(
            versioned(engine, version)
            for library, version in self.all()
            for engine in self.libraries[library].engines_of(version)
        )

    def all(self) -> tuple[tuple[str, str], ...]:
        """Every library with each of its versions, in the file's order."""
        return tuple((name, version) for name, each in self.libraries.items() for version in each.versions)


def versioned(engine: str, version: str | None) -> str:
    """How people name a version of an engine: "rocksdb@11.8.1"; the bare name without a version."""
    return f"{engine}@{version}" if version else engine


def split_version(name: str) -> tuple[str, str | None]:
    """ "rocksdb@11.8.1" as engine and version; None where none is named."""
    engine, at, version = name.partition("@")
    return engine, version if at else None


def build_remedy(engine: str, version: str) -> str:
    """The command that builds it."""
    return f"kvdyno engines build {versioned(engine, version)}"


def read_versions(project: Project) -> Versions:
    """What engines/versions.yaml lists; nothing without the file. Raises SpecError, UsageError."""
    path = versions_file(project)
    if not path.is_file():
        return Versions()
    listed = _parsed(path, path.stat().st_mtime_ns)
    if not (chosen := os.environ.get(DEFAULTS)):
        return listed
    if chosen != SYSTEM:
        raise UsageError(f"expected {SYSTEM!r} or nothing, found {chosen!r}", where=DEFAULTS)
    packaged = {name: each.model_copy(update={"default": SYSTEM}) for name, each in listed.libraries.items()}
    return Versions(libraries=packaged)


def versions_file(project: Project) -> Path:
    """The file that lists versions."""
    return project.adapters.parent / "versions.yaml"


@functools.lru_cache(maxsize=8)
def _parsed(path: Path, _modified_ns: int) -> Versions:
    document = read_document(path, keys_are_texts=True)
    return read_form(document.below("libraries"), Versions) if document.data else Versions()
