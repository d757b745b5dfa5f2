"""What a point's operations touch: bytes of a record, share of writes, rows of an operation."""

from __future__ import annotations

import math

from .resolve import Resolved

_OPERATIONS = ("read", "update", "insert", "scan", "readmodifywrite", "delete")
_WRITES = ("update", "insert", "readmodifywrite", "delete")


def record_bytes(resolved: Resolved) -> int:
    """Key and value bytes of one record."""
    prefix = resolved.in_force("keyprefix") or "user"
    digits, fields, length = map(resolved.number, ("zeropadding", "fieldcount", "fieldlength"))
    return len(str(prefix).encode()) + int(digits) + int(fields) * int(length)


def write_share(resolved: Resolved) -> float:
    """Share of operations that write, 0 to 1."""
    return sum(_share(resolved, operation) for operation in _WRITES)


def scan_rows(resolved: Resolved) -> float:
    """Mean rows of a scan."""
    least, most = (int(resolved.number(name)) for name in ("minscanlength", "maxscanlength"))
    match resolved.in_force("scanlengthdistribution"):
        case "constant":
            return most
        case "zipfian":  # the first rank is the shortest scan
            weights = [rank ** -resolved.number("zipfian_const") for rank in range(1, most - least + 2)]
            rows = sum(weight * (least + place) for place, weight in enumerate(weights))
            return float(rows / sum(weights))
        case _:
            return (least + most) / 2


def rows_per_operation(resolved: Resolved) -> float:
    """Mean rows that an operation touches: a scan its rows, any other operation one."""
    scans = _share(resolved, "scan")
    return 1 - scans + scans * scan_rows(resolved)


def operations_for(volume: float, resolved: Resolved, *, records: int) -> int:
    """Operations that touch as many rows as `volume` times the records, rounded up."""
    return math.ceil(volume * records / rows_per_operation(resolved))


def scan_share(resolved: Resolved) -> float:
    """Share of operations that scan, 0 to 1."""
    return _share(resolved, "scan")


def delete_share(resolved: Resolved) -> float:
    """Share of operations that delete, 0 to 1."""
    return _share(resolved, "delete")


def _share(resolved: Resolved, operation: str) -> float:
    """Proportions are weights: they need not add up to 1."""
    whole = sum(resolved.number(f"{each}proportion") for each in _OPERATIONS)
    return resolved.number(f"{operation}proportion") / whole if whole else 0
