"""What a trail teaches about its space: which options matter, how sure that is, and what was never tried."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from kvdyno.model.search import Dimension, Share, Space, Try, Untried

from .strategies import optuna_study

#: Resamples of the trail for an interval.
_RESAMPLES = 100
_ENDS = (2.5, 97.5)
#: A stretch of a range without a candidate counts from this share of the range on, on the range's scale.
_GAP_LEAST = 0.2


def importances(space: Space, trail: Sequence[Try], *, objective: int) -> Mapping[str, Share]:
    """How much each option matters for being among the better half of the tries, as shares, most first
    (PED-ANOVA: Watanabe, Bansal & Hutter, IJCAI 2023). Empty with fewer than two tries.

    The interval holds 95 % of the shares of resampled trails, of as many tries drawn with replacement (the
    percentile bootstrap: Efron & Tibshirani, "An introduction to the bootstrap", 1993, chapter 13).
    """
    shares = _shares(space, trail, objective=objective)
    rng = random.Random(len(trail))
    again = [
        _shares(space, rng.choices(trail, k=len(trail)), objective=objective)
        for _ in range(_RESAMPLES if shares else 0)
    ]
    found = {}
    for name, share in shares.items():
        low, high = np.percentile([each.get(name, 0.0) for each in again], _ENDS)
        found[name] = Share(share, float(low), float(high))
    return found


def _shares(space: Space, trail: Sequence[Try], *, objective: int) -> Mapping[str, float]:
    import optuna

    study = optuna_study(space, trail)
    if len(study.trials) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optuna.importance.get_param_importances(
            study,
            evaluator=optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.5),
            target=lambda trial: trial.values[objective],
        )


def untried(space: Space, trail: Sequence[Try]) -> tuple[Untried, ...]:
    """The values and the wide stretches of ranges that no candidate had, by option."""
    found = []
    for each in space.dimensions:
        had = [one.options[each.name] for one in trail if each.name in one.options]
        values = tuple(value for value in each.values if value not in had)
        gaps = () if each.values else _gaps(each, [float(text) for text in had])
        if values or gaps:
            found.append(Untried(each.name, values, gaps))
    return tuple(found)


def _gaps(dimension: Dimension, had: Sequence[float]) -> tuple[tuple[float, float], ...]:
    marks = sorted({dimension.low, *had, dimension.high})
    return tuple(
        (low, high)
        for low, high in itertools.pairwise(marks)
        if dimension.place(high) - dimension.place(low) >= _GAP_LEAST
        and not _next_whole(dimension, low, high)
    )


def _next_whole(dimension: Dimension, low: float, high: float) -> bool:
    """Whether the two are neighbours among whole numbers, so that nothing lies between them."""
    return dimension.whole and math.floor(low) + 1 >= high
