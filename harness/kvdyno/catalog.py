"""Catalog: which engines are built, what each says of itself, and which presets it offers.

Asks every driver binary to describe itself; knows no experiment.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kvdyno.errors import EngineError, SpecError
from kvdyno.model.build import build_sha256
from kvdyno.model.engine import Engine, EngineDescription
from kvdyno.model.options import parse_value, value_text
from kvdyno.model.project import Project
from kvdyno.model.schema import parse_json, validate
from kvdyno.model.words import unknown

_PREFIX = "kvdyno-"
_DESCRIBE_SECONDS = 10


class _Preset(BaseModel):
    """A preset as its file has it."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    options: dict[str, str | int | float | bool] = {}


def discover(project: Project) -> Mapping[str, Engine]:
    """Every engine that is built, by name, in alphabetical order.

    Raises EngineError when none is built or one cannot describe itself, and SpecError when a preset
    file is wrong.
    """
    binaries = sorted(path for path in project.binaries.glob(_PREFIX + "*") if path.is_file())
    if not binaries:
        raise EngineError(
            "no engine is built: expected kvdyno-<engine> binaries here",
            where=str(project.binaries),
            remedy="make build",
        )
    engines = (_engine(binary, adapters=project.adapters) for binary in binaries)
    return {engine.name: engine for engine in engines}


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
        said = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        raise EngineError(" | ".join([f"expected a description, found {ended}", *said]), where=where)
    document = parse_json(done.stdout, where=where, error=EngineError)
    validate(document, schema="describe", where=where, error=EngineError)
    return EngineDescription.model_validate(document)


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
