"""Datasets: how many records a point's store holds, and which points can start from one snapshot."""

from __future__ import annotations

from kvdyno.errors import SpecError
from kvdyno.model.axes import AGE, CAP, DATASET, RECORDS, SEED
from kvdyno.model.options import value_text
from kvdyno.model.point import Dataset
from kvdyno.model.units import distinct_sizes, format_bytes

from .estimate import expected_load_seconds
from .identity import hash_of
from .mix import record_bytes
from .resolve import Resolved


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
        least, found = distinct_sizes(each, int(size))
        raise SpecError(f"dataset: expected at least one record of {least}, found {found}", where=where)
    return count


def make_datasets(resolved: Resolved, *, loads: int) -> tuple[Dataset, ...]:
    """What the store holds before the point runs, once for each load; none where the point has no dataset.

    A driver without a seed loads the same data each time: it gets one load.
    """
    if DATASET not in resolved.axes:
        return ()
    count = loads if resolved.engine.description.property(SEED) else 1
    return tuple(_make_dataset(resolved, load=load) for load in range(1, count + 1))


def _make_dataset(resolved: Resolved, *, load: int) -> Dataset:
    """One load.

    Its properties are those that shape data, with defaults spelled out: nothing else of the point takes
    part in the load, so that a snapshot does not depend on which point asked for it first.
    """
    engine = resolved.engine
    age = resolved.age
    seed = load if engine.description.property(SEED) else None
    properties = resolved.shaping(aged=age > 0)
    if seed is not None:
        properties[SEED] = str(seed)
    if engine.description.property(AGE):
        properties[AGE] = value_text(age)
    identity = hash_of(
        {
            "engine": engine.name,
            "binary": engine.binary_sha256,
            "properties": properties,
            "cap_bytes": resolved.cap_bytes,
            **({"twin": resolved.twin} if resolved.twin else {}),
        }
    )
    if engine.description.property(CAP):
        properties = {**properties, CAP: str(resolved.cap_bytes)}
    records = int(resolved.properties[RECORDS])
    size = records * record_bytes(resolved)
    aged = f".age-{value_text(age)}" if age else ""
    return Dataset(
        identity=identity,
        slug=f"{engine.name}.{format_bytes(int(resolved.axes[DATASET]))}{aged}.l{load}.{identity[:8]}",
        properties=properties,
        bytes=size,
        records=records,
        load=load,
        seed=seed,
        age=age,
        expected_seconds=expected_load_seconds(size, records=records, age=age),
    )
