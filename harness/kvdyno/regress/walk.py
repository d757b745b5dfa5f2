"""The walk of a bisection: which candidate to judge next, and what is left when no judgement helps.

Candidates are numbered in the order of time, the last is bad, and the good one precedes the first. Each
candidate has one verdict, so a Bonferroni share of 1 / candidates bounds false blame over the whole walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Finding = Literal["good", "bad", "undecided", "skipped"]


@dataclass(frozen=True)
class Left:
    """Candidates `first` to `last`, both included, of which one is the first bad one."""

    first: int
    last: int

    @property
    def located(self) -> bool:
        """Whether one candidate alone is left."""
        return self.first == self.last


def left(findings: Mapping[int, Finding], *, candidates: int) -> Left:
    """What the findings leave: from the last good one before the first bad one, to that bad one."""
    bad = min((n for n, found in findings.items() if found == "bad"), default=candidates - 1)
    good = max((n for n, found in findings.items() if found == "good" and n < bad), default=-1)
    return Left(good + 1, bad)


def next_candidate(findings: Mapping[int, Finding], *, candidates: int) -> int | None:
    """The last candidate first, to see that it is bad; then the one nearest to the middle of what is left.

    Candidates without a verdict (undecided, skipped) are passed by. None: nothing more can be learnt.
    """
    if candidates - 1 not in findings:
        return candidates - 1
    if findings[candidates - 1] != "bad":
        return None
    here = left(findings, candidates=candidates)
    middle = (here.first + here.last - 1) / 2
    unknown = [n for n in range(here.first, here.last) if n not in findings]
    return min(unknown, key=lambda n: (abs(n - middle), n), default=None)
