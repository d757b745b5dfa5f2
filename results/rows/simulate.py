"""Misses of a row cache by how it forgets. Writes misses.csv beside itself; 20 seconds.

Rows are drawn by Zipf's law; misses are those of the second half of the draws, in percent. `best` holds the
most likely rows.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROWS, DRAWS = 157_000, 1_500_000
TABLES = 3


def queue_of_tables(keys: list[int], room: int) -> float:
    """EvenDB's: a row found in an older table goes to the newest, and its old place stays taken."""
    tables: list[set[int]] = [set() for _ in range(TABLES)]
    taken = missed = 0  # of the newest table; of the second half
    for number, key in enumerate(keys):
        found = next((age for age, table in enumerate(tables) if key in table), None)
        if found == 0:
            continue
        if found is None:
            missed += number >= len(keys) // 2
        else:
            tables[found].discard(key)
        if taken >= room // TABLES:
            tables = [set(), *tables[:-1]]
            taken = 0
        tables[0].add(key)
        taken += 1
    return missed / (len(keys) / 2)


def fifo(keys: list[int], room: int, chances: int) -> float:
    """The oldest row makes room, or goes round again: as often as it was found, up to `chances`."""
    order: deque[int] = deque()
    left: dict[int, int] = {}
    missed = 0
    for number, key in enumerate(keys):
        if key in left:
            left[key] = min(left[key] + 1, chances)
            continue
        missed += number >= len(keys) // 2
        while len(order) >= room:
            oldest = order.popleft()
            if left[oldest] > 0:
                left[oldest] -= 1
                order.append(oldest)
            else:
                del left[oldest]
        order.append(key)
        left[key] = 0
    return missed / (len(keys) / 2)


def main() -> None:
    """Writes the table."""
    with Path(__file__).with_name("misses.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["theta", "room", "tables", "one_chance", "three_chances", "best"])
        writer.writerows(rows())


def rows() -> Iterator[list[object]]:
    """A row for each skew and number of rows that fit."""
    for theta in (0.8, 0.99):
        likely = 1 / np.arange(1, ROWS + 1) ** theta
        likely /= likely.sum()
        keys = np.random.default_rng(1).choice(ROWS, size=DRAWS, p=likely).tolist()
        for room in (35_000, 100_000):
            misses = (
                queue_of_tables(keys, room),
                fifo(keys, room, 1),
                fifo(keys, room, 3),
                1 - likely[:room].sum(),
            )
            yield [theta, room, *(f"{100 * missed:.1f}" for missed in misses)]


if __name__ == "__main__":
    main()
