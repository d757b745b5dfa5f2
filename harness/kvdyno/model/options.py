"""Values of engine options and driver properties: from text to a typed value, to a scale, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from .engine import EngineDescription, OptionDescription
from .experiment import AxisValue
from .units import (
    distinct_sizes,
    format_bytes,
    format_seconds,
    human_bytes,
    parse_bytes,
    parse_count,
    parse_seconds,
)
from .words import shown, unknown

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def parse_value(option: OptionDescription, value: AxisValue) -> AxisValue:
    """The typed value that `value` spells: bytes and seconds are numbers, a choice is its word.

    Raises ValueError with the option's name, what was expected and what was found.
    """
    if isinstance(value, str) and value in option.words:
        return value
    try:
        parsed = _parse(option, value)
    except ValueError as error:
        hint = f"; known words: {', '.join(option.words)}" if option.words else ""
        raise ValueError(f"{option.name}: {error}{hint}") from None
    if not isinstance(parsed, (bool, str)):
        _check_range(option, parsed)
    return parsed


def value_text(value: AxisValue) -> str:
    """The value as a property file spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(Decimal(repr(value)).normalize(), "f")
    return str(value)


def scale_value(option: OptionDescription, value: AxisValue, *, scale: float) -> AxisValue:
    """The value at a profile's scale: sizes and counts are rounded to whole ones, and kept in range.

    Values of options that do not scale, and values that are not numbers, stay as they are. Zero and
    negative values stay too: they mean "none" or "automatic".
    """
    if not option.scales or isinstance(value, (bool, str)) or value <= 0:
        return value
    scaled = value * scale
    if option.min is not None:
        scaled = max(scaled, option.min)
    if option.max is not None:
        scaled = min(scaled, option.max)
    return scaled if option.type in ("real", "seconds") else max(1, round(scaled))


def display_value(option: OptionDescription, value: AxisValue) -> str:
    """The value for people, with its unit."""
    if option.type == "bytes" and isinstance(value, int):
        return human_bytes(value)
    if option.type == "seconds" and isinstance(value, (int, float)):
        return format_seconds(value)
    return value_text(value)


def display_options(description: EngineDescription, options: Mapping[str, str]) -> Mapping[str, str]:
    """An engine's options with values for people; those that its driver does not describe stay as written."""
    shown = {}
    for name, text in options.items():
        option = description.option(name)
        shown[name] = display_value(option, parse_value(option, text)) if option else text
    return shown


def slug_value(option: OptionDescription, value: AxisValue) -> str:
    """The value as slugs and patterns have it: sizes are exact, in one word."""
    if option.type == "bytes" and isinstance(value, int):
        return format_bytes(value)
    return display_value(option, value)


def _parse(option: OptionDescription, value: AxisValue) -> AxisValue:
    match option.type:
        case "bool":
            if isinstance(value, bool):
                return value
            if value not in ("true", "false"):
                raise ValueError(f"expected true or false, found {shown(value)}")
            return value == "true"
        case "bytes":
            return parse_bytes(value)
        case "seconds":
            return parse_seconds(value)
        case "integer":
            return _parse_integer(value)
        case "real":
            return _parse_real(value)
        case "choice":
            if str(value) not in option.choices:
                raise ValueError(unknown("value", str(value), option.choices))
            return str(value)
        case "text":
            return line_of(value)


def line_of(value: AxisValue) -> str:
    """The value's text, as a line of a property file can hold it. Raises ValueError."""
    text = value_text(value)
    if text != text.strip() or len(text.splitlines()) > 1 or _CONTROL.search(text):
        raise ValueError(
            f"expected one line without control characters and spaces around it, found {shown(text)}"
        )
    return text


def _parse_integer(value: AxisValue) -> int:
    text = value_text(value)
    if text.startswith("-"):
        return -parse_count(text[1:])
    return parse_count(value if not isinstance(value, bool) else text)


def _parse_real(value: AxisValue) -> float:
    try:
        number = float(value_text(value))
    except ValueError:
        raise ValueError(f"expected a number, found {shown(value)}") from None
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, found {shown(value)}")
    return number


def _check_range(option: OptionDescription, number: float) -> None:
    for bound, wrong, word in ((option.min, float.__lt__, "at least"), (option.max, float.__gt__, "at most")):
        if bound is not None and wrong(float(number), float(bound)):
            whole = int(bound) if float(bound).is_integer() else bound
            limit, found = display_value(option, whole), display_value(option, number)
            if option.type == "bytes":
                limit, found = distinct_sizes(int(bound), int(number))
            raise ValueError(f"{option.name}: expected {word} {limit}, found {found}")
