"""Names of points and datasets: a readable slug, and a hash of all that can change what they hold."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kvdyno.model.axes import DATASET, DEVICE, DISTRIBUTION, THREADS, WORKLOAD, axis_of
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import DEFAULT_CACHE, AxisValue
from kvdyno.model.options import slug_value, value_text
from kvdyno.model.point import Dataset, Point

from .resolve import Resolved

_SLUG_LENGTH_MAX = 120
_SPEAKING_AXES = (WORKLOAD, DISTRIBUTION, DATASET, DEVICE)


def hash_of(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content's canonical JSON, in hexadecimal."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def point_identity(resolved: Resolved, *, dataset: Dataset | None) -> str:
    """Hash of all that can change the point's result. Labels, time limits and estimates cannot.

    A device counts by its rates, not its name; the disk as it is and the default cache policy have no entry.
    A twin's number separates it from the point that it repeats; a point that recovers differs from one that
    does not. Files that properties name count by size and time of change.
    """
    files = _files(resolved.properties)
    device = resolved.device
    # An empty store has nothing to cache.
    cache = resolved.cache if dataset else DEFAULT_CACHE
    return hash_of(
        {
            "engine": resolved.engine.name,
            "binary": resolved.engine.binary_sha256,
            "properties": dict(resolved.properties),
            "phases": list(resolved.phases),
            "cap_bytes": resolved.cap_bytes,
            "dataset": dataset.identity if dataset else None,
            **({"files": files} if files else {}),
            **({"twin": resolved.twin} if resolved.twin else {}),
            **({"cache": cache} if cache != DEFAULT_CACHE else {}),
            **({"recovery": resolved.recovery.model_dump()} if resolved.recovery else {}),
            **({"device": device.model_dump(exclude={"name"}, exclude_none=True)} if device else {}),
        }
    )


def _files(properties: Mapping[str, str]) -> Mapping[str, Sequence[int]]:
    """Size and time of change of the files that exist, by the property."""
    paths = {name: Path(text) for name, text in properties.items() if name.endswith(".file") and text}
    found = {name: path.stat() for name, path in paths.items() if path.is_file()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}


def point_slug(label: str, *, axes: Mapping[str, AxisValue], engine: Engine) -> str:
    """Safe in file names: "rocksdb.a.zipf-composite.1GiB.t2", further axes as "log_limit-2KiB"."""
    words = [label]
    for axis, value in axes.items():
        reading = axis_of(engine, axis)
        text = slug_value(reading, value) if reading else value_text(value)
        prefix = "t" if axis == THREADS else "" if axis in _SPEAKING_AXES else f"{axis}-"
        words.append(prefix + text)
    slug = ".".join(re.sub(r"[^A-Za-z0-9_.+@-]+", "_", word) for word in words)
    return slug[:_SLUG_LENGTH_MAX]


def with_distinct_slugs(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points; slugs that several share are distinguished by their identities."""
    counts = Counter(point.slug for point in points)
    return tuple(
        replace(point, slug=f"{point.slug}.{point.identity[:8]}") if counts[point.slug] > 1 else point
        for point in points
    )
