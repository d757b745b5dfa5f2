"""The contrast of a 2 x 2 design: how a change's ratio differs between two starting points.

(together / best) / (alone / default), each value of one repetition: logarithms are combined inside the
repetition, which cancels what disturbs it, and averaged as all ratios are (levels.py).
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from .estimate import t_interval
from .frame import BLOCK
from .levels import mean_of

_SIGNS = (1.0, -1.0, -1.0, 1.0)


def contrast(
    rows: pd.DataFrame, *, arms: tuple[str, str, str, str]
) -> tuple[float, float | None, float | None, int] | None:
    """The contrast of four labels (together, best, alone, default), its 95 % interval, and n.

    `rows` hold one metric at one point, as `Analysis.frame` does. None unless one repetition or more has a
    positive value of each.
    """
    blocks = rows.pivot_table(index=list(BLOCK), columns="label", values="value")
    if not set(arms) <= set(blocks.columns):
        return None
    values = blocks[list(arms)].dropna()
    if not len(values) or not (values > 0).all(axis=None):
        return None
    logs = np.log(values.to_numpy()) @ np.array(_SIGNS)
    loads = rows.drop_duplicates(list(BLOCK)).set_index(list(BLOCK))["load"]
    mean = mean_of(logs, loads=[loads[block] for block in values.index])
    interval = t_interval(mean, np.exp(logs))
    return math.exp(mean.value), interval.low, interval.high, mean.n
