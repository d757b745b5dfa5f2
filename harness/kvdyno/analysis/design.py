"""How a sweep was laid out, and what that does to its numbers: loads, repetitions added later, runs that were
lost.

Cautions for the report, and doubts about single points for claims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kvdyno.model.engine import Durability
from kvdyno.model.experiment import AxisValue
from kvdyno.model.point import Plan
from kvdyno.model.record import Record
from kvdyno.model.results import GRAVE, Caution

from . import cautions
from .evidence import Doubts, Objection
from .frame import axes_of, label_of
from .levels import LEAST_LOADS

Name = Callable[[Record], str]


def layout(records: Sequence[Record], *, name: Name) -> list[Caution]:
    """Cautions about loads that repetitions share, and about repetitions that were added; `name` is a
    readable name of a record's point.
    """
    return [*_loads(records, name=name), *_extended(records, name=name)]


def doubts(
    records: Sequence[Record],
    *,
    plan: Plan,
    label: str,
    other: str,
    within: Mapping[str, Collection[AxisValue]],
    runner_named: Collection[str],
) -> Doubts:
    """Why the numbers of a point cannot decide a claim about a contender and the `other` that it is compared
    with (itself, if with none): the first reason, or None. A point has one of the values `within` of an axis.

    Less durability is such a reason; more of it costs time and favours nothing.
    """
    labels = {label, other}

    def lies_there(axes: Mapping[str, AxisValue], place: Mapping[str, AxisValue]) -> bool:
        wanted = {**{name: (value,) for name, value in place.items() if name != "engine"}, **within}
        return all(axes[name] in values for name, values in wanted.items() if name in axes)

    def doubt(place: Mapping[str, AxisValue]) -> Objection | None:
        here = [r for r in records if label_of(r) in labels and lies_there(axes_of(r), place)]
        planned = sum(
            run.point.axes.get("engine") in labels and lies_there(run.point.axes, place) for run in plan.runs
        )
        lost = planned - sum(record.status == "ok" for record in here)
        if lost > 0:
            return Objection(f"{lost} of {planned} runs were lost", "measure them again with --force --only")
        found = [*cautions.conditions(here, runner_named=runner_named), *_extended(here, name=label_of)]
        grave = [Objection(each.message, each.remedy) for each in found if each.kind in GRAVE]
        promises = _promises(here)
        weaker = label in promises and other in promises and not promises[label].covers(promises[other])
        unlike = Objection(
            f"{label} promises less durability than {other}", "choose options that make the promises equal"
        )
        return next(iter([*grave, *([unlike] if weaker else [])]), None)

    return doubt


def durability(records: Sequence[Record]) -> list[Caution]:
    """A caution if contenders differ in what a crash may take from them; of those that do not say,
    nothing.
    """
    kinds = {label: _promise(promise) for label, promise in _promises(records).items()}
    if len(set(kinds.values())) <= 1:
        return []
    listed = "; ".join(f"{label}: {text}" for label, text in kinds.items())
    message = f"contenders differ in what an acknowledged write survives: {listed}"
    return [
        Caution("durability", message, "choose options that make the promises equal, or read both together")
    ]


def _promises(records: Sequence[Record]) -> Mapping[str, Durability]:
    """What each contender promises; those that do not say are left out."""
    found: dict[str, Durability] = {}
    for record in records:
        promise = record.outcome.engine.durability if record.outcome else None
        if promise is not None:
            found.setdefault(label_of(record), promise)
    return found


def _promise(durability: Durability) -> str:
    if durability.process == "lost":
        return "a killed process may lose writes"
    if durability.power == "kept":
        return "survives a power cut"
    within = durability.power_loss_seconds
    lost = "all not yet written back" if within is None else f"the last {within:g} s"
    return f"a power cut may lose {lost}" + (", in order" if durability.consistent_prefix else "")


def _loads(records: Sequence[Record], *, name: Name) -> list[Caution]:
    """A caution if too few loads stand behind a point's repetitions to estimate how much loads differ."""
    loads: dict[str, set[int]] = {}
    repetitions: dict[str, set[int]] = {}
    for record in records:
        if record.status == "ok" and record.point.dataset:
            loads.setdefault(name(record), set()).add(record.load)
            repetitions.setdefault(name(record), set()).add(record.repetition)
    few = {point: len(n) for point, n in loads.items() if len(n) < min(LEAST_LOADS, len(repetitions[point]))}
    if not few:
        return []
    least = min(few.values())
    count = "one load" if least == 1 else "two loads"
    where = "every point" if len(few) == len(loads) else cautions.some(few)
    message = f"repetitions start from {count} at {where}: differences between loads are not in the intervals"
    points = () if len(few) == len(loads) else tuple(few)
    return [Caution("loads", message, f"set `loads` to {LEAST_LOADS} or more", points)]


def _extended(records: Sequence[Record], *, name: Name) -> list[Caution]:
    """A caution if points have repetitions beyond those that their first sweep was asked for."""
    first: dict[str, Record] = {}
    for record in records:
        if record.repetitions_planned is not None:
            known = first.setdefault(record.point.identity, record)
            if record.started_at < known.started_at:
                first[record.point.identity] = record
    late = [
        r
        for r in records
        if (f := first.get(r.point.identity)) and r.repetition > (f.repetitions_planned or 0)
    ]
    if not late:
        return []
    points = tuple(dict.fromkeys(map(name, late)))
    where = cautions.some(points)
    message = (
        f"repetitions were added after results could be seen, at {where}: false decisions become more "
        "frequent (11 to 17 % instead of 5 %)"
    )
    return [Caution("extended", message, "measure all repetitions again in one sweep (--force)", points)]
