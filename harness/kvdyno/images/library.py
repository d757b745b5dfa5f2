"""What an image's build gets to see of a library that is built from an archive: the folder library/."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from kvdyno.model.project import Project
from kvdyno.model.versions import Library, Version, read_versions, split_version

_FACTS = "library/facts"


def library_part(project: Project, name: str, *, archive: Path | None) -> Mapping[str, bytes]:
    """Files of the context by name, as containers/Dockerfile expects them.

    `library/facts` is a shell script that sets what to build; it is empty for a package's engine. `archive`
    is the verified archive of the version that `name` ends with.
    """
    engine, version = split_version(name)
    if version is None:
        return {_FACTS: b""}
    assert archive is not None  # the caller has fetched a version's
    versions = read_versions(project)
    library = versions.libraries[versions.library_of(engine) or ""]
    engines = project.adapters.parent
    sources = {path.as_posix(): (engines / path).read_bytes() for path in _own_files(library)}
    return {
        _FACTS: _facts(library, library.versions[version]).encode(),
        "library/options.cmake": _options(library).encode(),
        "library/archive": archive.read_bytes(),
        **{f"library/engines/{path}": content for path, content in sources.items()},
    }


def _own_files(library: Library) -> tuple[Path, ...]:
    """Relative to engines/."""
    return (*([library.recipe] if library.recipe else []), *library.uses)


def _facts(library: Library, version: Version) -> str:
    facts = {
        "folder": version.archive.folder,
        "target": library.target,
        "library": library.library,
        "headers": library.headers,
        "packages": " ".join(library.packages),
    }
    return "".join(f"{name}={shlex.quote(text)}\n" for name, text in facts.items())


def _options(library: Library) -> str:
    """CMake's initial cache."""
    settings = dict(library.settings())
    if library.recipe:
        settings["CMAKE_PROJECT_INCLUDE"] = f"/library/engines/{library.recipe}"
    return "".join(f'set({name} "{text}" CACHE STRING "")\n' for name, text in settings.items())
