"""Records to one tidy table: a row per run, phase and metric, with the point's axes beside it.

"Tidy" as in Wickham, "Tidy Data", J. Statistical Software 59(10), 2014: one observation a row. Nothing here
knows what a metric means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kvdyno.errors import SpecError
from kvdyno.model.experiment import AxisValue
from kvdyno.model.record import CONCLUSIVE, Record

from .drift import stretches

#: What names a contender, before the grid's axes.
IDENTITY = ("label", "engine", "preset")
#: What follows the axes.
MEASURED = (
    *("run_id", "sweep_id", "host", "stretch", "repetition", "load"),
    *("status", "phase", "metric", "value", "unit"),
)
#: Runs of one block may be compared: nothing that is known of the host changed between them.
BLOCK = ("sweep_id", "host", "stretch", "repetition")
#: Columns that later stages add; an axis must not be called so.
_RESERVED = frozenset(
    (*IDENTITY, *MEASURED, "point", "baseline", "n", "median", "low", "high", "ratio", "headline")
)


def label_of(record: Record) -> str:
    """What figures call the record's engine: its label, else engine and preset."""
    point = record.point
    if point.label:
        return point.label
    return point.engine if point.preset in ("", "default") else f"{point.engine} {point.preset}"


def load_of(record: Record) -> int:
    """Which load the run started from. A run that fills an empty store is a load of its own."""
    return record.load if record.point.dataset else record.repetition


def axes_of(record: Record) -> dict[str, AxisValue]:
    """The grid's axes of a record: what distinguishes its point, apart from the contender."""
    return {name: value for name, value in record.point.axes.items() if name not in IDENTITY}


def axis_names(records: Iterable[Record]) -> tuple[str, ...]:
    """All axes that occur, in the order of first appearance.

    Raises SpecError where an axis would hide one of the table's own columns.
    """
    names = tuple(dict.fromkeys(name for record in records for name in axes_of(record)))
    for name in names:
        if name in _RESERVED:
            raise SpecError(
                f"axis {name!r} has the name of a result column",
                remedy=f"rename the axis; reserved are {', '.join(sorted(_RESERVED))}",
            )
    return names


def latest(records: Sequence[Record]) -> tuple[Record, ...]:
    """The latest of several records of one point and repetition (a run was tried again).

    A record that settles nothing (interrupted, for one) never replaces one that does. The order is kept.
    """
    chosen: dict[tuple[str, int], Record] = {}
    for record in records:
        key = (record.point.identity, record.repetition)
        if key not in chosen or _rank(record) >= _rank(chosen[key]):
            chosen[key] = record
    kept = {id(record) for record in chosen.values()}
    return tuple(record for record in records if id(record) in kept)


def _rank(record: Record) -> tuple[bool, str]:
    return record.status in CONCLUSIVE, record.started_at


def tidy(records: Sequence[Record], *, among: Sequence[Record] = ()) -> pd.DataFrame:
    """A row per run, phase and metric; columns as in `Analysis.frame`. Stretches are those of the records, or
    of all `among` which they are.

    Only runs that ended well contribute measurements: the numbers of a run that was killed describe a
    different, shorter experiment. Every other run keeps one row with its status.
    """
    names = axis_names(records)
    stretch = stretches(among or records)
    rows = [
        row for record in records for row in _rows(record, names, stretch[record.sweep_id, record.run_id])
    ]
    table = pd.DataFrame(rows, columns=[*IDENTITY, *names, *MEASURED])
    return table.astype({"value": "float64", "stretch": "int64", "repetition": "int64", "load": "int64"})


def mark_headline(
    frame: pd.DataFrame, *, metric: str, phases: Sequence[str], by: Sequence[str]
) -> pd.DataFrame:
    """The tidy frame with a column `headline`: whether the phase is the one that the point is judged by, the
    first of `phases` in which the point has the metric. A point that measures a load has no `run`.
    """
    rank = frame["phase"].map({phase: place for place, phase in enumerate(phases)})
    ranked = frame.assign(rank=rank.astype("float64").where(frame["metric"] == metric))
    best = ranked.groupby(list(by), dropna=False, sort=False)["rank"].transform("min")
    return frame.assign(headline=rank == best)


def groups_of(table: pd.DataFrame, by: Sequence[str]) -> list[NDArray[np.intp]]:
    """The places of each group's rows, in order of appearance: metrics have thousands of groups, for
    which a table each would take minutes.
    """
    numbers = table.groupby(list(by), dropna=False, sort=False).ngroup().to_numpy()
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


def point_columns(names: Sequence[str]) -> list[str]:
    """The columns that identify a point in every table."""
    return [*IDENTITY, *names]


def _rows(record: Record, names: Sequence[str], stretch: int) -> Iterable[Mapping[str, object]]:
    axes = axes_of(record)
    common: dict[str, object] = {
        "label": label_of(record),
        "engine": record.point.engine,
        "preset": record.point.preset,
        **{name: axes.get(name) for name in names},
        "run_id": record.run_id,
        "sweep_id": record.sweep_id,
        "host": record.environment.host_id,
        "stretch": stretch,
        "repetition": record.repetition,
        "load": load_of(record),
        "status": record.status,
    }
    if record.status != "ok" or record.outcome is None:
        yield {**common, "phase": None, "metric": None, "value": None, "unit": None}
        return
    for phase in record.outcome.phases:
        yield {**common, "phase": phase.name, "metric": "seconds", "value": phase.seconds, "unit": "s"}
        for name, metric in phase.metrics.items():
            yield {**common, "phase": phase.name, "metric": name, "value": metric.value, "unit": metric.unit}
