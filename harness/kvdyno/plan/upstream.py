"""What an upstream ycsb cannot be asked for, refused before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from kvdyno.errors import SpecError
from kvdyno.model.axes import KEY_DISTRIBUTION, OPERATIONS, THETA
from kvdyno.model.experiment import Experiment

# The one skew for which it knows the sum over its 10^10 ranks.
_THETA = 0.99


def check_upstream(properties: Mapping[str, str], *, label: str, experiment: Experiment) -> str:
    """What a plan must say of a run by an upstream ycsb. Raises SpecError for what it cannot do."""
    where = str(experiment.path)
    if not int(properties[OPERATIONS]):
        raise SpecError(
            f"measure: expected operations for {label}, found none: an upstream ycsb has no other end",
            where=where,
            remedy="set phases.measure.operations",
        )
    theta = float(properties.get(THETA, _THETA))
    if properties.get(KEY_DISTRIBUTION) == "zipfian" and theta != _THETA:
        raise SpecError(
            f"zipfian_const: expected {_THETA} for {label}, found {theta}: with any other skew an upstream "
            "ycsb computes for minutes before it starts (an old one ignores it), and draws keys less skewed",
            where=where,
            remedy=f"set properties.zipfian_const: {_THETA} for all engines, or choose another distribution",
        )
    operations = int(properties[OPERATIONS])
    return f"{label}: an upstream ycsb does {operations:,} operations, without warm-up and limits of time"
