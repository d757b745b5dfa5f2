"""JSON documents that cross a process or a disk, checked against the schemas that C++ tests share.

A `$ref` to another schema is the name of a file in the schema folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from kvdyno.errors import KvdynoError, StoreError

SchemaName = Literal["claims", "describe", "outcome", "progress", "record"]

_SUFFIX = ".schema.json"


def load_schema(name: SchemaName) -> Mapping[str, Any]:
    """The schema of that name, as parsed JSON."""
    text = (files("kvdyno") / "schema" / (name + _SUFFIX)).read_text("utf-8")
    document: Mapping[str, Any] = json.loads(text)
    return document


def parse_json(text: str | bytes, *, where: str, error: type[KvdynoError] = StoreError) -> Any:
    """The document in `text`. Raises `error` when it is not JSON (NaN and Infinity are not)."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as reason:
        found = text if isinstance(text, str) else text.decode(errors="replace")
        raise error(f"expected JSON, found {_shortened(found)}: {reason}", where=where) from None


def refuse_newer(document: Any, *, known: str, where: str) -> None:
    """Raise StoreError if `document` has a later version of the schema `known`, such as kvdyno.record/1.

    Its fields may differ, so this check comes before theirs. No version has been raised so far; a release
    that raises one reads those before it.
    """
    name, _, latest = known.rpartition("/")
    found = str(document.get("schema_version", "")) if isinstance(document, dict) else ""
    kind, _, version = found.rpartition("/")
    if kind == name and version.isdecimal() and int(version) > int(latest):
        raise StoreError(
            f"expected {known}, found {found}: a newer kvdyno wrote it", where=where, remedy="update kvdyno"
        )


def validate(document: Any, *, schema: SchemaName, where: str, error: type[KvdynoError] = StoreError) -> None:
    """Check `document`, parsed JSON, against a schema.

    Raises `error` with `where`, the path inside the document, what was expected and what was found.
    """
    mismatch = best_match(_validator(schema).iter_errors(document))
    if mismatch is not None:
        raise error(f"{mismatch.json_path}: {_sentence(mismatch)}", where=where)


@cache
def _validator(name: SchemaName) -> Draft7Validator:
    outcome = Resource.from_contents(load_schema("outcome"), default_specification=DRAFT7)
    registry = Registry().with_resource("outcome" + _SUFFIX, outcome)
    return Draft7Validator(load_schema(name), registry=registry)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _sentence(mismatch: ValidationError) -> str:
    expected: Any = mismatch.validator_value
    found = _shortened(mismatch.instance)
    match mismatch.validator:
        case "const":
            return f"expected {json.dumps(expected)}, found {found}"
        case "enum":
            return f"expected one of {', '.join(map(str, expected))}; found {found}"
        case "type":
            return (
                f"expected {expected if isinstance(expected, str) else ' or '.join(expected)}, found {found}"
            )
        case _:
            return mismatch.message


def _shortened(instance: Any) -> str:
    text = json.dumps(instance, default=repr)
    return text if len(text) <= 80 else text[:77] + "..."
