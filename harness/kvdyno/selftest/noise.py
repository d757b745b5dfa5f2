"""From twins' comparisons to a host's noise: coverage, false alarms, and how far twins differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kvdyno.model.noise import TwinNoise

#: What a self-test has to reach: nominal 95 % intervals, and one decision in twenty where nothing differs.
COVERAGE_LEAST = 0.93
FALSE_ALARMS_MOST = 0.05
#: Fewer comparisons cannot separate 95 % from 90 %.
COMPARISONS_LEAST = 200


@dataclass(frozen=True)
class Score:
    """Comparisons of one metric over all twins and points."""

    metric: str
    comparisons: int
    covered: int
    false_alarms: int

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth, which is 1."""
        return self.covered / self.comparisons

    @property
    def false_alarm_rate(self) -> float:
        """Share of the comparisons whose verdict is that twins differ."""
        return self.false_alarms / self.comparisons

    @property
    def sound(self) -> bool:
        """Whether both are as they should be."""
        return self.coverage >= COVERAGE_LEAST and self.false_alarm_rate <= FALSE_ALARMS_MOST


def twin_noise(
    pairs: pd.DataFrame, comparisons: pd.DataFrame, *, axes: Sequence[str]
) -> tuple[TwinNoise, ...]:
    """An entry per engine, point, phase and metric.

    `pairs`: engine, axes, phase, metric, unit, log (the logarithm of a repetition's ratio). `comparisons`:
    the same keys, low, high, differs (the verdict).
    """
    keys = ["engine", *axes, "phase", "metric", "unit"]
    compared = {
        _key(key): (len(rows), int(_covers(rows).sum()), int(rows["differs"].sum()))
        for key, rows in comparisons.groupby(keys, dropna=False, sort=False)
    }
    found = []
    for key, rows in pairs.groupby(keys, dropna=False, sort=False):
        engine, *values, phase, metric, unit = _key(key)
        count, covered, alarms = compared.get(_key(key), (0, 0, 0))
        found.append(
            TwinNoise(
                engine=str(engine),
                axes={a: v for a, v in zip(axes, values, strict=True) if isinstance(v, (str, int, float))},
                phase=str(phase),
                metric=str(metric),
                unit=str(unit),
                pairs=len(rows),
                sd_log=float(np.std(rows["log"], ddof=1)) if len(rows) > 1 else 0.0,
                comparisons=count,
                covered=covered,
                false_alarms=alarms,
            )
        )
    return tuple(found)


def scores(entries: Sequence[TwinNoise]) -> tuple[Score, ...]:
    """One per metric, in order of appearance; metrics that were never compared have none."""
    found = []
    for metric in dict.fromkeys(entry.metric for entry in entries):
        mine = [entry for entry in entries if entry.metric == metric]
        total = sum(entry.comparisons for entry in mine)
        if total:
            covered = sum(entry.covered for entry in mine)
            found.append(Score(metric, total, covered, sum(entry.false_alarms for entry in mine)))
    return tuple(found)


def groups_of(repetitions: Sequence[int], *, size: int) -> tuple[tuple[int, ...], ...]:
    """Neighbouring repetitions in groups of `size`, as sweeps of so many would have been; no rest is used."""
    whole = len(repetitions) // size * size
    ordered = sorted(repetitions)
    return tuple(tuple(ordered[start : start + size]) for start in range(0, whole, size))


def _covers(rows: pd.DataFrame) -> pd.Series[bool]:
    return (rows["low"] <= 1) & (rows["high"] >= 1)


def _key(key: object) -> tuple[object, ...]:
    """A group's key, with None where an axis means nothing to it."""
    values = key if isinstance(key, tuple) else (key,)
    return tuple(None if isinstance(value, float) and np.isnan(value) else value for value in values)
