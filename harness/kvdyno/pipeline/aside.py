"""Stored pairs of a gate's arms that do not count: how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kvdyno.model.point import Plan, Point
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.store import RunStore

from .reuse import Conditions, SweepSettings, blocks, is_conclusive


@dataclass(frozen=True)
class LeftAside:
    """`pairs` were measured as wholes, and do not count: `why`."""

    pairs: int
    why: str


def left_aside(
    project: Project, whole: Plan, *, how: SweepSettings, used: Collection[Record]
) -> tuple[LeftAside, ...]:
    """The pairs of this plan, or of other builds of its points, that were measured under other conditions.

    They are counted by the first thing that differs, in order of number. Not among them: pairs of which a run
    is in `used`, or which a later pair under the same conditions replaces.
    """
    now = Conditions.here(project, how=how)
    identities = {identity for point in whole.points for identity in point.identities}
    slugs = {point.slug for point in whole.points}
    known = {record.run_id for record in used}
    records = [
        record
        for record in RunStore(project.runs).records(identities=identities, slugs=slugs)
        if record.run_id not in known
    ]
    found: Counter[str] = Counter()
    for block in blocks(whole):
        arms = [_by_sweep(records, run.point, key=(run.repetition, run.load, run.seed)) for run in block]
        for place in set.intersection(*(set(arm) for arm in arms)):
            reasons = [_why(arm[place], run.point, now=now) for arm, run in zip(arms, block, strict=True)]
            if why := next(filter(None, reasons), None):
                found[why] += 1
    return tuple(LeftAside(pairs, why) for why, pairs in found.most_common())


def _by_sweep(
    records: Collection[Record], point: Point, *, key: tuple[int, int, int | None]
) -> Mapping[tuple[str, str], Record]:
    """The point's conclusive records of that repetition, load and seed, by sweep and host."""
    return {
        (record.sweep_id, record.environment.host_id): record
        for record in records
        if (record.repetition, record.load, record.seed) == key
        and _is_of(record, point)
        and is_conclusive(record, point)
    }


def _is_of(record: Record, point: Point) -> bool:
    """Whether it is the point's, or that of another build which was asked for the same."""
    asked = record.point
    return asked.identity in point.identities or (
        asked.engine == point.engine.name
        and asked.slug == point.slug
        and asked.binary_sha256 != point.engine.binary_sha256
        and (asked.properties, asked.phases) == (point.properties, point.phases)
        and (asked.cap_bytes, asked.device) == (point.cap_bytes, point.device)
    )


def _why(record: Record, point: Point, *, now: Conditions) -> str:
    """The first thing that differs; "" if nothing does."""
    if record.point.identity not in point.identities:
        return f"another build of {point.axes['engine']}"
    return now.difference(record)
