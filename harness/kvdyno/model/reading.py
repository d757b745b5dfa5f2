"""From a document to a form, with every mismatch worded for the person who wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import ErrorDetails

from .document import Document, Mistakes, Place
from .options import value_text
from .words import shown, unknown

FormT = TypeVar("FormT", bound=BaseModel)


def _text(value: Any) -> Any:
    return value_text(value) if isinstance(value, (bool, int, float)) else value


#: A text; of a number or a truth value, the text that stands for it.
Text = Annotated[str, BeforeValidator(_text)]

_EXPECTED = {
    "string_type": "a text",
    "string_pattern_mismatch": "letters, digits, '-' and '_', beginning with a letter or digit",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}


def read_form(document: Document, form: type[FormT]) -> FormT:
    """The document as `form`. Raises SpecError with every mistake."""
    mistakes = Mistakes(document)
    try:
        return form.model_validate(document.data)
    except ValidationError as errors:
        for error in errors.errors(include_url=False):
            mistakes.add(_place(error), _sentence(error, form=form))
        mistakes.check()
        raise


def _sentence(error: ErrorDetails, *, form: type[BaseModel]) -> str:
    place, kind, context = _place(error), error["type"], error.get("ctx", {})
    name = str(place[-1]) if place else "the file"
    match kind:
        case "missing":
            return f"missing key {name!r}"
        case "extra_forbidden":
            return unknown("key", name, _keys_around(form, place))
        case "value_error":
            return f"{name}: {context['error']}"
        case "too_short":
            return f"{name}: expected at least {context['min_length']}, found none"
        case "string_too_long":
            return (
                f"{name}: expected at most {context['max_length']} characters, found {_found(error['input'])}"
            )
        case "greater_than":
            return f"{name}: expected more than {context['gt']}, found {_found(error['input'])}"
        case "greater_than_equal":
            return f"{name}: expected at least {context['ge']:g}, found {_found(error['input'])}"
        case "less_than":
            return f"{name}: expected less than {context['lt']:g}, found {_found(error['input'])}"
        case "less_than_equal":
            return f"{name}: expected at most {context['le']}, found {_found(error['input'])}"
        case _ if kind in _EXPECTED:
            return f"{name}: expected {_EXPECTED[kind]}, found {_found(error['input'])}"
        case _:
            return f"{name}: {error['msg']}"


def _place(error: ErrorDetails) -> Place:
    """Where the mistake is: of a key that is wrong itself, the key."""
    return tuple(step for step in error["loc"] if step != "[key]")


def _found(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return shown(value)


def _keys_around(form: type[BaseModel], place: Sequence[int | str]) -> tuple[str, ...]:
    """The keys that are known where `place` ends."""
    kind: Any = form
    for step in place[:-1]:
        kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[str(step)].annotation
        else:
            kind = get_args(kind)[1 if get_origin(kind) is Mapping else 0]
    kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    return tuple(kind.model_fields)
