"""Values as people read them: SI prefixes, sizes in powers of 1024, times in the unit that fits."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from kvdyno.model.units import human_bytes

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_COUNTS = ((1e9, "billion"), (1e6, "million"), (1e3, "thousand"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SECONDS = {"s": 1.0, "us": 1e-6, "ns": 1e-9}
_WORDS = {"pending": "pending compaction"}


def three_digits(number: float) -> str:
    """1234.5 → "1230", 0.01234 → "0.0123", 1.0 → "1.00": three digits, never an exponent for usual sizes."""
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else str(number)
    places = 2 - math.floor(math.log10(abs(number)))
    rounded = round(number, places)
    return f"{rounded:.{min(12, max(0, places))}f}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit, three digits: (48213, "op/s") → "48.2 kop/s", (1.5e6, "ns") → "1.50 ms"."""
    number, spelled = scaled(value, unit)
    return f"{three_digits(number)} {spelled}".rstrip()


def scaled(value: float, unit: str) -> tuple[float, str]:
    """A value and its unit, so that the number is between 1 and 1000 where a prefix exists for that."""
    if value == 0 or not math.isfinite(value):
        return value, "" if unit == "ratio" else unit
    divisor, spelled = scale_for(abs(value), unit)
    return value / divisor, spelled


def scale_for(magnitude: float, unit: str) -> tuple[float, str]:
    """The divisor that suits values of a magnitude, and the unit after dividing."""
    over, _, under = unit.partition("/")
    tail = f"/{under}" if under else ""
    if over in _SECONDS:
        seconds = magnitude * _SECONDS[over]
        size, name = next((t for t in _TIMES if seconds >= t[0]), _TIMES[-1])
        return size / _SECONDS[over], name + tail
    if over == "byte":
        step = 0 if magnitude < 1024 else min(4, int(math.log2(magnitude) // 10))
        return 1024.0**step, ("B", "KiB", "MiB", "GiB", "TiB")[step] + tail
    if unit == "ratio":
        return 1.0, ""
    if unit == "count":
        return next((c for c in _COUNTS if magnitude >= c[0]), (1.0, "count"))
    size, prefix = next((s for s in _SI if magnitude >= s[0]), (1.0, ""))
    return size, f"{prefix}{unit}" if over == "op" else f"{prefix} {unit}".strip()


def change_text(ratio: float | None) -> str:
    """A ratio as a change: 1.031 → "+3.1 %"; "–" for none."""
    return "–" if ratio is None else f"{100 * (ratio - 1):+.1f} %"


def status_text(status: str) -> str:
    """How a run ended, in words: "out_of_memory" → "out of memory"."""
    return status.replace("_", " ")


def word_text(word: str) -> str:
    """A word of an event or a counter, as people write it: "level0" → "level 0", "memtable_full" → "memtable
    full".
    """
    return _WORDS.get(word, word.replace("level0", "level 0").replace("_", " "))


def axis_text(value: object, unit: str) -> str:
    """A value of an axis: sizes as "1 GiB", whole numbers without a point, missing values as "–"."""
    if value is None or value != value:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if not isinstance(value, Real):  # a table's own numbers are Real, too
        return str(value)
    if unit == "byte":
        return human_bytes(float(value))
    number = str(int(float(value))) if float(value).is_integer() else f"{float(value):g}"
    return f"{number} {unit}".rstrip()
