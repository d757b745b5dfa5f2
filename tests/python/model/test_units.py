"""Sizes, durations and counts, by the driver's rules."""

from __future__ import annotations

import pytest

from kvdyno.model.units import (
    Quantity,
    distinct_sizes,
    format_bytes,
    format_seconds,
    human_bytes,
    parse_bytes,
    parse_count,
    parse_seconds,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MiB", 64 << 20), ("64MB", 64 << 20), ("4KiB", 4096), ("4k", 4096), ("512", 512), ("512B", 512),
        ("1.5GiB", 3 << 29), (" 16 GiB ", 16 << 30), ("2TiB", 2 << 40), (512, 512), (1e3, 1000),
        ("0.5K", 512),
    ],
)  # fmt: skip
def test_parse_bytes(text: Quantity, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "MiB", "-1", -1, "64Mib.", "1ib", "64 MiB x", "64Q", True, float("nan")]
)
def test_parse_bytes_rejects(text: Quantity) -> None:
    with pytest.raises(ValueError, match='expected a size like "64MiB", found'):
        parse_bytes(text)


def test_a_size_is_whole() -> None:
    with pytest.raises(ValueError, match=r"expected a whole number of bytes, found '1\.3'"):
        parse_bytes("1.3")


@pytest.mark.parametrize("size", [0, 1, 1000, 1024, 1536, 64 << 20, (1 << 30) + 1, 5 << 60])
def test_format_bytes_is_exact(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


def test_format_bytes_is_short() -> None:
    assert [format_bytes(size) for size in (67108864, 1000, 1536)] == ["64MiB", "1000", "1536"]


def test_sizes_that_read_alike_are_distinguished() -> None:
    assert distinct_sizes(1 << 30, 2 << 30) == ("1 GiB", "2 GiB")
    assert distinct_sizes(1 << 30, 1 << 30) == ("1 GiB", "1 GiB")
    assert distinct_sizes(1 << 30, (1 << 30) + 1) == ("1,073,741,824 B", "1,073,741,825 B")


def test_human_bytes() -> None:
    assert [human_bytes(size) for size in (0, 1536, 123456789, 1 << 30)] == [
        "0 B",
        "1.5 KiB",
        "118 MiB",
        "1 GiB",
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("250ms", 0.25), ("5min", 300), ("2h", 7200), ("100us", 1e-4), ("7", 7), (1.5, 1.5)],
)
def test_parse_seconds(text: Quantity, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["10 sec", "s", "-1s", "1S", True])
def test_parse_seconds_rejects(text: Quantity) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_seconds(text)


def test_format_seconds() -> None:
    spelled = [format_seconds(seconds) for seconds in (0, 0.25, 3.14, 59.7, 90, 4000, 7200, 86400)]
    assert spelled == ["0s", "250ms", "3.1s", "1min", "1min 30s", "1h 7min", "2h", "24h"]


@pytest.mark.parametrize(
    ("text", "count"), [("80e6", 80_000_000), (80e6, 80_000_000), ("4M", 4_000_000), ("1_000", 1000), (3, 3)]
)
def test_parse_count(text: Quantity, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["1.5", 1.5, "4MiB", "many", -3])
def test_parse_count_rejects(text: Quantity) -> None:
    with pytest.raises(ValueError, match="expected a"):
        parse_count(text)
