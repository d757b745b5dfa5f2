"""The order of runs: repetitions outside, blocks of comparable points inside, balanced for predecessors.

Within a block the contenders follow Williams designs ("Experimental designs balanced for the estimation of
residual effects of treatments", Australian J. of Scientific Research A 2, 1949): over as many repetitions as
there are contenders (twice as many if their number is odd), each contender directly follows each other one
equally often, and runs at each place equally often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from kvdyno.model.axes import MIX_SEED, SEED
from kvdyno.model.experiment import AxisValue
from kvdyno.model.point import Point, Run

from .recovery import kill_moment

_CONTENDER = frozenset({"engine", "preset"})

T = TypeVar("T")


def order_runs(points: Sequence[Point], *, repetitions: int, name: str) -> tuple[Run, ...]:
    """Every point `repetitions` times, with its load and its seeds.

    A hash of `name` shuffles the contenders of a block, the rows of its design and, in each repetition, the
    blocks. The same points and name give the same order everywhere.
    """
    blocks = [_Block(block, name=name) for block in blocks_of(points)]
    return tuple(
        seeded_run(point, repetition=repetition, repetitions=repetitions)
        for repetition in range(1, repetitions + 1)
        for block in _shuffled(blocks, salt=f"{name}\nblocks of repetition {repetition}")
        for point in block.order(repetition)
    )


def seeded_run(point: Point, *, repetition: int, repetitions: int) -> Run:
    """The repetition of the point: its load, and the seeds that its driver takes.

    Repetitions take turns to start from the point's loads; each draws operations of its own. A point that
    measures the load itself loads other data in each repetition.
    """
    known = point.engine.description.property
    if point.dataset is None:
        seed = repetition if "load" in point.phases and known(SEED) else None
        load = repetition if "load" in point.phases else 1
        seeds = {} if seed is None else {SEED: str(seed)}
        return Run(point, repetition, load=load, seed=seed, seeds=seeds, repetitions_planned=repetitions)
    loads = point.loads
    dataset = loads[(repetition - 1) % len(loads)]
    seeds = {} if dataset.seed is None else {SEED: str(dataset.seed)}
    seed = repetition if known(MIX_SEED) else None
    if seed is not None:
        seeds[MIX_SEED] = str(seed)
    if point.recovery:
        seeds |= kill_moment(point.properties, point.recovery, repetition=repetition)
    return Run(point, repetition, load=dataset.load, seed=seed, seeds=seeds, repetitions_planned=repetitions)


def blocks_of(points: Sequence[Point]) -> list[list[Point]]:
    """Neighbours that differ in nothing but the engine, on the axes that they share."""
    blocks: list[list[Point]] = []
    shared: dict[str, AxisValue] = {}
    labels: set[AxisValue] = set()
    for point in points:
        axes = {axis: value for axis, value in point.axes.items() if axis not in _CONTENDER}
        agrees = all(shared.get(axis, value) == value for axis, value in axes.items())
        if not blocks or point.axes["engine"] in labels or not agrees:
            blocks.append([])
            shared, labels = {}, set()
        blocks[-1].append(point)
        shared |= axes
        labels.add(point.axes["engine"])
    return blocks


def williams_rows(count: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Latin squares of the numbers below `count` that are balanced for predecessors together.

    One square if `count` is even, else two of which the second mirrors the first (Williams 1949).
    """
    zigzag = [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(count)]
    square = tuple(tuple((step + shift) % count for step in zigzag) for shift in range(count))
    return (square,) if count % 2 == 0 or count == 1 else (square, tuple(row[::-1] for row in square))


class _Block:
    """Comparable points, and the order in which each repetition runs them."""

    def __init__(self, points: Sequence[Point], *, name: str) -> None:
        salt = f"{name}\n{min(point.slug for point in points)}\n"
        self._points = sorted(points, key=lambda point: _digest(salt + point.slug))
        self._rows = [
            row
            for number, square in enumerate(williams_rows(len(points)))
            for row in _shuffled(square, salt=f"{salt}rows of square {number}")
        ]

    def order(self, repetition: int) -> list[Point]:
        """The points as this repetition runs them."""
        row = self._rows[(repetition - 1) % len(self._rows)]
        return [self._points[place] for place in row]


def _shuffled(items: Iterable[T], *, salt: str) -> list[T]:
    keyed = [(_digest(f"{salt}\n{place}"), item) for place, item in enumerate(items)]
    return [item for _, item in sorted(keyed, key=lambda each: each[0])]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
