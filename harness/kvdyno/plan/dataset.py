"""Datasets: how many records a point's store holds, and which points can start from one snapshot."""

from __future__ import annotations

from kvdyno.errors import SpecError
from kvdyno.model.axes import CAP, DATASET
from kvdyno.model.point import Dataset
from kvdyno.model.units import format_bytes

from .identity import hash_of
from .resolve import Resolved


def record_bytes(resolved: Resolved) -> int:
    """Key and value bytes of one record."""
    prefix = resolved.in_force("keyprefix") or "user"
    digits, fields, length = map(resolved.number, ("zeropadding", "fieldcount", "fieldlength"))
    return len(str(prefix).encode()) + int(digits) + int(fields) * int(length)


def record_count(resolved: Resolved, *, where: str) -> int | None:
    """Records that fill the dataset axis; None when the point has none.

    Raises SpecError when it holds not even one record.
    """
    size = resolved.axes.get(DATASET)
    if size is None:
        return None
    each = record_bytes(resolved)
    count = int(size) // each
    if count == 0:
        found = format_bytes(int(size))
        raise SpecError(f"dataset: expected at least one record of {each} bytes, found {found}", where=where)
    return count


def make_dataset(resolved: Resolved, *, records: int) -> Dataset:
    """What the store holds before the point runs.

    Its properties are those that shape data, with defaults spelled out: nothing else of the point takes
    part in the load, so that a snapshot does not depend on which point asked for it first.
    """
    engine = resolved.engine
    properties = resolved.shaping()
    identity = hash_of(
        {
            "engine": engine.name,
            "binary": engine.binary_sha256,
            "properties": properties,
            "cap_bytes": resolved.cap_bytes,
        }
    )
    if engine.description.property(CAP):
        properties = {**properties, CAP: str(resolved.cap_bytes)}
    return Dataset(
        identity=identity,
        slug=f"{engine.name}.{format_bytes(int(resolved.axes[DATASET]))}.{identity[:8]}",
        properties=properties,
        bytes=records * record_bytes(resolved),
        records=records,
    )
