"""What ends each phase of a point: a volume if its mix writes, else operations, bytes written or seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kvdyno.errors import SpecError
from kvdyno.model import axes as axis_words
from kvdyno.model.experiment import AxisValue, Experiment, Phases
from kvdyno.model.options import value_text

from .mix import operations_for, write_share
from .resolve import Resolved


def with_ends(resolved: Resolved, *, experiment: Experiment, records: int | None) -> Resolved:
    """The point with the driver properties that end its phases; a point that measures a load is unchanged.

    A mix that writes ends by its volume where there is one, the same operations for every engine. A volume
    means nothing to a mix that only reads: it loses that axis. Raises SpecError when nothing ends the mix.
    """
    if resolved.measures_load:
        return resolved
    asked = resolved.axes.get(axis_words.VOLUME, experiment.phases.measure_volume)
    writes = write_share(resolved) > 0
    if asked is None or records is None or not writes:
        axes = {axis: value for axis, value in resolved.axes.items() if axis != axis_words.VOLUME}
        ends = _limits(experiment.phases, scale=experiment.profile.scale)
        resolved = replace(resolved, axes=axes, notes=(*resolved.notes, *_notes(resolved, ends, writes)))
        _demand_end(resolved, ends, where=str(experiment.path))
    else:
        count = operations_for(float(asked), resolved, records=records)
        ends = {axis_words.OPERATIONS: count, axis_words.MEASURE_SECONDS: 0, axis_words.MEASURE_BYTES: 0}
    ends |= {
        axis_words.WARMUP_SECONDS: experiment.phases.warmup_seconds,
        axis_words.DRAIN: experiment.phases.drain and not experiment.phases.recovery,
    }
    known = resolved.engine.description.property
    texts = {name: value_text(value) for name, value in ends.items() if known(name)}
    return replace(resolved, properties={**resolved.properties, **texts})


def _limits(phases: Phases, *, scale: float) -> dict[str, AxisValue]:
    """Operations and bytes at the profile's scale; seconds do not scale. Zero: no limit."""
    return {
        axis_words.OPERATIONS: _scaled_count(phases.measure_operations, scale=scale),
        axis_words.MEASURE_SECONDS: phases.measure_seconds or 0,
        axis_words.MEASURE_BYTES: _scaled_count(phases.measure_bytes, scale=scale),
    }


def _scaled_count(count: int | None, *, scale: float) -> int:
    return max(1, round(count * scale)) if count else 0


def _notes(resolved: Resolved, ends: Mapping[str, AxisValue], writes: bool) -> tuple[str, ...]:
    timed = resolved.engine.description.property(axis_words.MEASURE_SECONDS)
    if not (timed and writes and ends[axis_words.MEASURE_SECONDS]):
        return ()
    name = resolved.axes.get(axis_words.WORKLOAD, "the mix")
    if operations := ends[axis_words.OPERATIONS]:
        return (f"{name} writes: an engine that time stops before {operations} operations does less work",)
    return (f"{name} writes and ends by time: engines do different amounts of work",)


def _demand_end(resolved: Resolved, ends: Mapping[str, AxisValue], *, where: str) -> None:
    counted = resolved.engine.description.property(axis_words.OPERATIONS)
    if counted and not (ends[axis_words.OPERATIONS] or ends[axis_words.MEASURE_SECONDS]):
        raise SpecError(
            f"measure: expected operations or seconds for workload {resolved.axes.get(axis_words.WORKLOAD)}, "
            "found a volume alone, which ends only mixes that write",
            where=where,
            remedy="set phases.measure.seconds beside the volume",
        )
