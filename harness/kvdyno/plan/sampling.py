"""How often a run's series is sampled: finer where the measured window is short."""

from __future__ import annotations

from dataclasses import replace

from kvdyno.model.axes import RECORDS, SERIES_INTERVAL
from kvdyno.model.options import value_text

from .estimate import window_seconds
from .mix import record_bytes
from .resolve import Resolved

SAMPLES = 50  # intervals in a window, or more
# Seconds. Samples read counters of engine and kernel: ten a second stay below a hundredth of a CPU, and every
# engine pays alike. Long windows keep the driver's own interval, the longest.
STEPS = (0.1, 0.2, 0.5)


def with_sampling(resolved: Resolved) -> Resolved:
    """The point with the longest interval that gives its series SAMPLES intervals, or the shortest that there
    is; unchanged if the driver's own interval is short enough, or if the point sets one.

    The window's length is an estimate that no engine takes part in: engines are sampled alike.
    """
    described = resolved.engine.description.property(SERIES_INTERVAL)
    if described is None or SERIES_INTERVAL in resolved.properties:
        return resolved
    size = int(resolved.number(RECORDS)) * record_bytes(resolved)
    longest = window_seconds(resolved, loaded_bytes=size) / SAMPLES
    step = max((step for step in STEPS if step <= longest), default=STEPS[0])
    if not longest or resolved.number(SERIES_INTERVAL) <= max(step, longest):
        return resolved
    return replace(resolved, properties={**resolved.properties, SERIES_INTERVAL: value_text(step)})
