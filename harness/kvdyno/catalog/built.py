"""Engines on libraries that were built from archives."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.host.libraries import driver_in, engines_folder, is_built, is_current, prefix_of
from kvdyno.model.engine import Engine
from kvdyno.model.project import Project
from kvdyno.model.versions import SYSTEM, build_remedy, read_versions, split_version, versioned

from .describing import local_engine


class BuiltEngines(Mapping[str, Engine]):
    """Engines by name and version; each is described when it is first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._engines: dict[str, Engine] = {}

    @functools.cached_property
    def drivers(self) -> Mapping[str, Path]:
        """Those that are there, stale ones too."""
        found = {}
        versions = read_versions(self._project)
        if not engines_folder(self._project).is_dir():
            return {}
        for library, version in versions.all():
            prefix = prefix_of(self._project, library=library, version=version)
            for engine in versions.libraries[library].engines:
                driver = driver_in(prefix, engine)
                if is_built(prefix) and driver.is_file():
                    found[versioned(engine, version)] = driver
        return found

    def __getitem__(self, name: str) -> Engine:
        """The engine. Raises KeyError; EngineError when its driver was compiled from other sources."""
        driver = self.drivers[name]
        if name not in self._engines:
            engine, version = split_version(name)
            if not is_current(self._project, driver, engine):
                raise EngineError(
                    "stale: the driver was compiled from other sources",
                    where=str(driver),
                    remedy=build_remedy(engine, version or SYSTEM),
                )
            found = local_engine(driver, adapters=self._project.adapters)
            self._engines[name] = replace(found, built_version=version or "")
        return self._engines[name]

    def __iter__(self) -> Iterator[str]:
        """Names with versions, in the file's order; those of stale drivers are left out."""
        for name, driver in self.drivers.items():
            if is_current(self._project, driver, split_version(name)[0]):
                yield name

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)
