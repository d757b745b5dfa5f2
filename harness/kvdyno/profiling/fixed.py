"""The small fixed run of a point: its mix and options on a few records, one client, a count of operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvdyno.errors import EngineError
from kvdyno.model import axes
from kvdyno.model.point import Point

#: Valgrind makes a program some fifty times slower: a run takes seconds. Over fewer operations, the few
#: moments when background work meets the client would scatter the count by percents.
_RECORDS = 2000
COUNTED_OPERATIONS = 40_000
#: What is done before the counting begins: first calls bind symbols and fill caches.
_WARMING = 4000


@dataclass(frozen=True)
class FixedRun:
    """What a driver gets: the properties for a shorter and a longer run, and the operations of each.

    The two differ in nothing but the operations. Their difference is thus what the operations cost between
    the shorter count and the longer one, without start, load and first calls.
    """

    properties: Mapping[str, str]
    shorter: int
    longer: int

    def of(self, operations: int) -> Mapping[str, str]:
        """The properties of the run with so many operations."""
        return {**self.properties, axes.OPERATIONS: str(operations)}

    @property
    def counted(self) -> int:
        """Operations that the difference is about."""
        return self.longer - self.shorter


def fixed_run(point: Point) -> FixedRun:
    """The run for a point. Raises EngineError for a driver without records, operations or a measured mix."""
    known = point.engine.description.property
    if point.engine.image or point.engine.external or not all(map(known, (axes.RECORDS, axes.OPERATIONS))):
        raise EngineError("expected a driver of this project on this machine", where=point.slug)
    if "measure" not in point.phases:
        raise EngineError(
            "expected a point that measures a mix, found one that measures a load", where=point.slug
        )
    fixed = {
        axes.RECORDS: str(_RECORDS),
        axes.THREAD_COUNT: "1",
        axes.MEASURE_SECONDS: "0",
        axes.MEASURE_BYTES: "0",
        axes.WARMUP_SECONDS: "0",
        axes.DRAIN: "false",
        axes.SEED: "1",
        axes.MIX_SEED: "1",
        axes.AGE: "0",
    }
    properties = {**point.properties, **{name: text for name, text in fixed.items() if known(name)}}
    return FixedRun(properties, _WARMING, _WARMING + COUNTED_OPERATIONS)
