"""Advice: what a run's counters say about an engine's options, and the experiment that tests it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .engine import Frozen


class Condition(Frozen):
    """The sum of some facts over the sum of others (1 if none), times a factor, lies above or below a bound.

    A fact is a metric of the rule's phase, `seconds` of that phase, `threads`, `cap` or `dataset` (bytes), or
    `option.NAME`, if it is a number (1 and 0 for true and false).
    """

    meaning: str
    sum: tuple[str, ...]
    over: tuple[str, ...] = ()
    times: float = 1
    above: float | None = None
    below: float | None = None


class Change(Frozen):
    """What becomes of an option: a multiple of the run's value, or a value at paper scale."""

    times: float | None = None
    to: str | None = None


class Promise(Frozen):
    """The metric that should change, and bounds of advised over before."""

    metric: str
    phase: str = "run"
    at_least: float | None = None
    at_most: float | None = None


class Rule(Frozen):
    """Something that can be wrong with a run, how counters show it, and which options to change.

    `fires` and `silent` are facts of a run that has the problem, and of one that has not: the rule's tests.
    """

    id: str
    problem: str
    phase: str = "measure"
    when: tuple[Condition, ...]
    change: Mapping[str, Change]
    expect: Promise
    why: str
    fires: Mapping[str, float]
    silent: Mapping[str, float]


@dataclass(frozen=True)
class Evidence:
    """A condition, and the value that it had."""

    condition: Condition
    value: float


@dataclass(frozen=True)
class Finding:
    """A rule that fires at a point, with its evidence. None fires unless all its conditions hold."""

    rule: Rule
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Step:
    """An option's value before and as advised, for people, and the latter as an experiment has it."""

    option: str
    before: str
    after: str
    written: str
