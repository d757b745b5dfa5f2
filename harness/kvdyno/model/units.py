"""Sizes, durations and counts as people write them, by the same rules as the driver's kvdyno/base/units.h.

The parsers take what YAML yields: a text or a number. They raise ValueError with what was expected
and what was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

from .words import shown

_BYTE_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_SECONDS: Mapping[str, Fraction] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "": Fraction(1),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_QUANTITY = re.compile(r"\s*([0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?(?:[eE][0-9]{1,2})?)\s*([A-Za-z]*)\s*")

# Drivers count with 64 bits.
_NUMBER_MAX = (1 << 63) - 1

Quantity = str | int | float


def parse_bytes(value: Quantity) -> int:
    """A size in bytes: "64MiB", "64MB", "1.5GiB", "512", 512. Units are powers of 1024 in every spelling."""
    expected = 'a size like "64MiB"'
    number, unit = _split(value, expected=expected)
    match = re.fullmatch(r"([kmgtpe]?)b?|([kmgtpe])ib", unit.lower())
    if match is None:
        raise _error(expected, value)
    size = number * Fraction(1024) ** _BYTE_POWERS[match[1] or match[2] or ""]
    if size.denominator != 1:
        raise _error("a whole number of bytes", value)
    if size > _NUMBER_MAX:
        raise _error("less than 8 EiB", value)
    return size.numerator


def parse_seconds(value: Quantity) -> float:
    """A duration in seconds: "10s", "250ms", "5min", "2h", "100us"; a bare number is seconds."""
    expected = 'a duration like "10s" or "5min"'
    number, unit = _split(value, expected=expected)
    if unit not in _SECONDS:
        raise _error(expected, value)
    return float(number * _SECONDS[unit])


def parse_count(value: Quantity) -> int:
    """A whole number of things: 80e6, "80e6", "4M", 1_000. Units are powers of 1000."""
    expected = 'a count like 80e6 or "4M"'
    number, unit = _split(value, expected=expected)
    if unit.lower() not in _COUNTS:
        raise _error(expected, value)
    count = number * _COUNTS[unit.lower()]
    if count.denominator != 1:
        raise _error("a whole number", value)
    if count > _NUMBER_MAX:
        raise _error("a count below 2^63", value)
    return count.numerator


def format_bytes(size: int) -> str:
    """The shortest exact spelling, which parse_bytes reads back: 67108864 → "64MiB", 1000 → "1000".

    For names of files; people read `human_bytes`.
    """
    unit = ""
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if size == 0 or size % 1024:
            break
        size, unit = size // 1024, larger
    return f"{size}{unit}"


def format_seconds(seconds: float) -> str:
    """A duration for display, two units at most: 4000.0 → "1h 7min", 90.0 → "1min 30s", 0.25 → "250ms"."""
    if seconds < 1:
        return f"{seconds * 1000:.3g}ms" if seconds > 0 else "0s"
    if seconds < 10:
        return f"{seconds:.2g}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    large, small, names = (*divmod(whole, 60), "min s")
    if whole >= 3600:
        large, small, names = (*divmod(math.ceil(whole / 60), 60), "h min")
    first, second = names.split()
    return f"{large}{first} {small}{second}" if small else f"{large}{first}"


def human_bytes(size: float) -> str:
    """A size for display, three digits: 1536 → "1.5 KiB", 123456789 → "118 MiB"."""
    magnitude = abs(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if magnitude < 999.5:
            return f"{_three_digits(size)} {unit}"
        size, magnitude = size / 1024, magnitude / 1024
    return f"{_three_digits(size)} TiB"


def distinct_sizes(*sizes: int) -> tuple[str, ...]:
    """Sizes for one sentence: those that would read alike, though they differ, have all their digits."""
    texts = [human_bytes(size) for size in sizes]
    alike = len(set(texts)) < len(set(sizes))
    return tuple(f"{size:,} B" for size in sizes) if alike else tuple(texts)


def _three_digits(number: float) -> str:
    text = f"{number:.3g}"
    return text if "e" not in text else f"{number:.0f}"


def _split(value: Quantity, *, expected: str) -> tuple[Fraction, str]:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _error(expected, value)
    if not isinstance(value, str):
        if (isinstance(value, float) and not math.isfinite(value)) or not 0 <= value <= _NUMBER_MAX:
            raise _error(expected, value)
        return Fraction(value), ""
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise _error(expected, value)
    number = Fraction(match[1].replace("_", ""))
    if number > _NUMBER_MAX:
        raise _error(expected, value)
    return number, match[2]


def _error(expected: str, found: object) -> ValueError:
    return ValueError(f"expected {expected}, found {shown(found)}")
