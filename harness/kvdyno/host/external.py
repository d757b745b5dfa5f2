"""Upstream YCSB-cpp binaries as engines: they cannot describe themselves, so this does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kvdyno.errors import EngineError
from kvdyno.model.engine import (
    BuildIdentity,
    DriverIdentity,
    Engine,
    EngineDescription,
    EngineIdentity,
    OptionDescription,
    OptionType,
    Preset,
)
from kvdyno.model.experiment import EngineChoice
from kvdyno.model.words import unknown

from .build import build_sha256

_CAVEATS = (
    "zipfian folds its draws by a hash: with a skew other than 0.99 the hot keys are far less hot",
    "an update reads the record first",
    "nothing settles after a load or drains after a run: writes left for later are not counted",
    "its keys and values are not those of this project's drivers",
    "how it was built is not known",
)
_DISTRIBUTIONS = ("uniform", "zipfian", "latest")


def external_engine(path: Path, *, name: str) -> Engine:
    """The binding `name` (its `-db`) inside the `ycsb` binary at `path`; options are not checked.

    Raises EngineError when there is no such program.
    """
    try:
        found = _no_program(path)
        sha256 = "" if found else build_sha256(path)
    except OSError as error:
        found = f"what cannot be run: {error.strerror}"
    if found:
        raise EngineError(f"expected an executable ycsb binary, found {found}", where=str(path))
    description = EngineDescription(
        schema_version="kvdyno.describe/1",
        driver=DriverIdentity(name="ycsb-cpp", version="unknown"),
        engine=EngineIdentity(
            name=name,
            version="unknown",
            summary=f"The {name} binding of an upstream ycsb",
            caveats=_CAVEATS,
        ),
        build=BuildIdentity(compiler="unknown", flags="", type=""),
        options=(),
        accepts_other_options=True,
        properties=_PROPERTIES,
        phases=("load", "measure"),
        operations=("read", "update", "insert", "scan", "readmodifywrite"),
    )
    return Engine(
        name=name,
        binary=path,
        binary_sha256=sha256,
        description=description,
        presets={"default": Preset()},
        external=True,
        counters=(),
    )


def _no_program(path: Path) -> str | None:
    """What is there instead of a program; None if it may be one. Raises OSError."""
    if not path.exists():
        return "nothing"
    if path.is_dir():
        return "a folder"
    return None if path.is_file() and path.stat().st_mode & 0o111 else "a file that may not be run"


def chosen_engine(choice: EngineChoice, *, catalog: Mapping[str, Engine]) -> Engine:
    """The engine that an experiment's choice names: an upstream binary's, or one of the catalog's.

    Raises EngineError when there is none.
    """
    if choice.external is not None:
        return external_engine(choice.external, name=choice.engine)
    if choice.key not in catalog:
        raise EngineError(unknown("engine", choice.key, catalog))
    return catalog[choice.key]


def _property(
    name: str,
    kind: OptionType,
    default: str,
    effect: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    shapes_data: bool = False,
) -> OptionDescription:
    return OptionDescription(
        name=name,
        type=kind,
        default=default,
        effect=effect,
        min=least,
        max=most,
        choices=choices,
        shapes_data=shapes_data,
    )


def _proportion(operation: str, default: str) -> OptionDescription:
    return _property(f"{operation}proportion", "real", default, f"Share of {operation}s.", least=0, most=1)


_PROPERTIES = (
    _property("doload", "bool", "false", "Load; the same as -load."),
    _property("dotransaction", "bool", "false", "Run operations; the same as -run."),
    _property("recordcount", "integer", "0", "Records to load.", least=1, shapes_data=True),
    _property("operationcount", "integer", "0", "Operations to run.", least=0),
    _property("threadcount", "integer", "1", "Client threads.", least=1),
    _property("fieldcount", "integer", "10", "Fields per record.", least=1, shapes_data=True),
    _property("fieldlength", "bytes", "100", "Bytes per field.", least=1, shapes_data=True),
    _property("zeropadding", "integer", "1", "Digits of a key.", least=1, shapes_data=True),
    _property(
        "insertorder", "choice", "hashed", "Order of keys.", choices=("hashed", "ordered"), shapes_data=True
    ),
    _property("requestdistribution", "choice", "uniform", "How keys are drawn.", choices=_DISTRIBUTIONS),
    _property("zipfian_const", "real", "0.99", "Skew of zipfian.", least=0.01, most=0.9999),
    _property("minscanlength", "integer", "1", "Rows of the shortest scan.", least=1),
    _property("maxscanlength", "integer", "1000", "Rows of the longest scan.", least=1),
    _property(
        "scanlengthdistribution", "choice", "uniform", "Rows of a scan.", choices=("uniform", "zipfian")
    ),
    _property("readallfields", "bool", "true", "Read whole records."),
    _property("writeallfields", "bool", "false", "Update whole records."),
    _proportion("read", "0.95"),
    _proportion("update", "0.05"),
    _proportion("insert", "0"),
    _proportion("scan", "0"),
    _proportion("readmodifywrite", "0"),
)
