"""What a point's operations touch: bytes of a record, share of writes, rows of an operation."""

from __future__ import annotations

import math

from kvdyno.errors import SpecError

from .resolve import OPERATIONS, Resolved

_WRITES = ("update", "insert", "readmodifywrite", "delete")


def record_bytes(resolved: Resolved) -> int:
    """Key and value bytes of one record."""
    prefix = resolved.in_force("keyprefix") or "user"
    digits, fields, length = map(resolved.number, ("zeropadding", "fieldcount", "fieldlength"))
    return len(str(prefix).encode()) + int(digits) + int(fields) * int(length)


def write_share(resolved: Resolved) -> float:
    """Share of operations that write, 0 to 1."""
    return _share(resolved, *_WRITES)


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
    """Mean rows that an operation touches: a scan its rows, a multi-get its keys, any other operation one."""
    scans, batches = scan_share(resolved), _share(resolved, "multiread")
    many = scans * scan_rows(resolved) + batches * resolved.number("multireadsize")
    return 1 - scans - batches + many


def operations_for(volume: float, resolved: Resolved, *, records: int) -> int:
    """Operations that touch as many rows as `volume` times the records, rounded up."""
    return math.ceil(volume * records / rows_per_operation(resolved))


def scan_share(resolved: Resolved) -> float:
    """Share of operations that scan, upwards or downwards, 0 to 1."""
    return _share(resolved, "scan", "reversescan")


def check_operations(resolved: Resolved, *, label: str, where: str) -> None:
    """Raises SpecError for a point whose mix, or whose writes without a log, the engine cannot do."""
    description = resolved.engine.description
    workload = resolved.axes.get("workload", "the mix")
    missing = [
        name
        for name in OPERATIONS
        if _share(resolved, name) and description.operations and name not in description.operations
    ]
    if missing and not resolved.measures_load:
        raise SpecError(
            f"{workload}: expected operations that {label} has, found {missing[0]}; "
            f"it has {', '.join(description.operations)}",
            where=where,
            remedy="leave the engine or the workload out",
        )
    if resolved.in_force("log") is False and not description.skips_log:
        raise SpecError(
            f"{workload}: expected an engine that can write without its log (log=false), found {label}",
            where=where,
            remedy="leave the engine or the workload out",
        )


def delete_share(resolved: Resolved) -> float:
    """Share of operations that delete, 0 to 1."""
    return _share(resolved, "delete")


def _share(resolved: Resolved, *operations: str) -> float:
    weights = resolved.weights
    whole = sum(weights.values())
    return sum(weights[each] / whole for each in operations) if whole else 0
