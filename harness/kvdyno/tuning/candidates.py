"""Candidates of a space: drawn at random, made to fit into memory, and without options that mean nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from kvdyno.model.options import value_text
from kvdyno.model.search import Dimension, Options, Space

#: Numbers have so many binary digits after their first.
_STEP_BITS = 4
#: Which share of numbers varies to anywhere in the range and to its ends, and how far the others go.
_ANYWHERE, _ENDS, _NEAR = 0.35, 0.25, 0.15


def drawn(space: Space, rng: random.Random) -> Options:
    """A candidate with independent options; numbers that span decades are drawn by their logarithm."""
    return fitted(space, {each.name: _draw(each, rng) for each in space.dimensions})


def varied(space: Space, options: Options, rng: random.Random, *, count: int) -> Options:
    """The candidate with `count` of its options changed: to another value; to an end of the range, nearby, or
    anywhere in it. Options that act only then are drawn.
    """
    found = filled(space, options, rng)
    for each in rng.sample(space.dimensions, count):
        found[each.name] = _vary(each, found[each.name], rng)
    return fitted(space, found)


def able(space: Space) -> tuple[Dimension, ...]:
    """The options that act beside some candidate of the space."""
    return tuple(each for each in space.dimensions if all(_conditions(each, space).values()))


def moved(space: Space, options: Options, dimension: Dimension, text: str) -> Options:
    """The candidate with one option set, and with what that option acts beside; `options` has all names."""
    found = {**options, dimension.name: text}
    for other, values in _conditions(dimension, space).items():
        if found[other] not in values:
            found[other] = values[0]
    return fitted(space, found)


def _conditions(dimension: Dimension, space: Space) -> Mapping[str, Sequence[str]]:
    """Other options' values in the space with which this option acts."""
    others = {each.name: each for each in space.dimensions}
    return {
        name: [value for value in sorted(values) if others[name].holds(value)]
        for name, values in (dimension.only_if or {}).items()
    }


def filled(space: Space, options: Options, rng: random.Random) -> dict[str, str]:
    """The candidate with values of all options, those that do not act drawn."""
    return {each.name: _draw(each, rng) for each in space.dimensions} | dict(options)


def _vary(dimension: Dimension, text: str, rng: random.Random) -> str:
    how = rng.random()
    if dimension.values or how < _ANYWHERE:
        return _draw(dimension, rng)
    to_an_end = how < _ANYWHERE + _ENDS
    place = rng.choice((0.0, 1.0)) if to_an_end else rng.gauss(dimension.place(float(text)), _NEAR)
    return number_text(dimension, dimension.at(min(max(place, 0.0), 1.0)))


def number_text(dimension: Dimension, value: float) -> str:
    """The number as an option's text, inside the range. It is rounded to a 32nd to a 16th of itself, so that
    nearly equal candidates are one, and sizes are round.
    """
    step = 2.0 ** (math.floor(math.log2(abs(value))) - _STEP_BITS) if value else 1.0
    rounded = round(value / step) * step
    inside = min(max(rounded, dimension.low), dimension.high)
    return value_text(round(inside) if dimension.whole else float(f"{inside:.6g}"))


def placed(space: Space, options: Options) -> Options:
    """A preset's options as a candidate: numbers are moved into their ranges, and what the space does not
    list is left out.
    """
    found: dict[str, str] = {}
    for each in space.dimensions:
        text = options.get(each.name)
        if text is None or (each.values and text not in each.values):
            continue
        if not each.values:
            inside = min(max(float(text), each.low), each.high)
            text = value_text(round(inside) if each.whole else inside)
        found[each.name] = text
    return fitted(space, found)


def fitted(space: Space, options: Options) -> Options:
    """The candidate without options that do not act, its memory scaled down to what is allowed.

    What takes memory shrinks in proportion, each not below its range's end, until all fits.
    """
    acting = {
        each.name: options[each.name]
        for each in space.dimensions
        if each.name in options and each.acts(options)
    }
    takers = [each for each in space.dimensions if each.memory and each.name in acting and not each.values]
    for _ in range(len(takers) + 1):
        taken = sum(each.memory * float(acting[each.name]) for each in takers)
        if taken <= space.memory_bytes:
            break
        movable = [each for each in takers if float(acting[each.name]) > each.low]
        shrinking = sum(each.memory * float(acting[each.name]) for each in movable)
        share = max(0.0, (space.memory_bytes - (taken - shrinking)) / shrinking)
        acting |= {
            each.name: value_text(max(math.ceil(each.low), math.floor(share * float(acting[each.name]))))
            for each in movable
        }
    return acting


def _draw(dimension: Dimension, rng: random.Random) -> str:
    if dimension.values:
        return rng.choice(dimension.values)
    if dimension.log:
        return number_text(
            dimension, math.exp(rng.uniform(math.log(dimension.low), math.log(dimension.high)))
        )
    if dimension.whole:
        return value_text(rng.randint(math.ceil(dimension.low), math.floor(dimension.high)))
    return number_text(dimension, rng.uniform(dimension.low, dimension.high))
