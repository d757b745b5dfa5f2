"""What a workload asks of memory, from its properties: mix, sizes, and the records that most draws meet."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kvdyno.model.engine import EngineDescription
from kvdyno.model.options import parse_value
from kvdyno.model.point import Point
from kvdyno.model.study import WorkloadFacts

#: The working set: the fewest records that receive this share of the draws.
HOT = 0.9
_OPERATIONS = (
    *("read", "update", "insert", "scan", "readmodifywrite", "delete"),
    *("multiread", "reversescan"),
)


def facts_of(point: Point) -> WorkloadFacts:
    """The point's workload, at its profile's scale; defaults of the driver included."""
    values = _InForce(point.engine.description, point.properties)
    weights = {name: values.number(f"{name}proportion") for name in _OPERATIONS}
    loads = "load" in point.phases
    whole = sum(weights.values())
    mix = {name: w / whole for name, w in weights.items() if w} if whole and not loads else {"insert": 1.0}
    record = len(values.text("keyprefix")) + int(values.number("zeropadding"))
    record += int(values.number("fieldcount") * values.number("fieldlength"))
    records = int(values.number("recordcount"))
    distribution = values.text("insertorder") if loads else values.text("requestdistribution")
    return WorkloadFacts(
        name=str(point.axes["workload"]),
        mix=mix,
        distribution=distribution,
        record_bytes=record,
        records=records,
        cap_bytes=point.cap_bytes,
        hot_share=1.0 if loads else hot_share(distribution, records, theta=values.number("zipfian_const")),
    )


def hot_share(distribution: str, records: int, *, theta: float) -> float:
    """The share of the records that receives HOT of the draws, the most popular first.

    Zipf: rank r is drawn in proportion to r^-theta (Gray et al., "Quickly generating billion-record synthetic
    databases", SIGMOD 1994); `latest` ranks records by their age. Other distributions count as uniform.
    """
    if distribution != "latest" and not distribution.startswith("zipf"):
        return HOT
    whole = _zipf_sum(records, theta)
    low, high = 1, records
    while low < high:
        middle = (low + high) // 2
        if _zipf_sum(middle, theta) >= HOT * whole:
            high = middle
        else:
            low = middle + 1
    return low / records


def _zipf_sum(count: int, theta: float) -> float:
    """The sum of r^-theta up to `count`: exact for the first thousand ranks, then its integral."""
    head = min(count, 1000)
    total = sum(float(rank**-theta) for rank in range(1, head + 1))
    if count > head:
        first, last = head + 0.5, count + 0.5
        power = 1 - theta
        total += math.log(last / first) if power == 0 else (last**power - first**power) / power
    return total


class _InForce:
    """Properties with the driver's defaults."""

    def __init__(self, description: EngineDescription, properties: Mapping[str, str]) -> None:
        self._description = description
        self._properties = properties

    def text(self, name: str) -> str:
        """The property as text; "" if the driver has none."""
        described = self._description.property(name)
        return self._properties.get(name, described.default if described else "")

    def number(self, name: str) -> float:
        """The property as a number; 0 if the driver has none."""
        described = self._description.property(name)
        value = parse_value(described, self.text(name)) if described else 0
        return value if isinstance(value, (int, float)) else 0
