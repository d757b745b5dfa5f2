"""Runs dealt to jobs: what is compared stays together, and a job starts from few snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvdyno.model.point import Run


@dataclass(frozen=True)
class Unit:
    """Runs that must share a host, in their order: the comparable points of one repetition."""

    runs: tuple[Run, ...]

    @property
    def seconds(self) -> float:
        """What the runs should take, loads apart."""
        return sum(run.point.expected_seconds for run in self.runs)

    @property
    def loads(self) -> dict[str, float]:
        """The datasets that they start from, and what loading each should take."""
        return {run.dataset.identity: run.dataset.expected_seconds for run in self.runs if run.dataset}


def units_of(blocks: Sequence[Sequence[Run]], *, along: frozenset[str]) -> tuple[Unit, ...]:
    """The runs that must share a host: a block, and with it the blocks of its repetition that differ from it
    on the axes `along` alone, which claims compare.
    """
    units: dict[object, list[Run]] = {}
    for block in blocks:
        axes = block[0].point.axes
        rest = sorted((n, str(v)) for n, v in axes.items() if n not in {"engine", "preset", *along})
        units.setdefault((block[0].repetition, tuple(rest)) if along else id(block), []).extend(block)
    return tuple(Unit(tuple(runs)) for runs in units.values())


def deal(units: Sequence[Unit], *, jobs: int) -> tuple[tuple[Unit, ...], ...]:
    """The units in `jobs` hands or fewer, of about equal length.

    Units that start from the same datasets follow each other, so that a hand needs few snapshots; a hand is
    measured in the order of the plan.
    """
    places = {id(unit): place for place, unit in enumerate(units)}
    order = sorted(units, key=lambda unit: (sorted(unit.loads), places[id(unit)]))
    share = sum(unit.seconds for unit in order) / jobs
    hands: list[list[Unit]] = [[]]
    dealt = 0.0
    for unit in order:
        # The middle of the unit decides, so that a long one does not push all others back.
        if hands[-1] and dealt + unit.seconds / 2 > share * len(hands) and len(hands) < jobs:
            hands.append([])
        hands[-1].append(unit)
        dealt += unit.seconds
    return tuple(tuple(sorted(hand, key=lambda unit: places[id(unit)])) for hand in hands)
