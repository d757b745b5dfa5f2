"""How many gets the most popular rows have. Writes bound.csv beside itself; three seconds.

No cache of so many rows answers more gets, whatever it forgets, if popularity stays as it is. Keys are
popular one by one (`zipf-simple`), or by slice and by place in it (`zipf-composite`, docs/workloads.md).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

RECORD = 814  # bytes: a key of 14 and a value of 800
SLICES = 1 << 14
DATA = {"64 GiB": 64 << 30, "1 GiB": 1 << 30}
CACHED = 11.25 / 64  # the preset's caches over the data


def simple(rows: int, skew: float) -> float:
    """The share of gets of the first CACHED of rows whose popularity follows Zipf's law."""
    weights = np.arange(1, rows + 1) ** -skew
    return float(weights[: int(CACHED * rows)].sum() / weights.sum())


def composite(rows: int, skew: float) -> float:
    """The same where slices and places in a slice each follow Zipf's law."""
    slices = np.arange(1, SLICES + 1) ** -skew
    places = np.arange(1, rows // SLICES + 1) ** -skew
    sums = np.concatenate([[0], np.cumsum(places)])
    low, high = slices[-1] * places[-1], 1.0
    for _ in range(60):  # the least popular row that is cached, by bisection
        least = np.sqrt(low * high)
        cached = np.minimum(len(places), np.floor((slices / least) ** (1 / skew))).astype(int)
        low, high = (least, high) if cached.sum() > CACHED * rows else (low, least)
    return float((slices * sums[cached]).sum() / (slices.sum() * sums[-1]))


def main() -> None:
    """One line for each size of the data, distribution and skew."""
    with (Path(__file__).parent / "bound.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "distribution", "skew", "value"])
        for data, size in DATA.items():
            for name, share in {"zipf-composite": composite, "zipf-simple": simple}.items():
                for skew in (0.8, 0.99):
                    writer.writerow([data, name, skew, f"{share(size // RECORD, skew):.3f}"])


if __name__ == "__main__":
    main()
