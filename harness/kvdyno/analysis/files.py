"""The files beside records, of all runs of an experiment: series with their steadiness, events, merged
histograms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from hdrh.histogram import HdrHistogram

from kvdyno.errors import StoreError
from kvdyno.model.record import Record, SeriesFile
from kvdyno.model.results import Caution

from .events import COLUMNS, load_events
from .frame import axes_of, label_of, point_columns
from .histograms import curve, merge, read_log
from .series import load_series, long_form, rate_column
from .steady import finding, steadiness

#: The phases whose steadiness is judged.
_JUDGED_PHASES = ("measure", "load")

_SERIES = ("run_id", "repetition", "phase", "elapsed", "column", "value", "unit")
_STEADINESS = ("run_id", "repetition", "phase", "state", "finding", "size", "intervals")
_PERCENTILES = ("phase", "operation", "percentile", "value", "count", "n")


def series_tables(
    records: Sequence[Record], *, run_dirs: Mapping[str, Path], axes: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame, list[Caution]]:
    """`Analysis.series`, `Analysis.steadiness`, and a caution for each series that cannot be read."""
    parts, judged, found = [], [], []
    for record in records:
        if record.status != "ok" or record.outcome is None or record.outcome.series is None:
            continue
        spec, identity = record.outcome.series, _identity(record, axes)
        try:
            table = load_series(spec, folder=_folder(record, run_dirs))
        except StoreError as error:
            found.append(Caution("series", str(error)))
            continue
        run = {**identity, "run_id": record.run_id, "repetition": record.repetition}
        parts.append(long_form(table, spec=spec).assign(**run))
        judged += [(*run.values(), *cells) for cells in _judged(table, spec)]
    columns = [*point_columns(axes), *_SERIES]
    series = pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)
    return series, pd.DataFrame(judged, columns=[*point_columns(axes), *_STEADINESS]), found


def _judged(table: pd.DataFrame, spec: SeriesFile) -> Iterable[tuple[object, ...]]:
    """The phases of a run that have a rate, judged: the cells of _STEADINESS from `phase` on."""
    column = rate_column(spec)
    for phase in _JUDGED_PHASES:
        rates = table.loc[table["phase"] == phase, column].dropna().to_numpy() if column else ()
        if len(rates):
            found = steadiness(rates)
            words = finding(found, interval=spec.interval_seconds)
            yield phase, found.state, words, found.size, len(rates)


def event_table(
    records: Sequence[Record], *, run_dirs: Mapping[str, Path], axes: Sequence[str]
) -> tuple[pd.DataFrame, list[Caution]]:
    """`Analysis.events`, and a caution for each file of events that cannot be read."""
    parts, found = [], []
    for record in records:
        if record.status != "ok" or record.outcome is None or record.outcome.events is None:
            continue
        try:
            table = load_events(_folder(record, run_dirs) / record.outcome.events)
        except StoreError as error:
            found.append(Caution("events", str(error)))
            continue
        run = {**_identity(record, axes), "run_id": record.run_id, "repetition": record.repetition}
        parts.append(table.assign(**run))
    columns = [*point_columns(axes), "run_id", "repetition", *COLUMNS]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns), found


def percentile_table(
    records: Sequence[Record], *, run_dirs: Mapping[str, Path], axes: Sequence[str]
) -> tuple[pd.DataFrame, list[Caution]]:
    """`Analysis.percentiles`, and a caution for each histogram log that cannot be read."""
    logs: dict[tuple[object, ...], list[dict[str, HdrHistogram]]] = {}
    found = []
    for record in records:
        if record.status != "ok" or record.outcome is None or record.outcome.histograms is None:
            continue
        try:
            log = read_log(_folder(record, run_dirs) / record.outcome.histograms)
        except StoreError as error:
            found.append(Caution("histogram", str(error)))
            continue
        logs.setdefault(tuple(_identity(record, axes).values()), []).append(log)
    rows = [row for point, some in logs.items() for row in _curves(point, some)]
    return pd.DataFrame(rows, columns=[*point_columns(axes), *_PERCENTILES]), found


def _curves(
    point: tuple[object, ...], logs: Sequence[dict[str, HdrHistogram]]
) -> Iterable[tuple[object, ...]]:
    for tag, histogram in merge(logs).items():
        phase, _, operation = tag.partition(".")
        for p in curve(histogram):
            yield (*point, phase, operation, p.percentile, p.value, p.count, len(logs))


def _folder(record: Record, run_dirs: Mapping[str, Path]) -> Path:
    if record.run_id not in run_dirs:
        raise StoreError("the folder of this run is gone", where=record.run_id)
    return run_dirs[record.run_id]


def _identity(record: Record, axes: Sequence[str]) -> dict[str, Any]:
    found = axes_of(record)
    identity = {"label": label_of(record), "engine": record.point.engine, "preset": record.point.preset}
    return {**identity, **{name: found.get(name) for name in axes}}
