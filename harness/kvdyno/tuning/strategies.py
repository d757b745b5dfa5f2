"""Strategies of a search behind one interface: what to try next, given all tries so far.

A strategy keeps no state: the same trail and seed give the same candidate. So a search that was killed goes
on where it stopped when its tries are read from records again.
"""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvdyno.model.search import Dimension, Options, Space, Try

from .candidates import able, drawn, fitted, moved, number_text
from .gaussian import gaussian
from .question import Question, measured, penalised

if TYPE_CHECKING:
    import optuna


#: TPE draws as many candidates at random before it models them, or as many as there are options.
_STARTUP = 8


def random_search(asked: Question) -> Options:
    """A candidate drawn at random, the baseline that a search must beat (Bergstra & Bengio, "Random search
    for hyper-parameter optimization", JMLR 13, 2012).
    """
    return drawn(asked.space, random.Random(f"{asked.seed}/{len(asked.trail)}"))


def coordinate_sweep(asked: Question) -> Options:
    """One option at a time: its values, or the ends and the middle of its range, on the best of the first
    objective so far. After all options it begins again from the best, with steps of half the length.
    """
    number = len(asked.trail) - asked.given
    for finer in itertools.count(1):
        steps = [(each, text) for each in able(asked.space) for text in _steps(each, count=2**finer)]
        if number < len(steps):
            break
        number -= len(steps)
    lowest = {each.name: _steps(each, count=1)[0] for each in asked.space.dimensions}
    return moved(asked.space, {**lowest, **asked.best}, *steps[number])


def _steps(dimension: Dimension, *, count: int) -> Sequence[str]:
    """An option's values; a number's, from one end of its range to the other in so many steps."""
    places = (step / count for step in range(count + 1))
    return dimension.values or [number_text(dimension, dimension.at(place)) for place in places]


def tpe(asked: Question) -> Options:
    """The tree-structured Parzen estimator (Bergstra et al., "Algorithms for hyper-parameter optimization",
    NIPS 2011; several objectives: Ozaki et al., GECCO 2020), as Optuna has it.
    """
    trial = optuna_study(asked.space, asked.trail, seed=asked.seed + len(asked.trail)).ask()
    found: dict[str, str] = {}
    for each in sorted(asked.space.dimensions, key=lambda dimension: len(dimension.only_if or {})):
        if each.acts(found):
            found[each.name] = _suggested(trial, each)
    return fitted(asked.space, found)


def _suggested(trial: optuna.Trial, dimension: Dimension) -> str:
    if dimension.values:
        return str(trial.suggest_categorical(dimension.name, dimension.values))
    low, high, log = dimension.low, dimension.high, dimension.log
    if dimension.whole:
        value: float = trial.suggest_int(dimension.name, math.ceil(low), math.floor(high), log=log)
    else:
        value = trial.suggest_float(dimension.name, low, high, log=log)
    return number_text(dimension, value)


def optuna_study(space: Space, trail: Sequence[Try], *, seed: int = 0) -> optuna.Study:
    """The trail as a study of Optuna, which maximises gains."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    known = penalised(trail)
    objectives = len(known[0][1]) if known else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            seed=seed,
            multivariate=True,
            group=True,
            n_startup_trials=min(_STARTUP, len(space.dimensions)),
        )
    study = optuna.create_study(directions=["maximize"] * objectives, sampler=sampler)
    dimensions = {each.name: each for each in space.dimensions}
    for options, gains in known:
        params = {name: _param(dimensions[name], text) for name, text in options.items()}
        distributions = {name: _distribution(dimensions[name]) for name in params}
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=distributions, values=list(gains))
        )
    return study


def _param(dimension: Dimension, text: str) -> Any:
    return text if dimension.values else (int(text) if dimension.whole else float(text))


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if dimension.values:
        return CategoricalDistribution(dimension.values)
    if dimension.whole:
        return IntDistribution(math.ceil(dimension.low), math.floor(dimension.high), log=dimension.log)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def front_of(trail: Sequence[Try]) -> tuple[Try, ...]:
    """The tries in full length that no other one beats in every objective (Pareto), best in the first
    objective first.
    """
    full = measured(trail)
    front = [each for each in full if not any(_dominates(other, each) for other in full)]
    return tuple(sorted(front, key=lambda each: each.gains or (), reverse=True))


def _dominates(one: Try, other: Try) -> bool:
    assert one.gains is not None
    assert other.gains is not None
    pairs = list(zip(one.gains, other.gains, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


Strategy = Callable[[Question], Options]

STRATEGIES: Mapping[str, Strategy] = {
    "gp": gaussian,
    "tpe": tpe,
    "random": random_search,
    "sweep": coordinate_sweep,
}
