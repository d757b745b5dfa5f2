"""Hosts that are slower than the others, by the gauges before their runs and never by the runs' results.

A host's value is the median of its gauge. It is an outlier by the rule that gauges.py applies to the runs of
a host: worse than normal by the gauge's factor, and with a modified z-score above 3.5 (Iglewicz and Hoaglin,
"How to Detect and Handle Outliers", 1993). Normal is here the median of all hosts' values.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from kvdyno.model.exclusion import LeftOut
from kvdyno.model.record import Record
from kvdyno.model.results import Caution, HostOutlier

from .facts import point_name
from .frame import axes_of, label_of
from .judges import NORMAL_RECORDS, OF_THE_HOST, Judge

#: Fewer hosts than this define no normal.
NORMAL_HOSTS = 5


def host_outliers(records: Iterable[Record]) -> tuple[HostOutlier, ...]:
    """The outliers among hosts that have enough records (judges.NORMAL_RECORDS), by gauge and host."""
    taken = list(records)
    return tuple(outlier for judge in OF_THE_HOST for outlier in _outliers(taken, judge))


def host_cautions(records: Sequence[Record], *, units: Mapping[str, str]) -> list[Caution]:
    """A caution for each outlier; `units` are the axes that name a point (facts.point_name)."""
    found = []
    for outlier in host_outliers(records):
        there = [record for record in records if record.environment.host_id == outlier.host_id]
        points = dict.fromkeys(point_name(label_of(r), axes_of(r), units=units) for r in there)
        found.append(Caution("gauge", str(outlier), _remedy(outlier.host_id), tuple(points)))
    return found


def _remedy(host_id: str) -> str:
    exclude = f"kvdyno exclude {host_id} --because TEXT"
    return f"leave the host out ({exclude}) and measure again, or find out why it is slower"


def excluded_cautions(left_out: Sequence[LeftOut]) -> list[Caution]:
    """A caution for each excluded host that measured some of the runs in question."""
    return [
        Caution("excluded", str(each), f"`kvdyno exclude {each.exclusion.host_id} --undo` counts them again")
        for each in left_out
    ]


def _outliers(records: Sequence[Record], judge: Judge) -> list[HostOutlier]:
    measured: dict[str, list[float]] = {}
    for record in records:
        value = record.gauges.get(judge.gauge)
        if isinstance(value, (int, float)) and value > 0:
            measured.setdefault(record.environment.host_id, []).append(float(value))
    enough = {host: v for host, v in sorted(measured.items()) if len(v) >= NORMAL_RECORDS}
    if len(enough) < NORMAL_HOSTS:
        return []
    medians = {host: statistics.median(values) for host, values in enough.items()}
    normal = statistics.median(medians.values())
    deviation = statistics.median(abs(value - normal) for value in medians.values())
    return [
        HostOutlier(host, judge.gauge, judge.what, judge.unit, value, normal, hosts=len(medians))
        for host, value in medians.items()
        if judge.is_off(value, normal=normal, deviation=deviation)
    ]
