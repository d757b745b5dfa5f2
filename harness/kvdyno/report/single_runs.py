"""One run of each point: its values and events on one clock, which starts with the phase."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from kvdyno.model.experiment import FigureSpec
from kvdyno.model.figure_options import words_of
from kvdyno.model.results import Analysis

_EVENT = ["layer", "elapsed", "duration", "state", "cause", "detail", "status"]
_COLUMNS = ["run", *_EVENT, "value", "unit"]


def timeline_rows(spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """The table of a "timeline" kind; `metric` names the column of the series.

    Empty if no run has such a column, nor an event in the phase. A run without a value has the reason.
    """
    series = analysis.select(analysis.series, where=spec.where, phase=spec.phase)
    events = analysis.select(analysis.events, where=spec.where)
    began = events[events["phase"] == spec.phase]
    values = series[series["column"] == spec.metric]
    if values.empty and began.empty:
        return values
    parts = []
    for run in _runs(spec, {*series["run_id"], *began["run_id"]}, analysis):
        own = {name: table[table["run_id"] == run["run_id"]] for name, table in
               (("series", series), ("began", began), ("values", values), ("events", events))}  # fmt: skip
        begin, end = _stretch(own["series"], own["began"])
        rows = pd.concat([_value_rows(own["values"], run, begin), _event_rows(own["events"], begin, end)])
        parts.append(rows.assign(**{name: run[name] for name in _point_columns(analysis)}, run=run["run_id"]))
    return pd.concat(parts, ignore_index=True).reindex(columns=[*_point_columns(analysis), *_COLUMNS])


def timeline_caption(spec: FigureSpec, table: pd.DataFrame, analysis: Analysis) -> str:
    """Which run is shown, what the drawing cannot show, and what no events are known of."""
    said = [f"The line is repetition {_repetition(spec)} of each point, {spec.phase} phase."]
    marked = words_of(spec.options.get("mark", ()))
    if not marked and not spec.options.get("stalls", True):
        return said[0]
    said.append("Events closer than 1/2000 of the width are one bar, paler the less they cover.")
    known_runs = set(analysis.events.loc[analysis.events["kind"] != "probe", "run_id"])
    silent = dict.fromkeys(table.loc[(table["status"] == "ok") & ~table["run"].isin(known_runs), "label"])
    if silent:
        said.append(f"No events are known of {', '.join(silent)}.")
    causes = words_of(spec.options.get("causes", ())) if "compaction" in marked else ()
    known = set(table.loc[table["layer"] == "compaction", "cause"])
    said += [f"No compaction has the cause {cause}." for cause in causes if cause not in known]
    return " ".join(said)


def _repetition(spec: FigureSpec) -> int:
    return int(spec.options.get("repetition", 1))


def _runs(spec: FigureSpec, took_part: set[str], analysis: Analysis) -> Iterable[dict[str, Any]]:
    """The run of each point whose runs took part, or none of whose runs ended well: `run_id`, `status` and
    the point's columns.
    """
    columns, repetition = _point_columns(analysis), _repetition(spec)
    every = analysis.select(analysis.frame, where=spec.where).drop_duplicates("run_id")
    for _, runs in every.groupby(columns, dropna=False, sort=False):
        if runs["run_id"].isin(took_part).any() or not (runs["status"] == "ok").any():
            absent = {"run_id": "", "status": f"no repetition {repetition}"}
            mine = runs[runs["repetition"] == repetition]
            yield dict(mine.iloc[0]) if len(mine) else {**runs.iloc[0], **absent}


def _stretch(series: pd.DataFrame, began: pd.DataFrame) -> tuple[float, float]:
    """When the phase began and ended on the driver's clock: its rows come at the ends of intervals. A
    phase without rows is as long as its events.
    """
    ends = sorted(series["elapsed"].unique())
    if ends:
        return ends[0] - (ends[1] - ends[0] if len(ends) > 1 else 0.0), ends[-1]
    return began["begin"].min(), (began["begin"] + began["duration"]).max()


def _value_rows(values: pd.DataFrame, run: dict[str, Any], begin: float) -> pd.DataFrame:
    if values.empty:
        status = run["status"] if run["status"] != "ok" else "not measured"
        return pd.DataFrame([{"layer": "value", "elapsed": 0.0, "status": status}])
    shifted = values[["value", "unit"]].assign(elapsed=values["elapsed"] - begin)
    return shifted.assign(layer="value", status="ok")


def _event_rows(events: pd.DataFrame, begin: float, end: float) -> pd.DataFrame:
    """The events of the stretch, cut to it."""
    ends = events["begin"] + events["duration"]
    inside = (events["begin"] < end) & (ends >= begin)
    first, last = events["begin"].clip(lower=begin), ends.clip(upper=end)
    cut = events.assign(elapsed=first - begin, duration=last - first, layer=events["kind"], status="ok")
    return cut.loc[inside, _EVENT]


def _point_columns(analysis: Analysis) -> list[str]:
    return ["label", "engine", "preset", *analysis.axis_names]
