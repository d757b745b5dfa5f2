"""Stored pairs of a gate's arms that do not count: how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kvdyno.model.point import Plan, Point, Run
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

    They are counted by what differs, in order of number. Not among them: pairs of which a run
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
        runs = sorted(block, key=lambda run: whole.points.index(run.point))
        arms = [_by_sweep(records, run) for run in runs]
        for place in set.intersection(*(set(arm) for arm in arms)):
            if why := _why([(run.point, arm[place]) for run, arm in zip(runs, arms, strict=True)], now=now):
                found[why] += 1
    return tuple(LeftAside(pairs, why) for why, pairs in found.most_common())


def _by_sweep(records: Collection[Record], run: Run) -> Mapping[tuple[str, str], Record]:
    """The conclusive records of the run, by sweep and host."""
    return {
        (record.sweep_id, record.environment.host_id): record
        for record in records
        if (record.repetition, record.load, record.seed) == (run.repetition, run.load, run.seed)
        and _is_of(record, run)
        and is_conclusive(record, run.point)
    }


def _is_of(record: Record, run: Run) -> bool:
    """Whether the run's point has it, or another build that was asked for the same."""
    asked, point = record.point, run.point
    return asked.identity in point.identities or (
        asked.engine == point.engine.name
        and asked.slug == point.slug
        and asked.binary_sha256 != point.engine.binary_sha256
        and (asked.properties, asked.phases) == (run.properties, point.phases)
        and (asked.cap_bytes, asked.device) == (point.cap_bytes, point.device)
    )


def _why(pair: Sequence[tuple[Point, Record]], *, now: Conditions) -> str:
    """What differs: first the builds, then the first of the conditions; "" if nothing does."""
    rebuilt = [
        str(point.axes["engine"]) for point, record in pair if record.point.identity not in point.identities
    ]
    if rebuilt:
        return f"another build of {' and '.join(rebuilt)}"
    return next(filter(None, (now.difference(record) for _, record in pair)), "")
