"""Option values and axes: typed, ranged, scaled, spelled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import engines
from fakes.engines import option

from kvdyno.model.axes import axis_of, axis_words
from kvdyno.model.experiment import AxisValue
from kvdyno.model.options import display_value, parse_value, scale_value, slug_value, value_text
from kvdyno.model.words import nearest, unknown

SIZE = option("size", "bytes", "0", least=1024, most=1 << 40, scales=True)


@pytest.mark.parametrize(
    ("kind", "value", "parsed"),
    [
        ("bool", True, True), ("bool", "false", False), ("integer", "4M", 4_000_000), ("integer", -1, -1),
        ("integer", 80e6, 80_000_000), ("real", "1e-5", 1e-5), ("real", 2, 2.0), ("bytes", "4KiB", 4096),
        ("seconds", "5min", 300.0), ("text", 5, "5"), ("text", True, "true"),
    ],
)  # fmt: skip
def test_parse_value(kind: engines.OptionType, value: AxisValue, parsed: AxisValue) -> None:
    found = parse_value(option("x", kind, ""), value)
    assert (found, type(found)) == (parsed, type(parsed))


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("bool", "yes", "x: expected true or false, found 'yes'"),
        ("bool", 1, "x: expected true or false, found 1"),
        ("integer", "1.5", "x: expected a whole number"),
        ("integer", True, "x: expected a count"),
        ("real", "nan", "x: expected a finite number"),
        ("real", "fast", "x: expected a number, found 'fast'"),
        ("text", "a\nb", "x: expected one line"),
        ("choice", "b", "x: unknown value 'b'"),
    ],
)
def test_parse_value_rejects(kind: engines.OptionType, value: AxisValue, message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the message is compared below
        parse_value(option("x", kind, "", choices=("a",)), value)
    assert str(raised.value).startswith(message)


def test_ranges_are_shown_with_units() -> None:
    with pytest.raises(ValueError, match="size: expected at least 1 KiB, found 512 B"):
        parse_value(SIZE, "512")
    with pytest.raises(ValueError, match="size: expected at most 1 TiB, found 2 TiB"):
        parse_value(SIZE, "2TiB")


def test_words_may_stand_for_sizes() -> None:
    size = SIZE.model_copy(update={"words": ("auto", "adaptive")})
    assert parse_value(size, "adaptive") == "adaptive"
    assert parse_value(size, "4KiB") == 4096
    assert scale_value(size, "auto", scale=1 / 64) == "auto"
    assert display_value(size, "auto") == "auto"
    with pytest.raises(ValueError, match="; known words: auto, adaptive"):
        parse_value(size, "otto")


def test_values_scale() -> None:
    assert scale_value(SIZE, 128 << 20, scale=1 / 64) == 2 << 20
    assert scale_value(SIZE, 100_000, scale=1 / 64) == 1562
    assert scale_value(SIZE, 2048, scale=1 / 64) == 1024
    assert scale_value(SIZE, 0, scale=1 / 64) == 0
    assert scale_value(option("n", "integer", "0", scales=True), 3, scale=1 / 64) == 1
    assert scale_value(option("fixed", "bytes", "0"), 2048, scale=1 / 64) == 2048


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (3, "3"), (1e-5, "0.00001"), (80e6, "80000000"), (0.8, "0.8"), ("a", "a")],
)
def test_text_has_no_exponent(value: AxisValue, text: str) -> None:
    assert value_text(value) == text


def test_display() -> None:
    assert (display_value(SIZE, 2048), slug_value(SIZE, 2048)) == ("2 KiB", "2KiB")
    assert (display_value(SIZE, 10**13), slug_value(SIZE, 10**13)) == ("9.09 TiB", "9765625000KiB")
    assert display_value(option("t", "seconds", ""), 90.0) == "1min 30s"


def test_axes_are_words_options_and_properties() -> None:
    rocksdb = engines.catalog()["rocksdb"]
    readings = {name: axis_of(rocksdb, name) for name in ("dataset", "threads", "bloom_bits", "fieldlength")}
    assert {name: reading.type for name, reading in readings.items() if reading} == {
        "dataset": "bytes",
        "threads": "integer",
        "bloom_bits": "integer",
        "fieldlength": "bytes",
    }
    assert axis_of(rocksdb, "recordcount") is None
    assert axis_of(rocksdb, "log_limit") is None
    assert {"workload", "distribution", "log_limit", "bloom_bits"} <= set(
        axis_words(engines.catalog().values())
    )


def test_axes_of_another_kind_of_driver() -> None:
    """A driver that knows no keys has only its own properties as axes, and the disk that all stand on."""
    samples = option("samples", "integer", "1", least=1)
    description = engines.describe("index", properties=(samples,), phases=("fill", "sample"))
    index = replace(engines.engine("index"), description=description)
    assert axis_words([index]) == ("device", "samples")


def test_unknown_words() -> None:
    assert nearest("RocksBD", ["leveldb", "rocksdb"]) == "rocksdb"
    assert nearest("zzz", ["leveldb", "rocksdb"]) is None
    assert unknown("engine", "lvldb", ["leveldb"]) == (
        "unknown engine 'lvldb': expected one of leveldb; did you mean 'leveldb'?"
    )
    assert unknown("engine", "x", []) == "unknown engine 'x': there is none"
    assert "40 are known" in unknown("word", "x", map(str, range(40)))
