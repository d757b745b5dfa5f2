"""A driver's description of itself, by its `--describe`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.host.build import build_sha256
from kvdyno.model.engine import Engine, EngineDescription
from kvdyno.model.metrics import read_counters
from kvdyno.model.schema import parse_json, validate

from .presets import read_presets

PREFIX = "kvdyno-"
DESCRIBE_SECONDS = 10


def describe(binary: Path) -> EngineDescription:
    """A driver binary's description of itself. Raises EngineError when it does not, within 10 seconds."""
    where = f"{binary} --describe"
    try:
        done = subprocess.run(
            [str(binary), "--describe"],
            capture_output=True,
            timeout=DESCRIBE_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"no answer within {DESCRIBE_SECONDS} s", where=where, remedy="make build"
        ) from None
    except OSError as error:
        raise EngineError(f"cannot be run: {error.strerror}", where=where, remedy="make build") from error
    if done.returncode != 0:
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        raise no_description(ended, done.stderr, where=where)
    return parse_description(done.stdout, where=where)


def parse_description(said: bytes, *, where: str) -> EngineDescription:
    """What a driver printed. Raises EngineError when it is no description."""
    document = parse_json(said, where=where, error=EngineError)
    validate(document, schema="describe", where=where, error=EngineError)
    return EngineDescription.model_validate(document)


def no_description(ended: str, said: bytes, *, where: str) -> EngineError:
    """The error of a driver that ended so, with its last words."""
    last_words = said.decode(errors="replace").strip().splitlines()[-3:]
    return EngineError(" | ".join([f"expected a description, found {ended}", *last_words]), where=where)


def local_engine(binary: Path, *, adapters: Path) -> Engine:
    """The engine of a driver binary of this machine. Raises EngineError, SpecError."""
    name = binary.name.removeprefix(PREFIX)
    description = describe(binary)
    if description.engine.name != name:
        raise EngineError(f"expected engine {name!r}, found {description.engine.name!r}", where=str(binary))
    return Engine(
        name=name,
        binary=binary,
        binary_sha256=build_sha256(binary),
        description=description,
        presets=read_presets(adapters / name / "presets.yaml", description=description),
        counters=read_counters(adapters, name),
    )
