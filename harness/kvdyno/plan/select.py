"""select: a part of a plan, as `--only`, `--exclude` and `--repeat` ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from kvdyno.errors import UsageError
from kvdyno.model.axes import axis_of
from kvdyno.model.options import slug_value, value_text
from kvdyno.model.point import Plan, Point
from kvdyno.model.words import nearest, unknown

from .order import order_runs

#: As in an experiment file; more is a slip of the keyboard.
_REPETITIONS_MAX = 1000


def select(
    plan: Plan, *, only: Sequence[str] = (), exclude: Sequence[str] = (), repeat: int | None = None
) -> Plan:
    """The plan with the points that match any pattern of `only` and none of `exclude`.

    A pattern is a glob over slugs ("rocksdb.*.t2") or `axis=glob` ("dataset=1GiB"). `repeat` replaces the
    number of repetitions. Raises UsageError when a pattern matches nothing, or when nothing is left.
    """
    if repeat is not None and not 1 <= repeat <= _REPETITIONS_MAX:
        raise UsageError(f"expected 1 to {_REPETITIONS_MAX} repetitions, found {repeat}", where="--repeat")
    for flag, patterns in (("--only", only), ("--exclude", exclude)):
        for pattern in patterns:
            if not any(_matches(point, pattern) for point in plan.points):
                raise UsageError(_no_match(pattern, points=plan.points), where=f"{flag} {pattern}")
    points = tuple(
        point
        for point in plan.points
        if (not only or any(_matches(point, pattern) for pattern in only))
        and not any(_matches(point, pattern) for pattern in exclude)
    )
    if not points:
        raise UsageError("no point is left", where="--only, --exclude")
    repetitions = plan.experiment.repetitions if repeat is None else repeat
    return replace(
        plan,
        points=points,
        runs=order_runs(points, repetitions=repetitions, name=plan.experiment.name),
    )


def _matches(point: Point, pattern: str) -> bool:
    axis, equals, glob = pattern.partition("=")
    if not equals:
        return fnmatchcase(point.slug, pattern)
    return any(fnmatchcase(spelling, glob) for spelling in _spellings(point, axis))


def _spellings(point: Point, axis: str) -> tuple[str, ...]:
    """How a person may write the point's value on the axis."""
    if axis not in point.axes:
        return ()
    value = point.axes[axis]
    reading = axis_of(point.engine, axis)
    return (value_text(value), slug_value(reading, value)) if reading else (value_text(value),)


def _no_match(pattern: str, *, points: Sequence[Point]) -> str:
    axis, equals, glob = pattern.partition("=")
    if not equals:
        close = nearest(pattern, [point.slug for point in points])
        return "matches no point" + (
            f"; did you mean {close!r}?" if close else f"; one is {points[0].slug!r}"
        )
    axes = dict.fromkeys(name for point in points for name in point.axes)
    if axis not in axes:
        return unknown("axis", axis, axes)
    values = dict.fromkeys(_spellings(point, axis)[-1] for point in points if axis in point.axes)
    return unknown(f"value of {axis}", glob, values)
