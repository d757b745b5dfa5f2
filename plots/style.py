"""What all figures share: colours, marks, fonts, panels, axes, legends.

Colours are Okabe and Ito's set for all kinds of colour vision ("Color Universal Design", 2008); marks, line
styles and hatches repeat the distinction, so that a figure survives a black-and-white printer.
"""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MultipleLocator, NullLocator
from numpy.typing import NDArray

from . import Binding
from .units import axis_text, scale_for, status_text, three_digits

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5F5F5F", "#8C6D1F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")
HATCHES = ("", "////", "....", "xxxx")
INK, QUIET, RULE = "#1F2328", "#59636E", "#D8DDE3"
#: Stalls have their cause's colour in every figure; a cause of another name is "other".
CAUSES = {"memtable": "#56B4E9", "level 0": "#D55E00", "pending compaction": "#009E73", "other": "#7D7D7D"}
_DELAY_STRENGTH, _STOP_STRENGTH = 0.3, 0.85

PANEL_WIDTH, PANEL_HEIGHT = 3.1, 2.35  # inches, as all that follow
PANELS_A_ROW = 3
_HEADROOM = 1.03  # of the value axis, above the largest value
_TITLE_LINE, _LEGEND_LINE, _CAPTION_LINE, _CAPTION_EDGE = 0.27, 0.19, 0.13, 0.07
#: What a legend's entry takes beside its text, and what letters take: wide ones fit, too.
_LEGEND_MARK, _LEGEND_LETTER, _CAPTION_LETTER = 0.5, 0.062, 0.053
_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "hatch.linewidth": 0.6,
    "hatch.color": "white",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


@dataclass(frozen=True)
class Look:
    """How one series is drawn."""

    name: str
    colour: str
    marker: str
    line: str
    hatch: str


Draw = Callable[[pd.DataFrame, Binding], Figure]


def styled(draw: Draw) -> Draw:
    """Run a drawing function under the house style, whatever the user's own matplotlib settings are."""

    @functools.wraps(draw)
    def wrapped(table: pd.DataFrame, binding: Binding) -> Figure:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(cast(Any, _RC))
            return draw(table, binding)

    return wrapped


def looks(table: pd.DataFrame, binding: Binding) -> dict[tuple[Any, ...], Look]:
    """The look of each series of the table, in the order of their colours.

    The first series column chooses the colour and the marker: by its place among the sorted contenders, so
    that it is the same in every figure. The other columns choose line style and hatch.
    """
    if not binding.series:
        return {(): Look(binding.label, COLOURS[0], MARKERS[0], LINES[0], HATCHES[0])}
    columns = list(binding.series)
    keys = [tuple(row) for row in table[columns].drop_duplicates().itertuples(index=False, name=None)]
    heads = sorted({str(key[0]) for key in keys} | set(binding.contenders))
    tails = list(dict.fromkeys(key[1:] for key in keys))
    keys.sort(key=lambda key: (heads.index(str(key[0])), tails.index(key[1:])))
    found = {}
    for key in keys:
        head, tail = heads.index(str(key[0])), tails.index(key[1:])
        names = (axis_text(v, binding.units.get(c, "")) for c, v in zip(columns, key, strict=True))
        found[key] = Look(
            name=", ".join(names),
            colour=COLOURS[head % len(COLOURS)],
            marker=MARKERS[head % len(MARKERS)],
            line=LINES[tail % len(LINES)],
            hatch=HATCHES[tail % len(HATCHES)],
        )
    return found


def stall_look(name: str) -> dict[str, Any] | None:
    """How a stall is filled: "delay, level 0" is pale, "stop, level 0" dark and hatched; in the plural, too.
    None: the name is not of a stall.
    """
    state, _, cause = name.partition(", ")
    if state.removesuffix("s") not in ("delay", "stop") or cause not in CAUSES:
        return None
    stop = state.startswith("stop")
    strength = _STOP_STRENGTH if stop else _DELAY_STRENGTH
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(CAUSES[cause]))  # on white paper
    hatch = "////" if stop else ""
    return {"facecolor": to_hex((red, green, blue)), "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def rows_of(table: pd.DataFrame, columns: Sequence[str], key: Sequence[Any]) -> pd.DataFrame:
    """The rows whose columns have the key's values; missing equals missing."""
    keep = pd.Series(True, index=table.index)
    for column, value in zip(columns, key, strict=True):
        keep &= table[column].isna() if pd.isna(value) else table[column] == value
    return table[keep]


def panels(table: pd.DataFrame, binding: Binding) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """A figure with axes for each panel, and each panel's rows. An empty table gives one empty panel."""
    columns = list(binding.panels)
    keys = list(table[columns].drop_duplicates().itertuples(index=False, name=None)) if columns else []
    keys = keys or [()]
    wide = min(PANELS_A_ROW if len(keys) != 4 else 2, len(keys))
    high = math.ceil(len(keys) / wide)
    width = max(PANEL_WIDTH * wide, 1.7 * PANEL_WIDTH)
    figure = Figure(figsize=(width, PANEL_HEIGHT * high), layout="constrained")
    drawn = []
    for place, key in enumerate(keys):
        axes = figure.add_subplot(high, wide, place + 1)
        if columns:
            names = zip(columns, key, strict=True)
            axes.set_title(", ".join(panel_text(c, v, binding) for c, v in names))
        drawn.append((axes, rows_of(table, columns, key) if columns else table))
    return figure, drawn


def panel_text(column: str, value: Any, binding: Binding) -> str:
    """What a panel is called: "C", "1 GiB", "threads 4"."""
    text = axis_text(value, binding.units.get(column, ""))
    plain_number = isinstance(value, (int, float)) and not binding.units.get(column)
    return f"{column} {text}" if plain_number else text


def value_axis(axes: Axes, values: Iterable[float], binding: Binding, *, log: bool, from_zero: bool) -> None:
    """Label and ticks of the value axis, in the unit that suits the largest value."""
    finite = [v for v in values if math.isfinite(v)]
    if binding.reference is not None:
        axes.axhline(binding.reference, color=QUIET, linewidth=0.9, linestyle="--", zorder=1)
    divisor, unit = scale_for(max(map(abs, finite), default=1.0) or 1.0, binding.unit)
    place = axes.get_subplotspec()
    first = place is None or place.is_first_col()
    axes.set_ylabel(", ".join(part for part in (binding.label if first else "", unit) if part))
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: trimmed(v / divisor)))
        return
    step = nice_step(max(finite, default=1.0) / divisor)
    axes.yaxis.set_major_locator(MultipleLocator(step * divisor))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: trimmed(v / divisor)))
    if from_zero:
        axes.set_ylim(bottom=0)
        # Autoscaling leaves room in proportion to the values' spread: too little above a flat line.
        axes.set_ylim(top=max(axes.get_ylim()[1], _HEADROOM * max(finite, default=0)))


def intervals(axes: Axes, spots: NDArray[np.float64], rows: pd.DataFrame, *, colour: str = INK) -> None:
    """Error bars from `low` to `high` where both exist."""
    ends = rows[["value", "low", "high"]].to_numpy(dtype=float)
    known = np.isfinite(ends).all(axis=1)
    value, low, high = ends[known].T
    axes.errorbar(
        spots[known], value, yerr=[value - low, high - value],
        fmt="none", ecolor=colour, elinewidth=0.9, capsize=2,
    )  # fmt: skip


def nice_step(largest: float) -> float:
    """A round distance between ticks, for four to eight of them up to `largest`."""
    if largest <= 0:
        return 1.0
    raw = largest / 6
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)


def trimmed(value: float) -> str:
    """A tick's text: three digits without trailing zeros."""
    text = three_digits(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def finish(figure: Figure, binding: Binding, handles: Mapping[str, Any]) -> Figure:
    """Add title and legend above the panels and the caption below them; the figure grows by their height."""
    named = {name: handle for name, handle in handles.items() if name}
    width = figure.get_figwidth()
    entry = _LEGEND_MARK + _LEGEND_LETTER * max(map(len, named), default=0)
    columns = max(1, min(len(named), int(width / entry)))
    lines = math.ceil(len(named) / columns)
    caption = textwrap.wrap(binding.caption, max(20, int(width / _CAPTION_LETTER)))
    title = _TITLE_LINE if binding.title else 0.0
    top = title + lines * _LEGEND_LINE + 0.05
    bottom = _CAPTION_EDGE + len(caption) * _CAPTION_LINE if caption else 0.0
    body = figure.get_figheight()
    height = body + top + bottom
    figure.set_figheight(height)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, bottom / height, 1, body / height))
    left = 0.06 / width
    if binding.title:
        figure.text(left, 1 - 0.05 / height, binding.title, fontsize=10.5, fontweight="bold", va="top")
    if caption:
        text = "\n".join(caption)
        figure.text(left, 0.05 / height, text, fontsize=7, color=QUIET, va="bottom", linespacing=1.25)
    if named:
        figure.legend(
            list(named.values()), list(named), loc="upper left", ncols=columns, borderaxespad=0, borderpad=0,
            bbox_to_anchor=(left, 1 - (title + 0.03) / height), columnspacing=1.6, handlelength=1.8,
        )  # fmt: skip
    return figure


def absence(
    axes: Axes, spots: NDArray[np.float64], rows: pd.DataFrame, *, colour: str, aside: float = 0
) -> None:
    """Write the status where a row has no value, so that no point is left out silently.

    `aside` moves the text to the left, in points.
    """
    missing = rows["value"].isna().to_numpy()
    for spot, status in zip(spots[missing], rows["status"][missing], strict=True):
        text = axes.annotate(
            f"× {status_text(status)}", (spot, 0), xycoords=axes.get_xaxis_transform(),
            xytext=(-aside, 3), textcoords="offset points", rotation=90, ha="center", va="bottom", fontsize=7,
            color=colour, zorder=5,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
