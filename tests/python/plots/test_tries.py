"""Figures of a search's tries: each mark is there, and equal tables give equal bytes."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from matplotlib.figure import Figure

import plots
from plots import Binding, tries
from plots.tries import Axis

CACHE = Axis("cache_size", ((0.0, "128 MiB"), (1.0, "8 GiB")))
BITS = Axis("filter_bits", ((0.0, "0"), (1.0, "20")))
TABLE = pd.DataFrame(
    {
        "x": [0.2, 0.5, 0.9, 0.4],
        "y": [0.9, 0.7, 0.3, 0.2],
        "front": [True, True, True, False],
        "cache_size": [0.1, math.nan, 0.9, 0.4],
        "filter_bits": [0.3, 0.4, 0.8, 0.1],
        "pair": ["cache_size, filter_bits"] * 4,
        "group": ["best", "best", "other", "other"],
    }
)


def bound(**changes: object) -> Binding:
    settings = {"x": "speed", "label": "latency", "unit": "ratio", "series": ("group",)}
    return Binding(**{**settings, "contenders": ("best", "other"), **changes})


DRAWN = {
    "front": (tries.front, bound(options={"reference_x": 1.0})),
    "parallel": (tries.parallel, bound(options={"axes": (CACHE, BITS)})),
    "pairs": (tries.pairs, bound(panels=("pair",), options={"axes": {TABLE["pair"][0]: (CACHE, BITS)}})),
}


def draw(name: str) -> Figure:
    drawing, binding = DRAWN[name]
    return drawing(TABLE, binding)


def texts(figure: Figure) -> set[str]:
    figure.canvas.draw()
    return {artist.get_text() for artist in figure.findobj(matplotlib.text.Text)}


def test_the_front_is_a_staircase_under_which_the_other_tries_lie() -> None:
    figure = draw("front")
    (stairs,) = [line for line in figure.axes[0].get_lines() if line.get_drawstyle() == "steps-pre"]
    assert list(stairs.get_xdata()) == [0.2, 0.5, 0.9]
    assert list(stairs.get_ydata()) == [0.9, 0.7, 0.3]
    assert {"speed", "latency", "best", "other"} <= texts(figure)


def test_tries_stand_at_whole_numbers_where_x_has_no_reference() -> None:
    figure = tries.front(TABLE.assign(x=[1, 2, 3, 4]), bound())
    assert all(float(tick).is_integer() for tick in figure.axes[0].get_xticks())


def test_every_option_has_an_axis_with_its_texts_and_every_try_a_line() -> None:
    figure = draw("parallel")
    assert {"cache_size", "filter_bits", "128 MiB", "8 GiB", "20"} <= texts(figure)
    lines = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2 and line.get_marker()]
    assert sum(line.get_marker() in ("o", "s") for line in lines) == len(TABLE)


def test_a_pair_of_options_has_one_to_the_right_and_one_upwards() -> None:
    axes = draw("pairs").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("cache_size", "filter_bits")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "20"]


@pytest.mark.parametrize("name", DRAWN)
def test_equal_tries_give_equal_bytes(name: str, tmp_path: Path) -> None:
    first, second = (plots.save(draw(name), tmp_path / stem) for stem in ("a", "b"))
    assert first.svg.read_bytes() == second.svg.read_bytes()
    assert first.png.read_bytes() == second.png.read_bytes()
