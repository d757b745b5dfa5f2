"""A contender over itself: its ratio between two values of an axis, such as twelve threads over one.

Runs of the two values pair up where one sweep holds the same repetition of both, as runs of two contenders do
(ratios.py): each value takes the part of a contender.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from kvdyno.model.experiment import ClaimSpec
from kvdyno.model.results import Axis, select_rows

from .ratios import ratios_to

_ABOVE, _BELOW = "above", "below"


def ratios_along(
    frame: pd.DataFrame, spec: ClaimSpec, *, axes: Sequence[Axis], margin: float
) -> pd.DataFrame:
    """Rows as those of `Analysis.ratios`, one per point; no point is named by the axis of `spec.along`.

    `frame` has the rows of `Analysis.frame` that the claim covers, all of one contender.
    """
    assert spec.steps is not None
    axis, *values = spec.steps
    measured = frame[(frame["metric"] == spec.metric) & (frame["phase"] == spec.phase)]
    sides = [
        select_rows(measured, where={axis: (value,)}, axes=axes).assign(label=side)
        for side, value in zip((_ABOVE, _BELOW), values, strict=True)
    ]
    others = [each.name for each in axes if each.name != axis]
    both = pd.concat(sides, ignore_index=True)
    found = ratios_to(both, axes=others, baselines=[_BELOW], metric=spec.metric, margin=margin).points
    label = frame["label"].iloc[0] if len(frame) else spec.engine
    return found.assign(label=label, baseline=label)
