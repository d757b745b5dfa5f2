"""Strategies of a search behind one interface: what to try next, given all tries so far.

A strategy keeps no state: the same trail and seed give the same candidate. So a search that was killed goes
on where it stopped when its tries are read from records again.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvdyno.model.search import Dimension, Options, Space, Try

from .candidates import drawn, fitted, number_text
from .gaussian import gaussian
from .question import Question, penalised

if TYPE_CHECKING:
    import optuna


#: TPE draws as many candidates at random before it models them, or as many as there are options.
_STARTUP = 8
_STEPS = (0.0, 0.5, 1.0)


def random_search(asked: Question) -> Options:
    """A candidate drawn at random, the baseline that a search must beat (Bergstra & Bengio, "Random search
    for hyper-parameter optimization", JMLR 13, 2012).
    """
    return drawn(asked.space, random.Random(f"{asked.seed}/{len(asked.trail)}"))


def coordinate_sweep(asked: Question) -> Options:
    """One option at a time: its values, or the ends and the middle of its range, on the best of the first
    objective so far. After all options it begins again from the best.
    """
    dimensions = asked.space.dimensions
    able = [each for each in dimensions if all(_conditions(each, asked.space).values())]
    steps = [(each, place) for each in able for place in range(len(each.values or _STEPS))]
    dimension, place = steps[(len(asked.trail) - asked.given) % len(steps)]
    base = dict(best_of(asked.trail) or asked.start)
    base[dimension.name] = _at(dimension, place)
    for other, values in _conditions(dimension, asked.space).items():
        if base.get(other) not in values:
            base[other] = values[0]
    filled = {each.name: base.get(each.name, _at(each, 0)) for each in dimensions}
    return fitted(asked.space, filled)


def _conditions(dimension: Dimension, space: Space) -> Mapping[str, Sequence[str]]:
    """Other options' values in the space with which this option acts."""
    others = {each.name: each for each in space.dimensions}
    return {
        name: [value for value in sorted(values) if others[name].holds(value)]
        for name, values in (dimension.only_if or {}).items()
    }


def _at(dimension: Dimension, place: int) -> str:
    if dimension.values:
        return dimension.values[place]
    return number_text(dimension, dimension.at(_STEPS[place]))


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


def best_of(trail: Sequence[Try]) -> Options | None:
    """The options of the best try in the first objective; None if none was measured in full length."""
    measured = _measured(trail)
    return max(measured, key=lambda each: each.gains or ()).options if measured else None


def front_of(trail: Sequence[Try]) -> tuple[Try, ...]:
    """The tries in full length that no other one beats in every objective (Pareto), best in the first
    objective first.
    """
    measured = _measured(trail)
    front = [each for each in measured if not any(_dominates(other, each) for other in measured)]
    return tuple(sorted(front, key=lambda each: each.gains or (), reverse=True))


def _measured(trail: Sequence[Try]) -> list[Try]:
    return [each for each in trail if each.gains is not None and not each.pruned]


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
