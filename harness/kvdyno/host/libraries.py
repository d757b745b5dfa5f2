"""Libraries built on this machine, and the drivers that load them: where they lie, whether they are current.

The contract between what builds versions (`kvdyno.builds`) and what looks for them (`kvdyno.catalog`). Below
the data folder, `engines/<library>@<version>-<key>/` holds a built library: `lib/`, `include/`,
`library.json` (written last) and in `bin/` the drivers that load it, each beside `<driver>.sources`, the hash
of what it was compiled from. The key hashes all that can change the library's file.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.model.project import Project
from kvdyno.model.sources import source_sha256
from kvdyno.model.versions import read_versions, split_version

#: Written last into a built library's folder: what it is, and how it was built.
MANIFEST = "library.json"

#: For CMake at the start of each library's project() command: its file is the same wherever it is built.
PLACES_LEFT_OUT = """\
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=." "-ffile-prefix-map=${CMAKE_BINARY_DIR}=./build")
"""

_COMPILER_SECONDS = 10


def engines_folder(project: Project) -> Path:
    """Where archives, sources and built versions lie; can be deleted at any time."""
    return project.data / "engines"


def archives_folder(project: Project) -> Path:
    """Where archives are kept once they are verified."""
    return engines_folder(project) / "archives"


def prefix_of(project: Project, *, library: str, version: str) -> Path:
    """The folder of a built library, whether or not it exists.

    Its key hashes the archive, the options, the recipe, what leaves places out, and the compiler.
    """
    here = {"places": PLACES_LEFT_OUT, "compiler": compiler()}
    key = _hash(_inputs(project, library, version) | here)
    return engines_folder(project) / f"{library}@{version}-{key[:12]}"


def version_sha256(project: Project, name: str) -> str:
    """Hash of all that a driver and its library are built from, but for the compiler: of an image's sources.

    Without a version in the name, of the driver's sources alone. Raises EngineError for an unknown name.
    """
    engine, version = split_version(name)
    sources = source_sha256(project, engine)
    if version is None:
        return sources
    versions = read_versions(project)
    versions.check(engine, version)
    library = versions.library_of(engine)
    assert library is not None  # or there were no version
    return _hash(_inputs(project, library, version) | {"driver": sources})


def _inputs(project: Project, library: str, version: str) -> dict[str, object]:
    """What can change a library's file, but for the compiler."""
    found = read_versions(project).libraries[library]
    engines = project.adapters.parent
    own = {str(path): _sha256(engines / path) for path in found.uses}
    return {
        "archive": found.versions[version].sha256,
        "options": dict(found.settings()),
        "target": found.target,
        "headers": found.headers,
        "recipe": _sha256(engines / found.recipe) if found.recipe else None,
        **({"uses": own} if own else {}),
    }


def _hash(key: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def compiler() -> str:
    """The C++ compiler's name and version, as it prints them. Raises HostError without one."""
    command = [os.environ.get("CXX", "c++"), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_COMPILER_SECONDS, check=True, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise HostError(
            f"no C++ compiler answers: {error}", where=" ".join(command), remedy="make packages"
        ) from error
    return done.stdout.splitlines()[0].strip()


def is_built(prefix: Path) -> bool:
    """Whether the library is there."""
    return (prefix / MANIFEST).is_file()


def driver_in(prefix: Path, engine: str) -> Path:
    """The driver that loads the library in `prefix`, whether or not it exists."""
    return prefix / "bin" / f"kvdyno-{engine}"


def stamp_of(driver: Path) -> Path:
    """Beside a driver: the hash of what it was compiled from."""
    return driver.with_name(driver.name + ".sources")


def is_current(project: Project, driver: Path, engine: str) -> bool:
    """Whether the driver is there, compiled from the present sources of driver and adapter."""
    stamp = stamp_of(driver)
    if not driver.is_file() or not stamp.is_file():
        return False
    return stamp.read_text().strip() == source_sha256(project, engine)
