"""Catalog: which engines are built, what each says of itself, and which presets it offers.

Asks every driver, a binary of this machine or one in an image, to describe itself; knows no experiment.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kvdyno.errors import EngineError, SpecError
from kvdyno.model.build import build_sha256
from kvdyno.model.engine import Engine, EngineDescription, RunnerName
from kvdyno.model.image import (
    REMEDY,
    check_image,
    driver_path,
    engines_with_images,
    image_name,
    source_sha256,
)
from kvdyno.model.options import parse_value, value_text
from kvdyno.model.project import Project
from kvdyno.model.schema import parse_json, validate
from kvdyno.model.versions import (
    SYSTEM,
    build_remedy,
    driver_in,
    engines_folder,
    is_built,
    prefix_of,
    read_versions,
    split_version,
    versioned,
)
from kvdyno.model.versions import is_current as is_current_driver
from kvdyno.model.words import unknown

if TYPE_CHECKING:
    from docker import DockerClient

_PREFIX = "kvdyno-"
_DESCRIBE_SECONDS = 10


class Catalog(Mapping[str, Engine]):
    """The engines of one runner by name.

    "rocksdb" is the default version (engines/versions.yaml), "rocksdb@11.8.1" one that was built from an archive,
    "rocksdb@system" the distribution's package; "docker:rocksdb" is one of any runner's, which is only then asked.
    """

    def __init__(
        self, project: Project, engines: Mapping[str, Engine], *, built: Mapping[str, Engine] | None = None
    ) -> None:
        self._project = project
        self._engines = engines
        self._built = built or {}
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
        default_of, built = self._versions.default_of, list(self._built)
        names = {split_version(name)[0] for name in built}
        for name in sorted({*self._engines, *names}):
            if (default_of(name) == SYSTEM and name in self._engines) or versioned(
                name, default_of(name)
            ) in built:
                yield name
            if name in names:
                yield from (name_ for name_ in built if split_version(name_)[0] == name)
                if name in self._engines:
                    yield versioned(name, SYSTEM)

    def __len__(self) -> int:
        """How many names there are."""
        return sum(1 for _ in self)


class _Preset(BaseModel):
    """A preset as its file has it."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    options: dict[str, str | int | float | bool] = {}


def discover(project: Project, *, runner: RunnerName = "local") -> Catalog:
    """Every engine that is built for the runner, by name, in alphabetical order.

    Images are looked at when their engine is asked for: one that is not of the present sources, or cannot
    describe itself, is the trouble of those only who name its engine.
    Raises EngineError when none is built or a binary cannot describe itself; SpecError when a preset file is
    wrong; HostError when no Docker Engine answers.
    """
    if runner == "docker":
        return Catalog(project, _Images(project))
    binaries = sorted(path for path in project.binaries.glob(_PREFIX + "*") if path.is_file())
    if not binaries:
        raise EngineError(
            "no engine is built: expected kvdyno-<engine> binaries here",
            where=str(project.binaries),
            remedy="make build",
        )
    engines = (_engine(binary, adapters=project.adapters) for binary in binaries)
    return Catalog(project, {engine.name: engine for engine in engines}, built=_Built(project))


def is_current(engine: Engine) -> bool:
    """Whether the engine is still the build that was found. One that is being built anew is not.

    An image is: its id, by which it is run, is never another image's.
    """
    try:
        return engine.image is not None or build_sha256(engine.binary) == engine.binary_sha256
    except OSError:
        return False


def describe(binary: Path) -> EngineDescription:
    """What a driver binary says of itself. Raises EngineError when it does not, within 10 seconds."""
    where = f"{binary} --describe"
    try:
        done = subprocess.run(
            [str(binary), "--describe"],
            capture_output=True,
            timeout=_DESCRIBE_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"no answer within {_DESCRIBE_SECONDS} s", where=where, remedy="make build"
        ) from None
    except OSError as error:
        raise EngineError(f"cannot be run: {error.strerror}", where=where, remedy="make build") from error
    if done.returncode != 0:
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        raise _no_description(ended, done.stderr, where=where)
    return _parse_description(done.stdout, where=where)


def _parse_description(said: bytes, *, where: str) -> EngineDescription:
    document = parse_json(said, where=where, error=EngineError)
    validate(document, schema="describe", where=where, error=EngineError)
    return EngineDescription.model_validate(document)


class _Built(Mapping[str, Engine]):
    """Engines on libraries that were built from archives, by name and version; described when first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._engines: dict[str, Engine] = {}

    @functools.cached_property
    def _drivers(self) -> Mapping[str, Path]:
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
        driver = self._drivers[name]
        if name not in self._engines:
            engine, version = split_version(name)
            if not is_current_driver(self._project, driver, engine):
                raise EngineError(
                    "stale: the driver was compiled from other sources",
                    where=str(driver),
                    remedy=build_remedy(engine, version or SYSTEM),
                )
            found = _engine(driver, adapters=self._project.adapters)
            self._engines[name] = replace(found, built_version=version or "")
        return self._engines[name]

    def __iter__(self) -> Iterator[str]:
        """Names with versions, in the file's order; those of stale drivers are left out."""
        for name, driver in self._drivers.items():
            if is_current_driver(self._project, driver, split_version(name)[0]):
                yield name

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)


class _Images(Mapping[str, Engine]):
    """Engines that have an image; each is checked and described when it is first asked for."""

    def __init__(self, project: Project) -> None:
        from kvdyno.model.docker_engine import address, connect  # their library takes its time to import

        self._project = project
        self._connect = connect
        self._engines: dict[str, Engine] = {}
        with contextlib.closing(connect()) as client:
            self._names = [name for name in engines_with_images(project) if _has_image(client, name)]
        if not self._names:
            raise EngineError(
                "no engine has an image: expected kvdyno-<engine>:latest", where=address(), remedy=REMEDY
            )

    def __getitem__(self, name: str) -> Engine:
        """The engine. Raises KeyError, and EngineError when its image may not be measured."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._engines:
            with contextlib.closing(self._connect()) as client:
                self._engines[name] = _image_engine(client, self._project, name)
        return self._engines[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in alphabetical order."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many have an image."""
        return len(self._names)


def _has_image(client: DockerClient, name: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(image_name(name))
    except ImageNotFound:
        return False
    return True


def _image_engine(client: DockerClient, project: Project, name: str) -> Engine:
    """The engine in its image. Raises EngineError when that is of other sources, or for other processors."""
    image = client.images.get(image_name(name))
    check_image(
        name,
        labels=image.labels,
        architecture=image.attrs["Architecture"],
        expected_architecture=client.version()["Arch"],
        expected_source=source_sha256(project, name),
    )
    image_id = str(image.id)
    where = f"{image_name(name)} --describe"
    description = _parse_description(_describe_in(client, image_id, where=where), where=where)
    return Engine(
        name=name,
        binary=Path(driver_path(name)),
        binary_sha256=image_id.removeprefix("sha256:"),
        description=description,
        presets=_presets(project.adapters / name / "presets.yaml", description=description),
        image=image_id,
    )


def _describe_in(client: DockerClient, image_id: str, *, where: str) -> bytes:
    """What the image's driver answers."""
    from docker.errors import APIError

    from kvdyno.model.docker_engine import run_once

    command = [*client.images.get(image_id).attrs["Config"]["Entrypoint"], "--describe"]
    try:
        answer = run_once(client, image_id, command, timeout_seconds=_DESCRIBE_SECONDS)
    except (APIError, TimeoutError) as failure:
        said = getattr(failure, "explanation", None) or failure
        raise EngineError(f"cannot be run: {said}", where=where, remedy=REMEDY) from failure
    if answer.status != 0:
        raise _no_description(f"status {answer.status}", answer.stderr, where=where)
    return answer.stdout


def _no_description(ended: str, said: bytes, *, where: str) -> EngineError:
    last_words = said.decode(errors="replace").strip().splitlines()[-3:]
    return EngineError(" | ".join([f"expected a description, found {ended}", *last_words]), where=where)


def _engine(binary: Path, *, adapters: Path) -> Engine:
    name = binary.name.removeprefix(_PREFIX)
    description = describe(binary)
    if description.engine.name != name:
        raise EngineError(f"expected engine {name!r}, found {description.engine.name!r}", where=str(binary))
    return Engine(
        name=name,
        binary=binary,
        binary_sha256=build_sha256(binary),
        description=description,
        presets=_presets(adapters / name / "presets.yaml", description=description),
    )


def _presets(path: Path, *, description: EngineDescription) -> Mapping[str, Mapping[str, str]]:
    """Presets by name; an engine without the file (an upstream binding) has `default` only."""
    if not path.exists():
        return {"default": {}}
    try:
        document = YAML(typ="safe", pure=True).load(path)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SpecError(f"not YAML: {error.problem}", where=f"{path}:{line}") from None
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # The parser trips over bytes that are no text, and over tags on values of another kind.
        problem = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SpecError(f"not YAML: {problem}", where=str(path)) from None
    if not isinstance(document, dict) or "default" not in document:
        raise SpecError("expected presets by name, among them 'default'", where=str(path))
    return {
        str(name): _preset(body, description=description, where=f"{path}: {name}")
        for name, body in document.items()
    }


def _preset(body: object, *, description: EngineDescription, where: str) -> Mapping[str, str]:
    try:
        preset = _Preset.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=where) from None
    options = {}
    for name, value in preset.options.items():
        option = description.option(name)
        if option is None:
            raise SpecError(unknown("option", name, [o.name for o in description.options]), where=where)
        try:
            options[name] = value_text(parse_value(option, value))
        except ValueError as error:
            raise SpecError(str(error), where=where) from None
    return options
