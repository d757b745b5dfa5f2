"""What a gate found: a verdict for each metric at each point, and the exit status that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .decide import Judgement

#: Exit statuses of the gate.
NO_REGRESSION, REGRESSION, UNDECIDED = 0, 1, 2


@dataclass(frozen=True)
class Verdict:
    """One metric at one point. `failure`: why there is nothing to compare, where runs failed.

    `head_fails` is whether only head's did, which is a regression whatever was measured before.
    """

    point: str
    metric: str
    phase: str
    unit: str
    judged: Judgement
    failure: str = ""
    head_fails: bool = False

    @property
    def regression(self) -> bool:
        """Whether head is worse."""
        return self.head_fails or (not self.failure and self.judged.worse)

    @property
    def undecided(self) -> bool:
        """Whether the gate cannot decide."""
        return not self.regression and (bool(self.failure) or not self.judged.decided)

    @property
    def improvement(self) -> bool:
        """Whether head is better."""
        return not self.regression and not self.undecided and self.judged.call != "same"


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """Any regression, else anything undecided, else none."""
    if any(each.regression for each in verdicts):
        return REGRESSION
    return UNDECIDED if any(each.undecided for each in verdicts) else NO_REGRESSION


def changed_first(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Regressions, then what is undecided, then improvements, then the same; in each, as they were."""
    return tuple(sorted(verdicts, key=_rank))


def _rank(verdict: Verdict) -> int:
    if verdict.regression:
        return 0
    if verdict.undecided:
        return 1
    return 2 if verdict.improvement else 3
