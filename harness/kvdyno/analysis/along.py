"""Ratios along an axis: of one contender between two of its values, such as twelve threads over one, or of
one contender over another.

Runs of the two sides pair up where one sweep holds the same repetition of both, as runs of two contenders do
(ratios.py): each side takes the part of a contender.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from kvdyno.model.experiment import AxisValue, ClaimSpec
from kvdyno.model.results import Axis, resolve_label, select_rows
from kvdyno.model.units import human_bytes

from .ratios import ratios_to

ENGINE = "engine"
#: What names the step of a row: "32 MiB / 2 MiB".
STEP = "step"
_ABOVE, _BELOW = "above", "below"


def ratios_along(
    frame: pd.DataFrame, spec: ClaimSpec, *, axes: Sequence[Axis], margin: float
) -> pd.DataFrame:
    """Rows as those of `Analysis.ratios` with a column STEP, one per point and step of `spec`; no point is
    named by the axis of `spec.along`.

    `frame` has the rows of `Analysis.frame` that the claim covers.
    """
    measured = frame[(frame["metric"] == spec.metric) & (frame["phase"] == spec.phase)]
    parts = []
    for axis, *values in spec.steps:
        sides = [
            side_of(measured, axis, value, axes=axes).assign(label=name)
            for name, value in zip((_ABOVE, _BELOW), values, strict=True)
        ]
        both = pd.concat([side for side in sides if len(side)] or sides[:1], ignore_index=True)
        others = [each.name for each in axes if each.name != axis]
        found = ratios_to(both, axes=others, baselines=[_BELOW], metric=spec.metric, margin=margin).points
        parts.append(found.assign(**{STEP: step_text(axis, *values, axes=axes)}))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def side_of(table: pd.DataFrame, axis: str, value: AxisValue, *, axes: Sequence[Axis]) -> pd.DataFrame:
    """The rows of one side of a step: a contender, or a value of an axis at paper scale."""
    if axis == ENGINE:
        return table[table["label"] == resolve_label(str(value), table)]
    return select_rows(table, where={axis: (value,)}, axes=axes)


def step_text(axis: str, *values: AxisValue, axes: Sequence[Axis]) -> str:
    """A step's values as the records have them: "32 MiB / 2 MiB"."""
    known = next((each for each in axes if each.name == axis), None)
    return " / ".join(_text(value, known) for value in values)


def chain_text(axis: str, *values: AxisValue, axes: Sequence[Axis]) -> str:
    """All values that a claim compares: "log_limit 32 MiB / 2 MiB", "rocksdb / leveldb"."""
    chain = step_text(axis, *values, axes=axes)
    return chain if axis == ENGINE else f"{axis} {chain}"


def _text(value: AxisValue, axis: Axis | None) -> str:
    measured = min(axis.scaled.get(value, (value,)), key=str) if axis else value
    in_bytes = axis is not None and axis.unit == "byte" and isinstance(measured, (int, float))
    return human_bytes(float(measured)) if in_bytes else str(measured)
