"""Catalog: which engines are built, how each describes itself, and which presets it offers.

Asks every driver, a binary of this machine or one in an image, to describe itself; knows no experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast, get_args

from kvdyno.errors import EngineError
from kvdyno.host.build import build_sha256
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.image import REMEDY, names_of_images
from kvdyno.model.project import Project
from kvdyno.model.versions import SYSTEM, read_versions, split_version, versioned

from .built import BuiltEngines
from .describing import PREFIX, describe, local_engine
from .images import ImageEngines, engine_of_image

__all__ = ["Catalog", "describe", "discover", "engine_of_image", "is_current", "local_engine"]


class Catalog(Mapping[str, Engine]):
    """The engines of one runner by name.

    "rocksdb" is the default version (engines/versions.yaml), "rocksdb@11.8.1" one that was built from an
    archive, "rocksdb@system" the distribution's package. "docker:rocksdb" is one of any runner's, which
    is only then asked.
    """

    def __init__(
        self, project: Project, engines: Mapping[str, Engine], *, built: Mapping[str, Engine] | None = None
    ) -> None:
        self._project = project
        self._engines = engines
        self._built = {} if built is None else built
        self._versions = read_versions(project)
        self._others: dict[str, Mapping[str, Engine]] = {}

    def __getitem__(self, key: str) -> Engine:
        """The engine. Raises KeyError, and what `discover` raises."""
        runner, colon, name = key.rpartition(":")
        if colon:
            return self._other(runner)[name]
        engine, version = split_version(name)
        wanted = version or self._versions.default_of(engine)
        if wanted != SYSTEM:
            return self._built[versioned(engine, wanted)]
        if version and not self._versions.library_of(engine):
            raise KeyError(key)
        return self._engines[engine]

    def _other(self, runner: str) -> Mapping[str, Engine]:
        if runner not in get_args(RunnerName):
            raise KeyError(runner)
        if runner not in self._others:
            self._others[runner] = discover(self._project, runner=cast("RunnerName", runner))
        return self._others[runner]

    def __iter__(self) -> Iterator[str]:
        """Bare names, each followed by the versions of it that are there."""
        built = list(self._built)
        here = set(self._engines)  # names alone: an image is looked at when it is asked for
        for name in sorted({*here, *(split_version(each)[0] for each in built)}):
            its_own = [each for each in built if split_version(each)[0] == name]
            system = [versioned(name, SYSTEM)] if its_own and name in here else []
            default = self._versions.default_of(name)
            if versioned(name, default) in its_own or (default == SYSTEM and name in here):
                yield name
            yield from (*its_own, *system)

    def __len__(self) -> int:
        """How many names there are."""
        return sum(1 for _ in self)


def discover(project: Project, *, runner: RunnerName = "local", demand: bool = True) -> Catalog:
    """Every engine that is built for the runner, by name, in alphabetical order.

    Without `demand` there may be no local engine at all.

    Images are looked at when their engine is asked for: one that is out of date, or cannot
    describe itself, is the trouble of those only who name its engine.
    Raises EngineError when none is built or a binary cannot describe itself; SpecError when a preset file is
    wrong; HostError when no Docker Engine answers.
    """
    if runner == "docker":
        return _with_images(project)
    binaries = sorted(path for path in project.binaries.glob(PREFIX + "*") if path.is_file())
    built = BuiltEngines(project)
    if demand and not binaries and not built.drivers:
        raise EngineError(
            "no engine is built: expected kvdyno-<engine> binaries here",
            where=str(project.binaries),
            remedy="make build",
        )
    engines = (local_engine(binary, adapters=project.adapters) for binary in binaries)
    return Catalog(project, {engine.name: engine for engine in engines}, built=built)


def _with_images(project: Project) -> Catalog:
    from kvdyno.host.docker_engine import address  # its library takes its time to import

    names = names_of_images(project)
    packages = ImageEngines(project, [name for name in names if not split_version(name)[1]])
    built = ImageEngines(project, [name for name in names if split_version(name)[1]])
    if not packages and not built:
        raise EngineError("no engine has an image: expected kvdyno-<engine>", where=address(), remedy=REMEDY)
    return Catalog(project, packages, built=built)


def is_current(engine: Engine) -> bool:
    """Whether the engine is still the build that was found. One that is being rebuilt is not.

    An image is: its id, by which it is run, is never another image's.
    """
    try:
        return engine.image is not None or build_sha256(engine.binary) == engine.binary_sha256
    except OSError:
        return False
