"""What a driver describes of a run's costs: memory, time and disk, before anything has run."""

from __future__ import annotations

import math
from typing import Literal

from kvdyno.model.engine import Cost

from .resolve import Resolved


def described_cost(resolved: Resolved, of: Literal["memory", "time", "disk"]) -> float:
    """Bytes at a run's peak, or seconds; 0 where the driver describes none."""
    costs = (cost for cost in resolved.engine.description.costs if cost.of == of)
    return sum(_amount(resolved, cost) for cost in costs)


def _amount(resolved: Resolved, cost: Cost) -> float:
    if any(str(resolved.option_in_force(name)) != value for name, value in cost.where.items()):
        return 0
    return cost.amount * math.prod(_factor(resolved, name) for name in cost.times)


def _factor(resolved: Resolved, name: str) -> float:
    option = resolved.option_in_force(name)
    return float(option) if isinstance(option, (int, float)) else resolved.number(name)
