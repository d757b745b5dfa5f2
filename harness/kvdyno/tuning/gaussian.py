"""A model of gains, a Gaussian process: what to try next, and what the tries so far promise."""

from __future__ import annotations

import contextlib
import math
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kvdyno.model.search import Dimension, Options, Space, Try

from .candidates import able, drawn, filled, moved, number_text, varied
from .question import Question, measured, penalised

Matrix = NDArray[np.float64]

#: Candidates that a model is asked about: drawn, and of each of the best tries so many with 1 to 3 changes.
_DRAWN, _BEST, _VARIED, _CHANGES = 300, 3, 40, (1, 2, 3)
#: Bounds of how far along a range gains keep together, and of the share of their variance that is noise.
#: Shorter reaches would explain noise: tries are few for the number of options.
_REACH, _NOISE = (0.5, 20.0), (1e-3, 0.5)
#: Where an option that does not act lies on its range.
_INACTIVE = 0.5
#: How far along its range an option is moved before the first model. At the end itself memory may run out.
_FAR = 0.9


def gaussian(asked: Question) -> Options:
    """Each option once moved far on the best so far. Then the candidate with the largest expected improvement
    over the best gain that the model believes in (Jones et al., "Efficient global optimization", Journal of
    Global Optimization 13, 1998). With several objectives, each try looks at another weighting (ParEGO:
    Knowles, IEEE Transactions on Evolutionary Computation 10(1), 2006).
    """
    rng = random.Random(f"{asked.seed}/{len(asked.trail)}")
    known = penalised(asked.trail)
    tried = [options for options, _ in known]
    number = len(asked.trail) - asked.given
    if number < len(able(asked.space)) and (screened := _screened(asked, number, rng)) not in tried:
        return screened
    if not known:
        return drawn(asked.space, rng)
    values = _weighted(np.array([*(each for _, each in known), np.zeros(len(known[0][1]))]), rng)
    best = [tried[place] for place in np.argsort(-values[:-1])[:_BEST]]
    offered = [each for each in _offered(asked.space, best, rng) if each not in tried]
    if not offered:
        return drawn(asked.space, rng)
    seen = np.vstack([_places(asked.space, tried), _places(asked.space, [asked.start])])
    return offered[int(np.argmax(_improvement(seen, values, _places(asked.space, offered))))]


def with_beliefs(asked: Question) -> tuple[Try, ...]:
    """The trail. Tries that were measured in full length have gains as the model believes in them after all
    repetitions.

    The largest of noisy gains is too large, because noise helped to make it so (the winner's curse). The
    model takes that back, as far as repetitions and neighbours show it.
    """
    full = [one for one in measured(asked.trail) if one.each]
    if not full:
        return tuple(asked.trail)
    rows = [(one.options, gains) for one in full for gains in one.each]
    seen = _places(asked.space, [*(options for options, _ in rows), asked.start])
    known = np.array([*(gains for _, gains in rows), np.zeros(len(rows[0][1]))])
    mine = _places(asked.space, [one.options for one in full])
    with _steadily():
        columns = [_model(seen, values).predict(mine) for values in known.T]
    found = {
        one.number: tuple(map(float, gains))
        for one, gains in zip(full, zip(*columns, strict=True), strict=True)
    }
    return tuple(replace(one, believed=found.get(one.number)) for one in asked.trail)


def _screened(asked: Question, number: int, rng: random.Random) -> Options:
    """The best so far with the option of that number, in an order by the seed, far along its range or at
    another value. It shows what an option does beside good ones, and draws of all options rarely are good.
    """
    options = able(asked.space)
    dimension = random.Random(asked.seed).sample(options, len(options))[number]
    base = filled(asked.space, asked.best, rng)
    return moved(asked.space, base, dimension, _far(dimension, asked.best.get(dimension.name), rng))


def _far(dimension: Dimension, text: str | None, rng: random.Random) -> str:
    if dimension.values:
        return rng.choice([each for each in dimension.values if each != text] or dimension.values)
    place = 0.0 if text is None else dimension.place(float(text))
    return number_text(dimension, dimension.at(_FAR if place < 0.5 else 1 - _FAR))


def _weighted(gains: Matrix, rng: random.Random) -> Matrix:
    """One number for each row of gains: the only objective, or the augmented Chebyshev sum of ParEGO."""
    if gains.shape[1] == 1:
        return gains[:, 0]
    draws = np.array([rng.expovariate(1) for _ in range(gains.shape[1])])
    spread = np.ptp(gains, axis=0)
    scaled = (gains - gains.min(axis=0)) / np.where(spread > 0, spread, 1) * draws / draws.sum()
    found: Matrix = scaled.min(axis=1) + 0.05 * scaled.sum(axis=1)
    return found


def _offered(space: Space, best: Sequence[Options], rng: random.Random) -> Iterator[Options]:
    for _ in range(_DRAWN):
        yield drawn(space, rng)
    for options in best:
        for count in _CHANGES:
            for _ in range(_VARIED):
                yield varied(space, options, rng, count=min(count, len(space.dimensions)))


def _improvement(seen: Matrix, values: Matrix, offered: Matrix) -> Matrix:
    """How far each offered candidate is expected to be above the best that the model believes in. The noise
    of measuring is a part of the model, and of no candidate's promise.
    """
    with _steadily():
        model = _model(seen, values)
        best = float(model.predict(seen).max())
        means, deviations = model.predict(offered, return_std=True)
    scale = float(np.std(values)) or 1.0
    noise = math.sqrt(model.kernel_.k2.noise_level) * scale
    sure = np.sqrt(np.maximum(deviations**2 - noise**2, 1e-12))
    ahead = (means - best) / sure
    normal = scipy.stats.norm
    found: Matrix = sure * (ahead * normal.cdf(ahead) + normal.pdf(ahead))
    return found


def _model(seen: Matrix, values: Matrix) -> Any:
    """scikit-learn's Gaussian process, fitted."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    reach = Matern(np.ones(seen.shape[1]), _REACH, nu=2.5)
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * reach + WhiteKernel(0.05, _NOISE)
    return GaussianProcessRegressor(kernel, normalize_y=True).fit(seen, values)


@contextlib.contextmanager
def _steadily() -> Iterator[None]:
    """One thread: sums come in the same order, so that a search goes on as if it had never stopped."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bound that is reached is no mistake
        yield


def _places(space: Space, candidates: Sequence[Options]) -> Matrix:
    return np.array([[x for each in space.dimensions for x in _place(each, one)] for one in candidates])


def _place(dimension: Dimension, options: Options) -> Sequence[float]:
    """A number's place in its range. Two values are the ends of one; more are corners, one for each."""
    text, values = options.get(dimension.name), dimension.values
    if len(values) > 2:
        return [float(text == value) for value in values]
    if text is None:
        return [_INACTIVE]
    return [float(text == values[-1]) if values else dimension.place(float(text))]
