"""What all figures share: colours, marks, fonts, panels, legends.

Contenders' colours have a contrast of 3 or more to white paper and to a dark screen. The first four are far
apart for all kinds of colour vision, all eight are distinct, and none is near a verdict's colour. Marks,
line styles and hatches repeat the distinction, so that a figure survives a black-and-white printer.
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
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from . import SCREEN, Binding, Sheet
from .units import axis_text, status_text

COLOURS = ("#3661C8", "#BF4A00", "#12A975", "#B578C7", "#B68804", "#3D95F2", "#4B803F", "#925669")
#: The parts of a whole, which are no contenders; hatches distinguish them, too.
PARTS = ("#56657B", "#9A8A9B", "#7A6C58", "#7F95A3", "#786488")
#: Verdicts on white paper and on a dark screen: what is better or higher, worse or lower, the same, open.
#: A word or a glyph repeats each.
VERDICTS = {
    "up": ("#5B2BD9", "#B9A5FF"),
    "down": ("#B0123F", "#FF8FA9"),
    "same": ("#3C4650", "#C3CCD6"),
    "open": ("#6B7580", "#98A3AE"),
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")
HATCHES = ("", "////", "\\\\\\\\", "xxxx")
INK, QUIET, RULE, PAPER = "#1F2328", "#59636E", "#D8DDE3", "#FFFFFF"
_DARK_PAPER = "#0F1419"  # of a page on a dark screen
#: Stalls have their cause's colour in every figure; a cause of another name is "other".
CAUSES = {"memtable": "#56B4E9", "level 0": "#D55E00", "pending compaction": "#009E73", "other": "#7D7D7D"}
_DELAY_STRENGTH, _STOP_STRENGTH = 0.3, 0.85

#: Inches: figures are as wide as their sheet, so that text has one size in all of them.
_TITLE_LINE, _LEGEND_LINE, _CAPTION_LINE, _CAPTION_EDGE = 0.27, 0.19, 0.13, 0.07
_LEGEND_LINE_WIDTH = 1.6  # points, at least
#: What a legend's entry takes beside its text, and what letters take: wide ones fit, too.
_LEGEND_MARK, _LEGEND_LETTER, _CAPTION_LETTER = 0.5, 0.062, 0.053
#: What a letter of a panel's name takes, and what stands to the left of the name.
_PANEL_LETTER, _PANEL_EDGE = 0.083, 0.45
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
    "hatch.color": PAPER,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


#: The smallest letters, as a share of the usual ones.
_SMALL = 7 / 8.5

#: How the ids of title and caption begin in an SVG; "-" and the height in points follow. A page that has both
#: as text leaves them out of its picture.
TITLE_ID, CAPTION_ID = "title", "caption"


#: The column of numbers of a document.
PUBLISHED = "published"


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
            matplotlib.rcParams.update(cast(Any, _rc(binding.sheet)))
            return draw(table, binding)

    return wrapped


def _rc(sheet: Sheet) -> dict[str, Any]:
    """The settings, with letters and lines of the sheet's size."""
    sizes = {name: _RC[name] * sheet.letters for name in _RC if name.endswith(("size", "width"))}
    return {**_RC, **sizes}


def small() -> float:
    """Size of the smallest letters, in points, under the style in force."""
    return round(float(matplotlib.rcParams["font.size"]) * _SMALL, 3)


def colours(contenders: Iterable[str]) -> dict[str, str]:
    """The colour of each contender, by its place among them, in figures and wherever else one is shown."""
    return {label: COLOURS[place % len(COLOURS)] for place, label in enumerate(contenders)}


def looks(table: pd.DataFrame, binding: Binding) -> dict[tuple[Any, ...], Look]:
    """The look of each series of the table, in the order of their colours.

    The first series column chooses the colour and the marker, by its place among the contenders, so that it
    is the same in every figure; what is no contender follows them as the table has it. The other columns
    choose line style and hatch.
    """
    if not binding.series:
        return {(): Look(binding.label, COLOURS[0], MARKERS[0], LINES[0], HATCHES[0])}
    columns = list(binding.series)
    keys = [tuple(row) for row in table[columns].drop_duplicates().itertuples(index=False, name=None)]
    heads = list(dict.fromkeys([*binding.contenders, *(str(key[0]) for key in keys)]))
    chosen = colours(heads)
    tails = list(dict.fromkeys(key[1:] for key in keys))
    keys.sort(key=lambda key: (heads.index(str(key[0])), tails.index(key[1:])))
    found = {}
    for key in keys:
        head, tail = heads.index(str(key[0])), tails.index(key[1:])
        names = (axis_text(v, binding.units.get(c, "")) for c, v in zip(columns, key, strict=True))
        found[key] = Look(
            name=", ".join(names),
            colour=chosen[heads[head]],
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
    state = state.removesuffix("s")
    hatch = "////" if state == "stop" else ""
    return {
        "facecolor": _stall_colour(state, cause, PAPER),
        "hatch": hatch,
        "edgecolor": PAPER,
        "linewidth": 0,
    }


def tones() -> dict[str, tuple[str, str]]:
    """The colours that a dark screen needs otherwise, by name: on white paper, and there. Contenders' own
    colours suit both.
    """
    found = {
        "ink": (INK, "#E6EDF3"),
        "quiet": (QUIET, "#9AA4AF"),
        "rule": (RULE, "#2F3842"),
        "paper": (PAPER, _DARK_PAPER),
    }
    for cause in CAUSES:
        for state in ("delay", "stop"):
            name = f"{state}-{cause}".replace(" ", "-")
            found[name] = (_stall_colour(state, cause, PAPER), _stall_colour(state, cause, _DARK_PAPER))
    return found


def _stall_colour(state: str, cause: str, paper: str) -> str:
    strength = _STOP_STRENGTH if state == "stop" else _DELAY_STRENGTH
    red, green, blue = (
        (1 - strength) * ground + strength * part
        for ground, part in zip(to_rgb(paper), to_rgb(CAUSES[cause]), strict=True)
    )
    return to_hex((red, green, blue))


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
    speaking = _speaking(table, columns)
    sheet = binding.sheet
    wide = columns_for(len(keys), sheet)
    high = math.ceil(len(keys) / wide)
    size = (sheet.width if wide > 1 else sheet.alone, min(sheet.panel_height * high, sheet.tallest))
    figure = Figure(figsize=size, layout="constrained")
    letters = int((size[0] / wide / sheet.letters - _PANEL_EDGE) / _PANEL_LETTER)
    drawn = []
    for place, key in enumerate(keys):
        axes = figure.add_subplot(high, wide, place + 1)
        if columns:
            names = [(c, v) for c, v in zip(columns, key, strict=True) if c in speaking]
            name = ", ".join(panel_text(c, v, binding) for c, v in names)
            axes.set_title(textwrap.fill(name, letters, break_long_words=False, break_on_hyphens=False))
        drawn.append((axes, rows_of(table, columns, key) if columns else table))
    return figure, drawn


def _speaking(table: pd.DataFrame, columns: list[str]) -> list[str]:
    """The columns that panels' names need: those that differ between panels, and the first at least."""
    return [c for c in columns if table[c].nunique(dropna=False) > 1] or columns[:1]


def columns_for(count: int, sheet: Sheet = SCREEN) -> int:
    """How many of `count` panels stand side by side: no lone one in the last row and few empty places where
    the page's width allows it, and about as many rows as columns.
    """

    def cost(wide: int) -> tuple[bool, int, int]:
        high = math.ceil(count / wide)
        empty = high * wide - count
        return high > 1 and empty == wide - 1, 2 * empty + abs(high - wide), -wide

    return min((wide for wide in sheet.columns if wide <= count), key=cost, default=1)


def panel_text(column: str, value: Any, binding: Binding) -> str:
    """What a panel is called: "C", "1 GiB", "threads 4"."""
    text = axis_text(value, binding.units.get(column, ""))
    plain_number = isinstance(value, (int, float)) and not binding.units.get(column)
    return f"{column} {text}" if plain_number else text


def intervals(axes: Axes, spots: NDArray[np.float64], rows: pd.DataFrame, *, colour: str = INK) -> None:
    """Error bars from `low` to `high` where both exist."""
    ends = rows[["value", "low", "high"]].to_numpy(dtype=float)
    known = np.isfinite(ends).all(axis=1)
    value, low, high = ends[known].T
    axes.errorbar(
        spots[known], value, yerr=[value - low, high - value],
        fmt="none", ecolor=colour, elinewidth=0.9, capsize=2,
    )  # fmt: skip


def published(axes: Axes, spots: NDArray[np.float64], rows: pd.DataFrame, look: Look, *, log: bool) -> None:
    """Hollow marks in the series' colour where a document has a number (above zero, if `log`)."""
    if PUBLISHED not in rows:
        return
    values = rows[PUBLISHED].to_numpy(dtype=float)
    known = np.isfinite(values) & ((values > 0) | (not log))
    _hollow(axes, spots[known], values[known], look.colour, look.marker)


def published_handle(binding: Binding) -> dict[str, Line2D]:
    """The legend's entry for hollow marks, where the figure has them."""
    hollow = Line2D([], [], linestyle="", marker=MARKERS[0], markersize=7, markerfacecolor="none", color=INK)
    return {binding.published: hollow} if binding.published else {}


def _hollow(
    axes: Axes, spots: NDArray[np.float64], values: NDArray[np.float64], colour: str, marker: str
) -> None:
    for width, edge, above in ((2.6, PAPER, 5), (1.2, colour, 6)):  # a rim of paper, to be seen on bars, too
        axes.plot(
            spots, values, linestyle="", marker=marker, markersize=7, markerfacecolor="none",
            markeredgecolor=edge, markeredgewidth=width, zorder=above,
        )  # fmt: skip


def finish(figure: Figure, binding: Binding, handles: Mapping[str, Any]) -> Figure:
    """Add title and legend above the panels and the caption below them; the figure grows by their height.

    What x is stands below the lowest panel of each column only.
    """
    _outer_labels(figure)
    named = {name: handle for name, handle in handles.items() if name}
    width = figure.get_figwidth()
    entry = _LEGEND_MARK + _LEGEND_LETTER * max(map(len, named), default=0)
    entry *= binding.sheet.letters
    columns = max(1, min(len(named), int(width / entry)))
    rows = math.ceil(len(named) / columns)
    caption = textwrap.wrap(binding.caption, max(20, int(width / _CAPTION_LETTER)))
    title = _TITLE_LINE if binding.title else 0.0
    top = title + rows * _LEGEND_LINE + 0.05
    bottom = _CAPTION_EDGE + len(caption) * _CAPTION_LINE if caption else 0.0
    body = figure.get_figheight()
    height = body + top + bottom
    figure.set_figheight(height)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, bottom / height, 1, body / height))
    left = 0.06 / width
    if binding.title:
        text = figure.text(left, 1 - 0.05 / height, binding.title, fontsize=10.5, fontweight="bold", va="top")
        text.set_gid(f"{TITLE_ID}-{round(72 * title)}")
    if caption:
        lines = "\n".join(caption)
        text = figure.text(
            left, 0.05 / height, lines, fontsize=small(), color=QUIET, va="bottom", linespacing=1.25
        )
        text.set_gid(f"{CAPTION_ID}-{round(72 * bottom)}")
    if named:
        legend = figure.legend(
            list(named.values()), list(named), loc="upper left", ncols=columns, borderaxespad=0, borderpad=0,
            bbox_to_anchor=(left, 1 - (title + 0.03) / height), columnspacing=1.6, handlelength=1.8,
        )  # fmt: skip
        for line in legend.get_lines():  # a thin line alone hardly shows its colour
            line.set(linewidth=max(line.get_linewidth(), _LEGEND_LINE_WIDTH), alpha=1)
    return figure


def _outer_labels(figure: Figure) -> None:
    lowest: dict[int, Axes] = {}
    for axes in figure.axes:
        place = axes.get_subplotspec()
        column = place.colspan.start if place else 0
        if column in lowest:
            lowest[column].set_xlabel("")
        lowest[column] = axes
    figure.align_ylabels()


@styled
def blank(table: pd.DataFrame, binding: Binding) -> Figure:
    """A figure without panels: its title, and a caption with the reason."""
    del table
    return finish(Figure(figsize=(binding.sheet.width, 0.05), layout="constrained"), binding, {})


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
            xytext=(-aside, 3), textcoords="offset points", rotation=90, ha="center", va="bottom",
            fontsize=small(), color=colour, zorder=5,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=2.5, foreground=PAPER)])
