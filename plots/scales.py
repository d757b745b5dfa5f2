"""Axes of values: one unit for each row of panels, and logarithmic scales where values span decades."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator

from . import Binding
from .style import PUBLISHED, QUIET
from .units import scale_for, three_digits

#: From this largest / smallest value of a panel on, a figure is logarithmic: on a scale from zero, the
#: smallest mark would be lower than a thirtieth of the panel.
LOG_FROM = 30
_HEADROOM = 1.03  # of the value axis, above the largest value
_LABEL_LETTERS = 12.8  # an inch fit beside a panel
_DENSE = (1, 2, 5)  # ticks of a decade where a panel shows less than LOG_FROM


@dataclass(frozen=True)
class Scaled:
    """The axes of a panel, and what its scale has to hold: values with the ends of their intervals, and of
    what, where panels differ in that.
    """

    axes: Axes
    values: tuple[float, ...]
    unit: str
    measure: str = ""


def scaled(axes: Axes, values: Iterable[float], unit: str, measure: str = "") -> Scaled:
    """The panel; values that are missing do not count."""
    return Scaled(axes, tuple(float(v) for v in values if math.isfinite(v)), unit, measure)


def extent(rows: pd.DataFrame) -> list[float]:
    """The values of a panel's rows, the ends of their intervals, and published ones beside them."""
    columns = [name for name in ("value", "low", "high", PUBLISHED) if name in rows]
    return [float(v) for name in columns for v in rows[name]]


def logarithmic(panels: Iterable[pd.DataFrame], binding: Binding) -> bool:
    """Whether the figure's values stand on a logarithmic scale: as the option `log` asks, else if they span
    decades (LOG_FROM) in one of the panels and all of them, and all intervals, are above zero.
    """
    if (asked := binding.options.get("log")) is not None:
        return bool(asked)
    shown = [rows.loc[rows["value"].notna(), ["value", "low"]] for rows in panels]
    if any((rows <= 0).any(axis=None) for rows in shown):
        return False
    return any(len(rows) and rows["value"].max() / rows["value"].min() >= LOG_FROM for rows in shown)


def placeable(rows: pd.DataFrame, *, log: bool) -> pd.DataFrame:
    """The rows; on a logarithmic scale those without a place there have a reason instead of a value."""
    if not log:
        return rows
    nowhere = rows["value"] <= 0
    status = rows["status"].mask(nowhere, "zero or less")
    return rows.assign(value=rows["value"].mask(nowhere), status=status)


def value_axes(panels: Sequence[Scaled], binding: Binding, *, log: bool, from_zero: bool) -> None:
    """Label and ticks of the panels' axes of values. Neighbours in a row that show the same share the unit's
    prefix, which stands with the label at the first of them.
    """
    room = int(_LABEL_LETTERS * min(map(_row_height, panels), default=1.0) / binding.sheet.letters)
    for _, group in itertools.groupby(panels, key=lambda panel: (_row(panel.axes), panel.measure)):
        neighbours = list(group)
        values = [v for panel in neighbours for v in panel.values]
        divisor, spelled = scale_for(_typical(values, log=log), neighbours[0].unit)
        label = ", ".join(part for part in (binding.label, spelled) if part)
        neighbours[0].axes.set_ylabel("\n".join(textwrap.wrap(label, room)))
        for panel in neighbours:
            if binding.reference is not None:
                panel.axes.axhline(binding.reference, color=QUIET, linewidth=0.9, linestyle="--", zorder=1)
            if log:
                _log_axis(panel, divisor)
            else:
                _linear_axis(panel, divisor, from_zero=from_zero)


def _row_height(panel: Scaled) -> float:
    """Inches of the figure that a row of panels has."""
    place, figure = panel.axes.get_subplotspec(), panel.axes.get_figure(root=True)
    rows = place.get_gridspec().nrows if place else 1
    return float(figure.get_figheight() if figure else 1.0) / rows


def _row(axes: Axes) -> int:
    place = axes.get_subplotspec()
    return place.rowspan.start if place else 0


def _typical(values: Sequence[float], *, log: bool) -> float:
    """The value whose unit suits a row: the largest, on a logarithmic scale the middle."""
    if not log:
        return max(map(abs, values), default=1.0) or 1.0
    above = [v for v in values if v > 0] or [1.0]
    return math.sqrt(min(above) * max(above))


def _linear_axis(panel: Scaled, divisor: float, *, from_zero: bool) -> None:
    axes, largest, lowest = panel.axes, max(panel.values, default=1.0), min(panel.values, default=0.0)
    step = nice_step(max(largest, -lowest) / divisor)
    axes.yaxis.set_major_locator(MultipleLocator(step * divisor))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: trimmed(v / divisor)))
    if from_zero:
        # Autoscaling leaves room in proportion to the values' spread: too little above a flat line.
        top = max(axes.get_ylim()[1], _HEADROOM * largest)
        axes.set_ylim(bottom=_HEADROOM * min(lowest, 0.0), top=top)


def _log_axis(panel: Scaled, divisor: float) -> None:
    above = [v / divisor for v in panel.values if v > 0] or [1.0]
    low, high = min(above), max(above)
    dense = [m * 10.0**e for e in range(_power(low), _power(high) + 2) for m in _DENSE]
    bottom = max(tick for tick in dense if tick <= low * 1.0001)
    top = min(tick for tick in dense if tick >= high * 0.9999 and tick > bottom)
    ticks = [t for t in dense if bottom <= t <= top]
    if top / bottom >= LOG_FROM:
        ticks = [10.0**e for e in range(_power(bottom), _power(top) + 1) if bottom <= 10.0**e <= top]
    panel.axes.set_yscale("log")
    panel.axes.set_ylim(bottom * divisor / 1.1, top * divisor * 1.1)
    panel.axes.yaxis.set_major_locator(FixedLocator([tick * divisor for tick in ticks]))
    panel.axes.yaxis.set_minor_locator(NullLocator())
    panel.axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: trimmed(v / divisor)))


def _power(value: float) -> int:
    """The exponent of the power of ten at or below the value."""
    return math.floor(math.log10(value) + 1e-9)


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
