"""Published numbers as an experiment names them: keys of documents, typed as its axes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from kvdyno.model.axes import axis_of
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import AxisValue, FigureSpec, Overlay, PublishedValue, TableSpec
from kvdyno.model.options import parse_value
from kvdyno.model.published import UNITS, PublishedClaim, PublishedDocument, PublishedNumbers
from kvdyno.model.words import unknown

Documents = Mapping[str, PublishedDocument]
ItemT = TypeVar("ItemT", PublishedClaim, PublishedNumbers)


def overlay_of(
    key: str,
    *,
    documents: Documents,
    labels: Sequence[str],
    engines: Sequence[Engine],
    grid: Mapping[str, Sequence[AxisValue]],
) -> Overlay:
    """The numbers that `key` names ("evendb/log-limit"), for an experiment with these engines and this grid,
    of all profiles together. Raises ValueError with what was expected and the nearest name.
    """
    document = _document(key, documents)
    numbers = _named(key, {each.id: each for each in document.numbers}, noun="published number")
    if numbers.metric is None:
        raise ValueError(f"{key}: expected numbers that a metric measures, found {numbers.what!r}")
    for axis in numbers.axes:
        if axis not in grid:
            raise ValueError(f"{key}: {unknown('axis', axis, grid)}")
    values = [
        PublishedValue(engine=engine, axes=_typed(axes, engines), value=value)
        for engine, axes, value in numbers.placed()
    ]
    if not any(each.engine in labels for each in values):
        raise ValueError(f"{key}: {unknown('engine', values[0].engine, labels)}")
    known = tuple(each for each in values if all(_is_met(at, grid[axis]) for axis, at in each.axes.items()))
    if not known:
        raise ValueError(f"{key}: expected a value at one of the grid's points, found none")
    return _overlay(document, numbers, known)


def _is_met(value: AxisValue, values: Sequence[AxisValue]) -> bool:
    """Whether an axis has the value; one that only engines know that are not built may have any."""
    return not values or value in values


def _overlay(
    document: PublishedDocument, numbers: PublishedNumbers, values: tuple[PublishedValue, ...]
) -> Overlay:
    return Overlay(
        short=document.short,
        source=numbers.source,
        metric=numbers.metric or "",
        unit=UNITS[numbers.unit][0],
        ratio_to=numbers.ratio_to,
        values=values,
    )


def overlay_mistake(spec: FigureSpec | TableSpec, overlay: Overlay) -> str | None:
    """Why a figure or table cannot show these numbers beside its own; None if it can."""
    if spec.metric != overlay.metric:
        return f"{spec.published}: expected the metric {overlay.metric}, found {spec.metric}"
    if overlay.ratio_to is not None and overlay.ratio_to != spec.ratio_to:
        return f"{spec.published}: expected ratio_to: {overlay.ratio_to}, found {spec.ratio_to or 'none'}"
    if overlay.ratio_to is None and spec.ratio_to is not None and spec.ratio_to not in overlay.engines:
        return f"{spec.published}: {unknown('engine', spec.ratio_to, sorted(overlay.engines))}"
    return None


def claim_of(key: str, *, documents: Documents) -> PublishedClaim:
    """The claim that `key` names ("evendb/p-composite"). Raises ValueError with the nearest name."""
    claims = {each.id: each for each in _document(key, documents).claims}
    return _named(key, claims, noun="published claim")


def _document(key: str, documents: Documents) -> PublishedDocument:
    name, slash, _ = key.partition("/")
    if not slash:
        raise ValueError(f"expected <document>/<id>, found {key!r}")
    if name not in documents:
        raise ValueError(unknown("published document", name, documents))
    return documents[name]


def _named(key: str, known: Mapping[str, ItemT], *, noun: str) -> ItemT:
    name = key.partition("/")[2]
    if name not in known:
        raise ValueError(unknown(noun, name, known))
    return known[name]


def _typed(axes: Mapping[str, AxisValue], engines: Sequence[Engine]) -> dict[str, AxisValue]:
    """Values as the first engine reads them that knows the axis."""
    readings = {axis: next(filter(None, (axis_of(e, axis) for e in engines)), None) for axis in axes}
    return {
        axis: parse_value(reading, value) if (reading := readings[axis]) else value
        for axis, value in axes.items()
    }
