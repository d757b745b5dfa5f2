"""JSON documents that cross a process or a disk, checked against the schemas that C++ tests share.

A `$ref` to another schema is the name of a file in the schema folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from kvdyno.errors import KvdynoError, StoreError

SchemaName = Literal["claims", "describe", "outcome", "progress", "record"]

#: From a document of one version to the same one in the next. The document itself stays as it is.
Step = Callable[[Mapping[str, Any]], Mapping[str, Any]]

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


def upgraded(document: Any, *, known: str, steps: Sequence[Step] = (), where: str) -> Any:
    """`document` as the version `known` of its schema, such as kvdyno.record/2, has it.

    `steps[n - 1]` leads from version n to n + 1. What names no version of this schema comes back as it is.
    Raises StoreError if the version is later than `known`, or if the fields are not those of its version.
    """
    name, _, latest = known.rpartition("/")
    found = str(document.get("schema_version", "")) if isinstance(document, dict) else ""
    kind, _, version = found.rpartition("/")
    if kind != name or not version.isdecimal() or int(version) < 1:
        return document
    if int(version) > int(latest):
        raise StoreError(
            f"expected {known}, found {found}: a newer kvdyno wrote it", where=where, remedy="update kvdyno"
        )
    try:
        for step in steps[int(version) - 1 :]:
            document = step(document)
    except (AttributeError, KeyError, TypeError) as failure:
        raise StoreError(f"expected the fields of {found}: {failure!r}", where=where) from failure
    return {**document, "schema_version": known}


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
