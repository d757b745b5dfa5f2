"""One run over the time of a phase: a value as a line, stalls as shades behind it, other events below it.

Panels stand above one another on one axis of time, with one scale of values. Options: `repetition` chooses
the run (1); `stalls: false` leaves out the shades; `mark` names kinds of events that get a lane of their own
below the line, a tuner's steps one for each thing that it sets; `causes`: of compactions only those for one
of these reasons, in the engine's words.

What is closer than a reader can distinguish is drawn as one, paler the less of it is covered; what is shorter
than that is drawn as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from kvdyno.model.figure_options import words_of

from . import Binding, OptionForms, Sheet, TableKind, scales, style
from .units import status_text, word_text

TABLE: TableKind = "timeline"
OPTIONS: OptionForms = {
    "repetition": "count",
    "stalls": "flag",
    "mark": ("compaction", "flush", "tuning", "probe"),
    "causes": "words",
}

_CLOSEST = 1 / 2000  # of the width: what is closer or shorter cannot be seen
_STEP_WIDTH = 1 / 700  # of a tuner's step, which is a moment
_PALEST = 0.25

_LANES = {"compaction": "#0072B2", "flush": "#E69F00", "probe": "#CC79A7"}
_STEPS = {"raised": "#8C4A9E", "lowered": "#B8860B", "": style.QUIET}

_BODY, _LANE, _GAP, _TIME = 1.3, 0.15, 0.05, 0.45  # inches: values, a lane, what is above lanes, time's axis


@dataclass(frozen=True)
class _Lane:
    """Events that share a line below the values."""

    name: str
    kind: str
    events: pd.DataFrame


@style.styled
def draw(table: pd.DataFrame, binding: Binding) -> Figure:
    """The figure; see plots/__init__.py for the table."""
    columns = list(binding.panels)
    keys = list(table[columns].drop_duplicates().itertuples(index=False, name=None)) if columns else [()]
    rows = [style.rows_of(table, columns, key) for key in keys]
    lanes = [list(_lanes(one, binding)) for one in rows]
    figure, panels = _stack([_BODY + _depth(own) for own in lanes], binding.sheet)
    end = float((table["elapsed"] + table["duration"].fillna(0)).max())  # 0: no run has anything
    top = float(table["value"].max()) * 1.06  # NaN: no run has a value
    handles: dict[str, Any] = {}
    for axes, key, one, own in zip(panels, keys, rows, lanes, strict=True):
        names = zip(columns, key, strict=True)
        axes.set_title(", ".join(style.panel_text(c, v, binding) for c, v in names))
        _panel(axes, one, own, binding, end=end or 1.0, top=top if top > 0 else 1.0, handles=handles)
        axes.tick_params(left=top == top, labelleft=top == top, bottom=end > 0)
    if not end:
        panels[-1].tick_params(labelbottom=False)
    return style.finish(figure, binding, {name: handles[name] for name in sorted(handles, key=_legend_place)})


def _stack(heights: list[float], sheet: Sheet) -> tuple[Figure, list[Axes]]:
    """Axes of these heights, less on a low sheet, above one another, as wide as the sheet; time is written
    below the last.
    """
    whole = (sum(heights) + 0.25 * len(heights) + _TIME) * sheet.letters
    figure = Figure(figsize=(sheet.width, min(whole, sheet.tallest)), layout="constrained")
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    panels: list[Axes] = []
    for place in range(len(heights)):
        panels.append(figure.add_subplot(grid[place], sharex=panels[0] if panels else None))
        panels[-1].tick_params(axis="x", labelbottom=place == len(heights) - 1)
    panels[-1].set_xlabel("time, s")
    return figure, panels


def _depth(lanes: list[_Lane]) -> float:
    return _GAP + _LANE * len(lanes) if lanes else 0.0


def _lanes(rows: pd.DataFrame, binding: Binding) -> Iterable[_Lane]:
    """The lanes of a panel, from the line downwards; kinds without an event have none."""
    causes = binding.options.get("causes")
    for kind in words_of(binding.options.get("mark", ())):
        events = rows[rows["layer"] == kind]
        if kind == "compaction" and causes is not None:
            events = events[events["cause"].isin(words_of(causes))]
        if kind != "tuning" and len(events):
            yield _Lane(kind, kind, events)
        if kind == "tuning":
            for state in sorted(events["state"].unique()):
                yield _Lane(word_text(state) or kind, kind, events[events["state"] == state])


def _panel(
    axes: Axes,
    rows: pd.DataFrame,
    lanes: list[_Lane],
    binding: Binding,
    *,
    end: float,
    top: float,
    handles: dict[str, Any],
) -> None:
    values = rows[(rows["layer"] == "value") & rows["value"].notna()]
    inch = top / _BODY  # in values
    if binding.options.get("stalls", True):
        _shade(axes, rows[rows["layer"] == "stall"], (0, top), end, handles)
    for place, lane in enumerate(lanes):
        low = -inch * (_GAP + _LANE * (place + 1))
        _mark(axes, lane, (low, inch * _LANE), end, binding, handles)
    if len(values):
        (line,) = axes.plot(values["elapsed"], values["value"], color=style.INK, linewidth=0.9, zorder=3)
        handles.setdefault(binding.label, line)
    shown = [scales.scaled(axes, [top], binding.unit)]
    scales.value_axes(shown, replace(binding, label=""), log=False, from_zero=False)
    axes.set(xlim=(0, end), ylim=(-inch * _depth(lanes), top))
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= top])
    axes.yaxis.label.set_y(1 - _BODY / 2 / (_BODY + _depth(lanes)))
    axes.spines["left"].set_bounds(0, top)
    if lanes:
        axes.axhline(0, color=style.QUIET, linewidth=0.7, zorder=4)
    for status in rows.loc[rows["status"] != "ok", "status"]:
        text = axes.text(end / 2, top / 2, f"× {status_text(status)}", ha="center", va="center")
        text.set_path_effects([withStroke(linewidth=3, foreground=style.PAPER)])


def _shade(
    axes: Axes, stalls: pd.DataFrame, height: tuple[float, float], end: float, handles: dict[str, Any]
) -> None:
    """Stalls behind the line, stops over delays."""
    causes = stalls["cause"].map(word_text)
    names = stalls["state"] + ", " + causes.where(causes.isin(style.CAUSES), "other")
    for name, some in stalls.groupby(names):
        looks = style.stall_look(str(name)) or {}
        _bars(axes, some, height, end, zorder=0.2 if looks.get("hatch") else 0.1, **looks)
        handles.setdefault(str(name), Patch(**looks))


def _mark(
    axes: Axes,
    lane: _Lane,
    place: tuple[float, float],
    end: float,
    binding: Binding,
    handles: dict[str, Any],
) -> None:
    """A lane's events as short bars; a tuner's step that raises stands in the upper half, one that lowers in
    the lower.
    """
    low, height = place
    axes.annotate(
        lane.name, (0, low + height / 2), xycoords=axes.get_yaxis_transform(), xytext=(-4, 0),
        textcoords="offset points", ha="right", va="center", fontsize=style.small(), color=style.QUIET,
    )  # fmt: skip
    inner, size = low + 0.17 * height, 0.66 * height
    if lane.kind != "tuning":
        colour = _LANES[lane.kind]
        _bars(axes, lane.events, (inner, size), end, facecolor=colour, linewidth=0)
        handles.setdefault(_lane_text(lane.kind, binding), Patch(facecolor=colour))
        return
    for way, some in lane.events.groupby(lane.events["detail"].map(_way)):
        half = (inner + size / 2 * (way == "raised"), size if way == "" else size / 2)
        wide = some.assign(duration=some["duration"].clip(lower=_STEP_WIDTH * end))
        _bars(axes, wide, half, end, facecolor=_STEPS[str(way)], linewidth=0)
        handles.setdefault(f"tuning: {way or 'other step'}", Patch(facecolor=_STEPS[str(way)]))


def _bars(axes: Axes, events: pd.DataFrame, height: tuple[float, float], end: float, **looks: Any) -> None:
    """Events as bars: no more of them than a reader can distinguish, however many events there are."""
    ordered = events.sort_values("elapsed")
    begins, durations = (ordered[name].to_numpy(dtype=float) for name in ("elapsed", "duration"))
    ends = np.maximum.accumulate(begins + np.maximum(durations, _CLOSEST * end))
    apart = np.flatnonzero(begins[1:] > ends[:-1] + _CLOSEST * end) + 1
    first, last = np.r_[0, apart], np.r_[apart, len(begins)] - 1
    lengths = ends[last] - begins[first]
    covered = np.clip(np.add.reduceat(durations, first) / lengths, _PALEST, 1)
    bars = axes.broken_barh(list(zip(begins[first], lengths, strict=True)), height, **looks)
    bars.set_alpha(np.where(first == last, 1, covered).round(1).tolist())


def _way(detail: str) -> str:
    """Whether a step raises what it sets: "from=2 to=4" → "raised"; "" if it does not say."""
    pairs: Mapping[str, str] = dict(pair.partition("=")[::2] for pair in detail.split())
    try:
        change = float(pairs["to"]) - float(pairs["from"])
    except (KeyError, ValueError):
        return ""
    return "raised" if change > 0 else "lowered" if change < 0 else ""


def _lane_text(kind: str, binding: Binding) -> str:
    causes = words_of(binding.options.get("causes", ())) if kind == "compaction" else ()
    return f"{kind} ({', '.join(map(word_text, causes))})" if causes else kind


def _legend_place(name: str) -> tuple[int, str]:
    """The line first, then delays, stops, and the lanes."""
    heads = ("delay,", "stop,", "compaction", "flush", "probe", "tuning")
    return next((place for place, head in enumerate(heads, 1) if name.startswith(head)), 0), name
