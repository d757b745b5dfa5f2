"""Colours can be distinguished by all kinds of colour vision, on white paper and on a dark screen."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from plots import Binding, style

Colour = NDArray[np.float64]

#: Machado, Oliveira & Fernandes, "A physiologically-based model for simulation of color vision deficiency",
#: IEEE Transactions on Visualization and Computer Graphics 15, 2009: severity 1, in linear RGB.
VISIONS = {
    "usual": np.eye(3),
    "protan": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                        [-0.003882, -0.048116, 1.051998]]),
    "deutan": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                        [-0.011820, 0.042940, 0.968881]]),
    "tritan": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                        [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
#: To Oklab (Ottosson, "A perceptual color space for image processing", 2020), from linear RGB.
CONES = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                  [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def linear(colour: str) -> Colour:
    parts = np.array(to_rgb(colour))
    return np.asarray(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4))


def distance(one: str, other: str, vision: str) -> float:
    """How far apart two colours look: about 0.02 is just noticed."""
    matrix = VISIONS[vision]
    first, second = (
        LAB @ np.cbrt(np.clip(CONES @ np.clip(matrix @ linear(c), 0, 1), 0, None)) for c in (one, other)
    )
    return float(np.linalg.norm(first - second))


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio; parts of a picture need 3."""
    low, high = sorted(float(linear(c) @ np.array([0.2126, 0.7152, 0.0722])) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


PAPER, DARK = style.tones()["paper"]


@pytest.mark.parametrize("ground", [PAPER, DARK])
def test_contenders_stand_out_from_the_ground(ground: str) -> None:
    assert min(contrast(colour, ground) for colour in style.COLOURS) >= 3
    assert min(contrast(colour, ground) for colour in style.PARTS) >= 2.9


def test_verdicts_stand_out_from_their_ground() -> None:
    assert min(contrast(light, PAPER) for light, _ in style.VERDICTS.values()) >= 4.5
    assert min(contrast(dark, DARK) for _, dark in style.VERDICTS.values()) >= 4.5


@pytest.mark.parametrize("vision", VISIONS)
def test_contenders_can_be_distinguished(vision: str) -> None:
    assert min(distance(a, b, vision) for a, b in combinations(style.COLOURS[:4], 2)) >= 0.11
    assert min(distance(a, b, vision) for a, b in combinations(style.COLOURS, 2)) >= 0.04


@pytest.mark.parametrize("ground", [0, 1])
@pytest.mark.parametrize("vision", VISIONS)
def test_better_and_worse_can_be_distinguished(vision: str, ground: int) -> None:
    up, down = style.VERDICTS["up"][ground], style.VERDICTS["down"][ground]
    assert distance(up, down, vision) >= 0.11


def test_no_verdict_looks_like_a_contender() -> None:
    verdicts = [colour for pair in style.VERDICTS.values() for colour in pair]
    assert min(distance(v, c, "usual") for v in verdicts for c in style.COLOURS) >= 0.07


def test_a_contender_has_its_colour_by_its_place_in_the_experiment() -> None:
    table = pd.DataFrame({"label": ["b", "a"], "value": [1.0, 2.0]})
    looks = style.looks(table, Binding(series=("label",), contenders=("c", "b", "a")))
    assert [look.name for look in looks.values()] == ["b", "a"]
    chosen = style.colours(("c", "b", "a"))
    assert [look.colour for look in looks.values()] == [chosen["b"], chosen["a"]] == list(style.COLOURS[1:3])


def test_many_contenders_repeat_the_colours() -> None:
    assert len(style.colours(map(str, range(11)))) == 11
