"""Lasting steps of a host during a sweep, by the gauges before its runs and never by the runs' results.

Runs before a step are not compared with runs after it: each stretch between steps is a sweep of its own to
ratios.py. The steps of a gauge are found by seeded binary segmentation (Kovács, Bühlmann, Li and Munk,
Biometrika 110, 2023): in intervals of many lengths, each with the place where the ranks of its two sides
differ most. The narrowest interval that shows a step comes first (Baranowski, Chen and Fryzlewicz, J. Royal
Statistical Society B 81, 2019), so that a second step nearby hides none; the parts before and after it are
searched in turn. A step is shown where

- the medians of the two sides differ by more than the gauge's factor (judges.py), in either direction;
- on each side NORMAL_RECORDS runs or more, and four fifths of all, are nearer to its own median than to the
  other's, so that odd runs and short bursts are no steps;
- the test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947) rejects that the sides are alike.
  Its p-value is multiplied by the number of places in all intervals of the sweep and of gauges (Bonferroni),
  and must be at most 1 %. It is one of ranks, so heavy tails reject no more often.

All three hold in the interval, and again between the stretches that are left in the end. Medians and ranks
need no scale, but the middle between two medians does: values are logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from kvdyno.model.record import Record

from .judges import NORMAL_RECORDS, OF_THE_HOST, Judge

#: How often gauges that do not change split a sweep on a host, at most.
LEVEL = 0.01
#: The share of a side that must be nearer to its own median.
_OWN_SHARE = 0.8
#: Each length of intervals over the next longer one, as the authors recommend.
_DECAY = math.sqrt(0.5)
#: The test is exact up to this product of the sides' numbers of runs, and by the normal distribution beyond.
_EXACT_UP_TO = 20_000

_Values = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A gauge's step: `runs` are all of a sweep on a host, in order; `place` is that of the first run after.

    `before` and `after` are medians of the stretches of this gauge on both sides.
    """

    judge: Judge
    runs: Sequence[Record]
    place: int
    before: float
    after: float


def steps(records: Iterable[Record]) -> tuple[Step, ...]:
    """The steps of all gauges, by sweep and host, gauge and time."""
    return tuple(step for runs in _by_host(records) for judge in OF_THE_HOST for step in _steps(runs, judge))


def stretches(records: Iterable[Record]) -> Mapping[tuple[str, str], int]:
    """The stretch of each run, by sweep_id and run_id: at how many places before it its host stepped."""
    found: dict[tuple[str, str], int] = {}
    for runs in _by_host(records):
        places = sorted({step.place for judge in OF_THE_HOST for step in _steps(runs, judge)})
        numbers = np.searchsorted(places, np.arange(len(runs)), side="right").tolist()
        found |= {(run.sweep_id, run.run_id): number for run, number in zip(runs, numbers, strict=True)}
    return found


def step_places(values: _Values, *, factor: float) -> list[int]:
    """Where positive values, in order of time, step lastingly: the first place after each step."""
    logs, gap = np.log(values), math.log(factor)
    if not _can_step(logs, gap):
        return []
    tests = sum(end - begin - 2 * NORMAL_RECORDS + 1 for begin, end in _intervals(len(logs)))
    rule = _Rule(gap, LEVEL / (tests * len(OF_THE_HOST)))
    return _lasting(_search(logs, rule), logs, rule)


@dataclass(frozen=True)
class _Rule:
    """What two sides must fulfil: medians further apart than the gap, and a p-value up to the bound."""

    gap: float
    bound: float

    def separates(self, before: _Values, after: _Values) -> bool:
        medians = float(np.median(before)), float(np.median(after))
        if abs(medians[1] - medians[0]) <= self.gap:
            return False
        low, high = (before, after) if medians[0] < medians[1] else (after, before)
        middle = sum(medians) / 2
        for own in (low < middle, high > middle):
            if own.sum() < max(NORMAL_RECORDS, _OWN_SHARE * len(own)):
                return False
        exact = len(before) * len(after) <= _EXACT_UP_TO
        method: Literal["exact", "asymptotic"] = "exact" if exact else "asymptotic"
        return bool(scipy.stats.mannwhitneyu(before, after, method=method).pvalue <= self.bound)


def _by_host(records: Iterable[Record]) -> list[list[Record]]:
    """The runs of each sweep and host in order of their start, each once."""
    found: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        found.setdefault((record.sweep_id, record.environment.host_id), {})[record.run_id] = record
    return [sorted(runs.values(), key=lambda run: (run.started_at, run.order)) for runs in found.values()]


def _steps(runs: Sequence[Record], judge: Judge) -> list[Step]:
    """The gauge's steps; runs without the gauge count for none of its sides."""
    known = [
        (place, float(value))
        for place, run in enumerate(runs)
        if isinstance(value := run.gauges.get(judge.gauge), (int, float)) and value > 0
    ]
    values = np.array([value for _, value in known])
    places = step_places(values, factor=judge.factor)
    if not places:
        return []
    medians = [float(np.median(values[a:b])) for a, b in pairwise([0, *places, len(values)])]
    return [
        Step(judge, runs, known[place][0], before, after)
        for place, (before, after) in zip(places, pairwise(medians), strict=True)
    ]


def _search(logs: _Values, rule: _Rule) -> list[int]:
    """The step that the narrowest interval shows, and those of the parts before and after it."""
    if not _can_step(logs, rule.gap):
        return []
    for begin, end in _intervals(len(logs)):
        if not _can_step(logs[begin:end], rule.gap):
            continue
        place = begin + _split(logs[begin:end])
        if rule.separates(logs[begin:place], logs[place:end]):
            later = [place + each for each in _search(logs[place:], rule)]
            return [*_search(logs[:place], rule), place, *later]
    return []


def _can_step(logs: _Values, gap: float) -> bool:
    """False where no two sides' medians can be further apart than the gap: of each side at least half of
    NORMAL_RECORDS are no higher than its median, and as many no lower.
    """
    if len(logs) < 2 * NORMAL_RECORDS:
        return False
    low, high = NORMAL_RECORDS // 2, len(logs) - 1 - NORMAL_RECORDS // 2
    parted = np.partition(logs, (low, high))
    return bool(parted[high] - parted[low] > gap)


def _intervals(count: int) -> list[tuple[int, int]]:
    """Begin and end of the intervals, the narrowest first: lengths from `count` down by _DECAY, each as often
    as covers the values about twice (definition 1 of Kovács et al.).
    """
    found = []
    length = float(count)
    while length >= 2 * NORMAL_RECORDS:
        number = 2 * math.ceil(count / length) - 1
        shift = (count - length) / max(1, number - 1)
        found += [(int(i * shift), min(count, math.ceil(i * shift + length))) for i in range(number)]
        length *= _DECAY
    return sorted(found, key=lambda each: each[1] - each[0])


def _split(logs: _Values) -> int:
    """The place of the step, if there is one: where ranks differ most for the number of runs on both sides,
    then moved to where the fewest runs are on the wrong side of the middle.
    """
    places = np.arange(NORMAL_RECORDS, len(logs) - NORMAL_RECORDS + 1)
    sums = np.cumsum(scipy.stats.rankdata(logs))[places - 1]
    off = np.abs(sums - places * (len(logs) + 1) / 2)
    first = int(places[np.argmax(off / np.sqrt(places * (len(logs) - places)))])
    medians = np.median(logs[:first]), np.median(logs[first:])
    after = (logs > sum(medians) / 2) == (medians[1] > medians[0])
    wrong = 2 * np.cumsum(after)[places - 1] - places  # and a number that is the same everywhere
    return int(places[np.argmin(wrong)])


def _lasting(places: list[int], logs: _Values, rule: _Rule) -> list[int]:
    """The places that separate the stretches on both sides, up to their neighbours; others are left out one
    by one.
    """
    while places:
        ends = [0, *places, len(logs)]
        weak = [
            place
            for begin, place, end in zip(ends[:-2], places, ends[2:], strict=True)
            if not rule.separates(logs[begin:place], logs[place:end])
        ]
        if not weak:
            break
        places = [place for place in places if place != weak[0]]
    return places
