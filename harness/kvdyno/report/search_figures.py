"""The figures of a search's report: its front, all candidates on parallel axes, and pairs of options."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

import plots
from kvdyno.model.options import display_options
from kvdyno.model.search import Dimension, SearchFound, Try
from plots import Binding, tries
from plots.tries import Axis
from plots.units import three_digits

from .pictures import embedded

#: Groups of tries by their gain in the first objective, in the order of colours.
_BEST, _MIDDLE, _LAST = "best third", "middle third", "last third"
_FRONT, _FULL, _SHORT = "front", "others", "short run alone"
#: So many of the most important options are drawn in pairs.
_PAIRED = 3
_TICKS = 3


@dataclass(frozen=True)
class Picture:
    """A figure's markup for a page, the files for Markdown and for LaTeX, and what it shows."""

    id: str
    title: str
    caption: str
    markup: str
    svg: Path
    pdf: Path


def draw_search(found: SearchFound, *, folder: Path) -> tuple[Picture, ...]:
    """Draw what the tries suffice for, into the folder, which exists. Raises OSError."""
    measured = [one for one in found.tries if one.gains is not None]
    if not measured:
        return ()
    drawn = [_front(found, measured), _parallel(found, measured), *_pairs(found, measured)]
    return tuple(_saved(each, folder=folder) for each in drawn)


@dataclass(frozen=True)
class _Drawn:
    id: str
    title: str
    caption: str
    draw: Callable[[pd.DataFrame, Binding], Figure]
    table: pd.DataFrame
    binding: Binding


def _saved(each: _Drawn, *, folder: Path) -> Picture:
    files = plots.save(each.draw(each.table, each.binding), folder / f"search-{each.id}")
    alt = f"{each.title}. {each.caption}"
    markup = embedded(files.svg, name=f"picture-{each.id}", alt=alt)
    return Picture(each.id, each.title, each.caption, markup, files.svg, files.pdf)


def _front(found: SearchFound, measured: Sequence[Try]) -> _Drawn:
    """Two objectives against each other, or the only one over the tries."""
    metrics = [each.metric for each in found.objectives]
    two = len(metrics) > 1
    rows = [
        {
            "x": _times(one, 0) if two else float(one.number),
            "y": _times(one, 1 if two else 0),
            "front": two and one.number in found.front,
            "group": _FRONT if one.number in found.front else _SHORT if one.pruned else _FULL,
        }
        for one in measured
    ]
    first = f"{metrics[0]}, times better than the default"
    binding = Binding(
        x=first if two else "try",
        label=f"{metrics[1]}, times better" if two else f"{metrics[0]}, times better",
        unit="ratio", series=("group",), contenders=(_FRONT, _FULL, _SHORT), reference=1.0,
        options={"reference_x": 1.0} if two else {},
    )  # fmt: skip
    caption = (
        "Above and to the right is better. Dashed lines are the default. Drawn are the first two objectives."
        if two
        else "Above is better; the dashed line is the default."
    )
    title = "Front of the tries" if two else "Gain of each try"
    return _Drawn("front", title, caption, tries.front, pd.DataFrame(rows), binding)


def _parallel(found: SearchFound, measured: Sequence[Try]) -> _Drawn:
    """Every option's axis, then the gain's; better tries lie on top."""
    dimensions = found.space.dimensions
    gains = [_gain(one) for one in measured]
    low, high = min(gains), max(gains)
    spread = (high - low) or 1.0
    gain_name = f"{found.objectives[0].metric}, times better"
    groups = _thirds(measured)
    rows: list[Mapping[str, Any]] = [
        {
            **{each.name: _place(each, one) for each in dimensions},
            gain_name: (_gain(one) - low) / spread,
            "group": groups[one.number],
        }
        for one in sorted(measured, key=_gain)
    ]
    ends = ((0.0, three_digits(math.exp(low))), (1.0, three_digits(math.exp(high))))
    axes = (*(_axis(each, found) for each in dimensions), Axis(gain_name, ends if high > low else ends[:1]))
    binding = Binding(series=("group",), contenders=(_BEST, _MIDDLE, _LAST), options={"axes": axes})
    caption = (
        "A line is a try; it has gaps where an option does not act. Where lines of the best third run "
        "together, an option matters."
    )
    return _Drawn("parallel", "Options of all tries", caption, tries.parallel, pd.DataFrame(rows), binding)


def _pairs(found: SearchFound, measured: Sequence[Try]) -> Iterator[_Drawn]:
    """The most important options in the first objective, two by two; nothing with fewer than two."""
    named = {each.name: each for each in found.space.dimensions}
    top = [named[name] for name in list(found.importances.get(found.objectives[0].metric, ()))[:_PAIRED]]
    groups = _thirds(measured)
    axes: dict[str, tuple[Axis, Axis]] = {}
    rows = []
    for across, upwards in itertools.combinations(top, 2):
        pair = f"{across.name}, {upwards.name}"
        axes[pair] = (_axis(across, found), _axis(upwards, found))
        rows += [
            {
                "pair": pair,
                "x": _place(across, one),
                "y": _place(upwards, one),
                "group": groups[one.number],
            }
            for one in sorted(measured, key=_gain)
        ]
    if rows:
        binding = Binding(
            series=("group",), panels=("pair",), contenders=(_BEST, _MIDDLE, _LAST), options={"axes": axes}
        )
        caption = (
            f"The most important options for {found.objectives[0].metric}, two by two. Two options interact "
            "if the best third lies along a diagonal or in a corner; it lies along an edge if one option "
            "alone decides."
        )
        table = pd.DataFrame(rows)
        yield _Drawn("interactions", "Interactions of options", caption, tries.pairs, table, binding)


def _thirds(measured: Sequence[Try]) -> Mapping[int, str]:
    """The group of each try, by its number."""
    ranked = sorted(measured, key=_gain, reverse=True)
    names = (_BEST, _MIDDLE, _LAST)
    return {one.number: names[3 * rank // len(ranked)] for rank, one in enumerate(ranked)}


def _gain(one: Try) -> float:
    return one.gains[0] if one.gains else math.nan


def _times(one: Try, objective: int) -> float:
    return math.exp(one.gains[objective]) if one.gains else math.nan


def _place(dimension: Dimension, one: Try) -> float:
    """Where the try's value lies on the option's axis; NaN if it has none."""
    text = one.options.get(dimension.name)
    if text is None:
        return math.nan
    if dimension.values:
        return dimension.values.index(text) / max(1, len(dimension.values) - 1)
    return dimension.place(float(text))


def _axis(dimension: Dimension, found: SearchFound) -> Axis:
    """The option's axis, with all its values, or the ends and the middle of its range."""
    if dimension.values:
        last = max(1, len(dimension.values) - 1)
        marks = [(place / last, text) for place, text in enumerate(dimension.values)]
    else:
        marks = [(place / (_TICKS - 1), _at(dimension, place / (_TICKS - 1))) for place in range(_TICKS)]
    described = found.space.engine.description
    ticks = ((at, display_options(described, {dimension.name: text})[dimension.name]) for at, text in marks)
    return Axis(dimension.name, tuple(ticks))


def _at(dimension: Dimension, place: float) -> str:
    low, high = dimension.low, dimension.high
    value = low * (high / low) ** place if dimension.log else low + place * (high - low)
    return str(round(value)) if dimension.whole else f"{value:.4g}"
