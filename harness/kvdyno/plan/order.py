"""The order of runs: repetitions outside, comparable points together, engines taking turns to go first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from kvdyno.model.experiment import AxisValue
from kvdyno.model.point import Point, Run

_CONTENDER = frozenset({"engine", "preset"})


def order_runs(points: Sequence[Point], *, repetitions: int, seed: str) -> tuple[Run, ...]:
    """Every point `repetitions` times.

    Within a block of comparable points the engines are shuffled by a hash of the seed and the block,
    and rotated by one with each repetition: over as many repetitions as there are engines, each goes
    first, second and so on equally often. The same points and seed give the same order everywhere.
    """
    blocks = [_shuffled(block, seed=seed) for block in blocks_of(points)]
    runs = []
    for repetition in range(1, repetitions + 1):
        for block in blocks:
            turn = repetition % len(block)
            runs += [Run(point, repetition) for point in (*block[turn:], *block[:turn])]
    return tuple(runs)


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


def _shuffled(block: Sequence[Point], *, seed: str) -> list[Point]:
    salt = f"{seed}\n{min(point.slug for point in block)}\n"
    return sorted(block, key=lambda point: hashlib.sha256((salt + point.slug).encode()).digest())
