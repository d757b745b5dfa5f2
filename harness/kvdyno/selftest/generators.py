"""Do the driver's generators follow the laws that they promise? Pearson's test of counted draws.

The laws are written down here a second time, from their definitions (docs/formats.md, YCSB's for hotspot and
exponential), so that a mistake in the driver's own formulas shows. The driver itself draws: `--draw`, in its
image where it has one.
"""

from __future__ import annotations

import contextlib
import csv
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from kvdyno.errors import EngineError
from kvdyno.model.image import REMEDY

Values = NDArray[np.float64]

KEYS = 20_000
DRAWS = 1_000_000
_SLICES = 1 << 14
_THETA = 0.8
_EXPECTED_LEAST = 20  # draws in a cell; Cochran's rule asks for 5
_TIMEOUT_SECONDS = 120
#: The limit for all checks together: a sound driver fails once in a thousand self-tests.
ALPHA = 0.001

_MIX = {"readproportion": 0.5, "updateproportion": 0.3, "scanproportion": 0.15, "deleteproportion": 0.05}
_OPERATIONS = {"read": 0.5, "update": 0.3, "scan": 0.15, "delete": 0.05}


@dataclass(frozen=True)
class Draws:
    """What `--draw` counted: times per operation's name, and per key index."""

    operations: Mapping[str, int]
    keys: NDArray[np.int64]


@dataclass(frozen=True)
class Check:
    """One law: `p` is the chance of draws that lie at least as far off, if the law holds."""

    name: str
    p: float
    statistic: float
    freedom: int

    def holds(self, *, checks: int) -> bool:
        """Whether it passes as one of so many, with ALPHA for all of them together (Bonferroni)."""
        return self.p >= ALPHA / checks


@dataclass(frozen=True)
class _Driver:
    """A driver's binary: a file of this machine, or of an image."""

    binary: Path
    image: str | None

    @property
    def where(self) -> str:
        """For messages."""
        inside = f" in {self.image}" if self.image else ""
        return f"{self.binary} --draw{inside}"

    @property
    def remedy(self) -> str:
        """What makes another."""
        return REMEDY if self.image else "make build"

    def answer(self, words: Sequence[str]) -> tuple[int, str, str]:
        """Exit status, and what it prints to stdout and stderr. Raises OSError, TimeoutExpired, HostError."""
        command = [str(self.binary), *words]
        if self.image:
            from kvdyno.host.docker_engine import connect, run_once  # its library takes its time to import

            with contextlib.closing(connect()) as client:
                found = run_once(client, self.image, command, timeout_seconds=_TIMEOUT_SECONDS)
            return found.status, found.stdout.decode(), found.stderr.decode(errors="replace")
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


def check_generators(binary: Path, *, image: str | None = None) -> tuple[Check, ...]:
    """Every law of key choice, and the mix's shares.

    `binary` is a file of this machine, or of the image with that id. Raises EngineError if the driver cannot
    be asked, HostError if no Docker Engine answers.
    """
    driver = _Driver(binary, image)
    found = []
    for name, law in _laws(KEYS).items():
        draws = _draw(driver, {"requestdistribution": name, "zipfian_const": _THETA, "scattered": "false"})
        found.append(chi_square(f"keys of {name}", draws.keys, law))
        if name == "uniform":
            shares = np.array(list(_OPERATIONS.values()))
            counts = np.array([draws.operations.get(each, 0) for each in _OPERATIONS])
            found.append(chi_square("shares of operations", counts, shares))
    found.append(_scattering(driver))
    return tuple(found)


def _draw(driver: _Driver, properties: Mapping[str, object]) -> Draws:
    """Ask a driver for draws of its mix."""
    given = {"recordcount": KEYS, "seed": 1, **_MIX, **properties}
    pairs = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    try:
        status, answer, complaint = driver.answer(["--draw", str(DRAWS), *pairs])
    except (OSError, subprocess.TimeoutExpired) as failure:  # a Docker Engine's refusal is an OSError too
        raise EngineError(
            f"cannot be asked for draws: {failure}", where=driver.where, remedy=driver.remedy
        ) from failure
    if status != 0:
        last = complaint.strip().splitlines()[-1:] or [f"status {status}"]
        raise EngineError(f"expected draws, found: {last[0]}", where=driver.where, remedy=driver.remedy)
    return _parse(answer, keys=KEYS)


def _parse(text: str, *, keys: int) -> Draws:
    counts = np.zeros(keys, dtype=np.int64)
    operations = {}
    for row in csv.DictReader(text.splitlines()):
        if row["what"] == "key":
            counts[int(row["name"])] = int(row["times"])
        else:
            operations[row["name"]] = int(row["times"])
    return Draws(operations, counts)


def _scattering(driver: _Driver) -> Check:
    """Scattered draws are the same draws at other places: a permutation keeps the sorted counts."""
    of = {"requestdistribution": "zipfian", "zipfian_const": _THETA}
    plain = np.sort(_draw(driver, {**of, "scattered": "false"}).keys)
    scattered = np.sort(_draw(driver, {**of, "scattered": "true"}).keys)
    moved = int(np.abs(plain - scattered).sum())
    return Check("scattering is a permutation", 1.0 if moved == 0 else 0.0, float(moved), 0)


def chi_square(name: str, observed: Sequence[int] | NDArray[np.int64], law: Values) -> Check:
    """Pearson's statistic against a law that sums to 1; neighbouring cells are pooled until 20 draws are
    expected in each.
    """
    counts = np.asarray(observed, dtype=float)
    expected = law / law.sum() * counts.sum()
    cell = np.minimum(
        np.floor(np.cumsum(expected) / _EXPECTED_LEAST - 1e-9), np.floor(expected.sum() / _EXPECTED_LEAST) - 1
    ).astype(np.int64)
    _, group = np.unique(cell, return_inverse=True)
    pooled_counts, pooled_expected = np.bincount(group, counts), np.bincount(group, expected)
    statistic = float(((pooled_counts - pooled_expected) ** 2 / pooled_expected).sum())
    freedom = len(pooled_counts) - 1
    return Check(name, float(scipy.stats.chi2.sf(statistic, freedom)), statistic, freedom)


def _laws(keys: int) -> Mapping[str, Values]:
    """The probability of each key index, popularity falling with the index."""
    return {
        "uniform": np.full(keys, 1 / keys),
        "zipfian": _zipf(keys),
        "latest": _zipf(keys)[::-1],
        "zipf-composite": _composite(keys, uniform_inside=False),
        "zipf-composite-uniform": _composite(keys, uniform_inside=True),
        "hotspot": _hotspot(keys),
        "exponential": _exponential(keys)[::-1],
    }


def _zipf(count: int) -> Values:
    """P(k) ∝ k^-θ."""
    weights = np.arange(1, count + 1, dtype=float) ** -_THETA
    return np.asarray(weights / weights.sum())


def _composite(keys: int, *, uniform_inside: bool) -> Values:
    """A slice by Zipf, then a key inside it, by Zipf too or uniform; early slices are one key wider."""
    slices = min(keys, _SLICES)
    widths = [keys // slices + (number < keys % slices) for number in range(slices)]
    inside = {width: np.full(width, 1 / width) if uniform_inside else _zipf(width) for width in set(widths)}
    return np.concatenate([share * inside[width] for share, width in zip(_zipf(slices), widths, strict=True)])


def _hotspot(keys: int) -> Values:
    """80 % of the draws on the first 20 % of the keys: the driver's defaults."""
    hot = round(keys * 0.2)
    return np.concatenate([np.full(hot, 0.8 / hot), np.full(keys - hot, 0.2 / (keys - hot))])


def _exponential(keys: int) -> Values:
    """95 % of the draws within 0.8571428571 of the records, were the tail not cut off at the last."""
    rate = -np.log(1 - 0.95) / (0.8571428571 * keys)
    edges = np.exp(-rate * np.arange(keys + 1))
    return np.asarray((edges[:-1] - edges[1:]) / (1 - edges[-1]))
