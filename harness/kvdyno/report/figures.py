"""Figures of an experiment: each FigureSpec bound to the analysis' tables, drawn by its kind, written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import plots
from kvdyno.errors import SpecError, StoreError
from kvdyno.model.experiment import FigureSpec
from kvdyno.model.figure_options import option_mistake, words_of
from kvdyno.model.results import Analysis, resolve_label
from plots import style

from .failures import failed_points, with_losses
from .overlays import published_caption, published_name, with_published_column
from .single_runs import timeline_caption, timeline_rows
from .summary import point_text
from .words import column_of, common_title, interval_words, metric_title, ratio_interval_words


@dataclass(frozen=True)
class Composed:
    """A figure before it is a file, and the sentence that belongs under it."""

    spec: FigureSpec
    figure: Figure
    title: str
    caption: str


@dataclass(frozen=True)
class Drawn:
    """A figure's files and the sentence that belongs under it."""

    spec: FigureSpec
    title: str
    caption: str
    files: plots.FigureFiles


def draw_figure(spec: FigureSpec, analysis: Analysis, *, folder: Path) -> Drawn | None:
    """Draw one figure into `folder`; None if no record has what it shows.

    Raises SpecError for an unknown kind or option, StoreError if the files cannot be written.
    """
    composed = compose(spec, analysis)
    if composed is None:
        return None
    try:
        files = plots.save(composed.figure, folder / spec.id)
    except OSError as error:
        raise StoreError(f"cannot write figure {spec.id!r}: {error.strerror}", where=str(folder)) from error
    return Drawn(composed.spec, composed.title, composed.caption, files)


def compose(spec: FigureSpec, analysis: Analysis, *, sheet: plots.Sheet = plots.SCREEN) -> Composed | None:
    """The figure for a sheet; None if no record has what it shows. The screen's has title and caption, a
    paper's has neither: they are the paper's own text.

    Raises SpecError for an unknown kind or option.
    """
    kind = _kind(spec)
    table = _TABLES[kind.table](spec, analysis)
    if table.empty:
        return None
    table = with_published_column(table, spec, analysis)
    if kind.table == "timeline":
        spec = spec.model_copy(update={"x": None, "series": ()})  # one run a panel
    spec = _with_all_axes(spec, table, analysis)
    named = [name for name in (spec.x, *spec.series, *spec.panels) if name]
    table = _without_gaps(table, _columns(named))
    binding = bind(spec, analysis, table)
    draw = kind.draw
    if _too_few(table):
        binding, draw = replace(binding, caption=_nothing_to_see(spec)), style.blank
    shown = binding if sheet == plots.SCREEN else replace(binding, title="", caption="", sheet=sheet)
    return Composed(spec, draw(table, shown), binding.title, binding.caption)


def _too_few(table: pd.DataFrame) -> bool:
    """Whether a table over time has no run with two values, nor an event: no line, nothing beside it."""
    if "run" not in table:
        return False
    values = table[table["value"].notna()]
    events = "layer" in table and (table["layer"] != "value").any()
    failed = "status" in table and (table["status"] != "ok").any()
    return not (events or failed) and int(values.groupby("run").size().max()) < 2


def _nothing_to_see(spec: FigureSpec) -> str:
    """The caption of a figure over time that has none: why, and what would change that."""
    return (
        f"Nothing is drawn: no run has more than one interval in its {spec.phase} phase, which shows no "
        "change over time. A longer phase would, or a shorter driver property series.interval."
    )


def _with_all_axes(spec: FigureSpec, table: pd.DataFrame, analysis: Analysis) -> FigureSpec:
    """The figure with a panel for each value of an axis that varies but is named nowhere: two points never
    share a place.
    """
    named = _columns([name for name in (spec.x, *spec.series, *spec.panels) if name])
    varying = [a for a in ("label", *analysis.axis_names) if table[a].nunique(dropna=False) > 1]
    unnamed = tuple(name for name in varying if name not in named)
    return spec.model_copy(update={"panels": (*spec.panels, *unnamed)}) if unnamed else spec


def bind(spec: FigureSpec, analysis: Analysis, table: pd.DataFrame) -> plots.Binding:
    """What the figure's columns are called and in which units."""
    unit = str(table["unit"].dropna().iloc[0]) if table["unit"].notna().any() else ""
    return plots.Binding(
        title=spec.title,
        x=column_of(spec.x) if spec.x else None,
        series=_columns(spec.series),
        panels=_columns(spec.panels),
        label=_label(spec, analysis),
        unit=unit,
        reference=1 if spec.ratio_to else None,
        units=analysis.units,
        contenders=tuple(c.label for c in analysis.contenders) if spec.series[:1] == ("engine",) else (),
        caption=_caption(spec, table, analysis)
        + _losses(table, analysis)
        + published_caption(spec, analysis),
        options=spec.options,
        published=published_name(spec, analysis),
    )


def _label(spec: FigureSpec, analysis: Analysis) -> str:
    """What the value axis is called."""
    if spec.against:
        return spec.against.mix
    if spec.ratio_to:
        return f"{metric_title(spec.metric)} over {resolve_label(spec.ratio_to, analysis.frame)}'s"
    return common_title(_metrics(spec))[0] if spec.options.get("metrics") else metric_title(spec.metric)


def check_figures(specs: Sequence[FigureSpec]) -> None:
    """Raise SpecError for the first unknown kind or wrong option, before anything is drawn."""
    for spec in specs:
        _kind(spec)


def _kind(spec: FigureSpec) -> plots.Kind:
    kinds = plots.kinds()
    if spec.kind not in kinds:
        raise SpecError(
            f"figure {spec.id!r}: expected kind to be one of {', '.join(kinds)}; found {spec.kind!r}",
            remedy=_nearest(spec.kind, list(kinds)),
        )
    kind = kinds[spec.kind]
    for option, value in spec.options.items():
        if option not in kind.options:
            raise SpecError(
                f"figure {spec.id!r}: kind {kind.name} has no option {option!r}; "
                f"it has {', '.join(sorted(kind.options)) or 'none'}",
                remedy=_nearest(option, sorted(kind.options)),
            )
        mistake = option_mistake(option, value, kind.options)
        if mistake:
            raise SpecError(f"figure {spec.id!r}: {mistake}")
    return kind


def _nearest(word: str, known: Sequence[str]) -> str | None:
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else None


def _estimates(spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """The table of an "estimates" kind. Points whose runs all failed, and those of an engine that has none of
    a metric, are rows without a value.
    """
    if spec.ratio_to:
        return _ratios(spec, analysis)
    rows = analysis.select(analysis.estimates, where=spec.where, phase=spec.phase)
    metrics = _metrics(spec)
    parts = []
    for metric, part in zip(metrics, common_title(metrics)[1], strict=True):
        measured = rows[rows["metric"] == metric].rename(columns={"median": "value"}).assign(status="ok")
        absent = [failed_points(measured, spec.where, analysis), _lacking(measured, rows, analysis)]
        whole = pd.concat([measured, *absent], ignore_index=True)
        parts.append(_in_axis_order(whole, analysis).assign(part=part, measure=metric_title(metric)))
    return pd.concat(parts, ignore_index=True)


def _ratios(spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """The table of an "estimates" kind with ratios for values; the baseline itself is no row."""
    baseline = resolve_label(str(spec.ratio_to), analysis.frame)
    found = analysis.select(analysis.ratios, where=spec.where, metric=spec.metric, phase=spec.phase)
    found = found[found["baseline"] == baseline].rename(columns={"ratio": "value"})
    failed = failed_points(found, spec.where, analysis)
    status = found["kind"].map({"ratio": "ok", "difference": "no ratio"})
    whole = pd.concat([found.assign(status=status), failed[failed["label"] != baseline]], ignore_index=True)
    title = metric_title(spec.metric)
    return _in_axis_order(whole, analysis).assign(unit="ratio", part=title, measure=title)


def _lacking(measured: pd.DataFrame, rows: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """The points of contenders that have other metrics, but this one nowhere, though others have it."""
    others = rows[~rows["label"].isin(measured["label"])] if len(measured) else rows.iloc[:0]
    points = others[["label", "engine", "preset", *analysis.axis_names]].drop_duplicates()
    return points.assign(status="not measured")


def _percentiles(spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """The table of a "percentiles" kind: `metric` names the operation, as "read" or "read.latency"."""
    operation = spec.metric.removesuffix(".latency")
    rows = analysis.select(analysis.percentiles, where=spec.where, phase=spec.phase)
    return _in_axis_order(rows[rows["operation"] == operation].assign(unit="ns"), analysis)


def _series(spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """The table of a "series" kind: `metric` names the column of the series."""
    rows = analysis.select(analysis.series, where=spec.where, phase=spec.phase)
    rows = rows[rows["column"] == spec.metric].rename(columns={"run_id": "run"})
    return _in_axis_order(rows, analysis)


def _choices(spec: FigureSpec, analysis: Analysis) -> pd.DataFrame:
    """The table of a "choice" kind."""
    return _in_axis_order(analysis.choices[analysis.choices["figure"] == spec.id], analysis)


_TABLES = {
    "estimates": _estimates,
    "percentiles": _percentiles,
    "series": _series,
    "timeline": timeline_rows,
    "choice": _choices,
}


def _in_axis_order(table: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """Rows in the order of the grid: the first axis slowest, values and contenders as the experiment lists
    them.
    """
    orders = [(a.name, a.values) for a in analysis.axes]
    orders.append(("label", tuple(c.label for c in analysis.contenders)))
    keys = {f"_{name}": table[name].map({v: i for i, v in enumerate(order)}) for name, order in orders}
    ordered = table.assign(**keys).sort_values(list(keys), kind="stable")
    return ordered.drop(columns=list(keys)).reset_index(drop=True)


def _without_gaps(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A dash where an axis means nothing to an engine or a workload: such points are drawn, too."""
    filled = {name: table[name].astype(object).where(table[name].notna(), "–") for name in columns}
    return table.assign(**filled)


def _caption(spec: FigureSpec, table: pd.DataFrame, analysis: Analysis) -> str:
    """What the marks are, with n."""
    if "layer" in table:
        return timeline_caption(spec, table, analysis)
    if "run" in table:
        return _runs_caption(spec, table)
    counts = table["n"].dropna().astype(int)
    n = f"n = {counts.min()}" if counts.min() == counts.max() else f"n = {counts.min()} to {counts.max()}"
    if spec.against:
        first, second = metric_title(spec.metric), metric_title(spec.against.metric)
        return (
            f"The cheapest for each mix, by {first} and {second} of runs without a mix, and how many times "
            f"as much the next one costs ({n})."
        )
    if "percentile" in table:
        return (
            f"A line is the latency of all operations of a point's repetitions together ({n}); each further "
            f"nine of the percentile has the same width. Phase: {spec.phase}."
        )
    absent = " ×: no value, and why." if table["value"].isna().any() else ""
    if spec.ratio_to:
        bars = f"; error bars: {ratio_interval_words(table['method'])}" if counts.max() > 1 else ""
        return f"Marks are ratios within a repetition ({n}){bars}. Phase: {spec.phase}.{absent}"
    mark = "Each part is a median" if spec.kind == "stacked" else "Marks are medians"
    without = spec.kind == "stacked" or counts.max() == 1
    bars = "" if without else f"; error bars: {interval_words(table['method'])}"
    return f"{mark} over repetitions ({n}){bars}. Phase: {spec.phase}.{absent}"


def _runs_caption(spec: FigureSpec, table: pd.DataFrame) -> str:
    """What the lines of every run are, and which runs have none."""
    lengths = table.groupby("run").size()
    alone = int((lengths == 1).sum())
    dots = f" {alone} of them {'has' if alone == 1 else 'have'} one interval, a dot." if alone else ""
    runs = f"n = {len(lengths)} run{'s' if len(lengths) > 1 else ''}"
    return f"A line is one run of the {spec.phase} phase ({runs}), from its first interval.{dots}"


def _losses(table: pd.DataFrame, analysis: Analysis) -> str:
    """Which of the points drawn lost some of their runs; those without any value say so in their place."""
    if "run" in table:
        return ""
    points = with_losses(table[table["value"].notna()], analysis)
    lost = [
        f"{p['label']} {point_text(p, analysis)} ({p['lost']})" for _, p in points.iterrows() if p["lost"]
    ]
    return f" Without runs that failed: {', '.join(dict.fromkeys(lost))}." if lost else ""


def _metrics(spec: FigureSpec) -> list[str]:
    """The metrics that a figure shows: its own, or several."""
    return [str(metric) for metric in words_of(spec.options.get("metrics", spec.metric))]


def _columns(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(column_of, names))
