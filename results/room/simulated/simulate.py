"""Misses of a row cache in the seconds after an opening, by its room and by how it forgets.

Writes misses.csv beside itself; ten seconds. The cache starts full of rows taken at random, as munks hand
them down. Rows are drawn by Zipf's law with theta 0.8. Misses are those of the draws after a warm-up: both
together are about what two clients get in eight seconds at small.
"""

from __future__ import annotations

import csv
from collections import Counter, OrderedDict, deque
from pathlib import Path

import numpy as np

ROWS, WARM_UP, MEASURED = 330_000, 390_000, 650_000
ROOMS = (0.60, 0.72, 0.82)  # of the rows
CHANCES = 3


def clock(keys: list[int], held: list[int]) -> float:
    """The oldest row makes room, or goes round again: as often as it was found, up to CHANCES."""
    order, left = deque(held), dict.fromkeys(held, 0)
    missed = 0
    for number, key in enumerate(keys):
        if key in left:
            left[key] = min(left[key] + 1, CHANCES)
            continue
        missed += number >= WARM_UP
        while left[order[0]] > 0:
            left[order[0]] -= 1
            order.rotate(-1)
        del left[order.popleft()]
        order.append(key)
        left[key] = 0
    return missed / MEASURED


def clock_with_admission(keys: list[int], held: list[int]) -> float:
    """The same, but a row only displaces one that was read less often."""
    order, left = deque(held), dict.fromkeys(held, 0)
    reads: Counter[int] = Counter()
    missed = 0
    for number, key in enumerate(keys):
        reads[key] += 1
        if key in left:
            left[key] = min(left[key] + 1, CHANCES)
            continue
        missed += number >= WARM_UP
        while left[order[0]] > 0:
            left[order[0]] -= 1
            order.rotate(-1)
        if reads[order[0]] >= reads[key]:
            order.rotate(-1)
            continue
        del left[order.popleft()]
        order.append(key)
        left[key] = 0
    return missed / MEASURED


def s3_fifo(keys: list[int], held: list[int]) -> float:
    """Yang et al., SOSP 2023: new rows enter a small queue of a tenth, and stay only if they are found there
    or were forgotten lately.
    """
    room, main, small = len(held), deque(held), deque[int]()
    left = dict.fromkeys(held, 0)
    forgotten: OrderedDict[int, None] = OrderedDict()
    missed = 0

    def make_room() -> None:
        while len(small) > room // 10:
            key = small.popleft()
            if left[key] > 0:
                left[key] = 0
                main.append(key)
                continue
            del left[key]
            forgotten[key] = None
            if len(forgotten) > room:
                forgotten.popitem(last=False)
            return
        while left[main[0]] > 0:
            left[main[0]] -= 1
            main.rotate(-1)
        del left[main.popleft()]

    for number, key in enumerate(keys):
        if key in left:
            left[key] = min(left[key] + 1, CHANCES)
            continue
        missed += number >= WARM_UP
        make_room()
        known = key in forgotten
        if known:
            del forgotten[key]
        (main if known else small).append(key)
        left[key] = 0
    return missed / MEASURED


def main() -> None:
    """Simulate all, and write misses.csv."""
    random = np.random.default_rng(1)
    chances = np.cumsum(1 / np.arange(1, ROWS + 1) ** 0.8)
    keys = np.searchsorted(chances / chances[-1], random.random(WARM_UP + MEASURED)).tolist()
    with Path(__file__).with_name("misses.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("room", "clock", "admission", "s3_fifo"))
        for share in ROOMS:
            held = random.permutation(ROWS)[: int(ROWS * share)].tolist()
            policies = (clock, clock_with_admission, s3_fifo)
            table.writerow((share, *(round(100 * policy(keys, held), 2) for policy in policies)))


if __name__ == "__main__":
    main()
