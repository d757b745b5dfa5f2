"""A confidence sequence: intervals for a mean, of which none misses it, however often one looks.

For independent Gaussian observations of unknown variance, with S the sum of their squared deviations from
their mean x̄, and d = x̄ - μ. The mixture of scale-invariant likelihood ratios over a standardised effect
(μ' - μ)/σ ~ N(0, g),

    E_n(μ) = (1 + n·g)^(-1/2) · [(S + n·d²) / (S + n·d² / (1 + n·g))]^(n/2),

is a nonnegative martingale that begins at 1 if μ is the mean: Gönen, Johnson, Lu & Westfall, "The Bayesian
two-sample t test", The American Statistician 59(3), 2005, for the Bayes factor; Lai, "On confidence
sequences", Annals of Statistics 4(2), 1976, and Wang & Ramdas, "Anytime-valid t-tests and confidence
sequences for Gaussian means with unknown variance", arXiv 2310.03722, for the sequence. By Ville's inequality
E_n(μ) ever reaches 1/α with probability at most α, so that the intervals {μ : E_n(μ) < 1/α} hold the mean
together with probability 1 - α.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

#: Variance of the standardised effect in the mixture: narrow intervals after 5 to 40 pairs, where gates end.
EFFECT_VARIANCE = 4.0


@dataclass(frozen=True)
class Interval:
    """The mean of `n` values, and how far the interval reaches to either side; inf: too few values."""

    n: int
    mean: float
    half: float

    @property
    def low(self) -> float:
        """Its lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.mean + self.half


def interval(values: Sequence[float], *, level: float) -> Interval:
    """The sequence's interval after these values; `level` is α, the chance that any interval misses.

    Solved for d with K = (√(1 + n·g) / α)^(2/n): d² < S/n · (K - 1)(1 + n·g) / (1 + n·g - K), and every d if
    K ≥ 1 + n·g. Raises ValueError without values.
    """
    n = len(values)
    if not n:
        raise ValueError("expected at least one value, found none")
    mean = math.fsum(values) / n
    spread = math.fsum((value - mean) ** 2 for value in values)
    widening = 1 + n * EFFECT_VARIANCE
    bound = (math.sqrt(widening) / level) ** (2 / n)
    if bound >= widening:
        return Interval(n, mean, math.inf)
    return Interval(n, mean, math.sqrt(spread / n * (bound - 1) * widening / (widening - bound)))


def values_least(*, level: float) -> int:
    """How many values an interval needs to end anywhere."""
    return next(n for n in count(2) if math.isfinite(interval([0.0] * n, level=level).half))
