"""One unit for a row of panels, logarithmic scales by a rule, grids without a lone panel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import plots
from plots import SCREEN, Binding, scales, style


def table(**values: tuple[float, ...]) -> pd.DataFrame:
    """A panel for each name, a bar for each of its values."""
    rows = [
        {"panel": panel, "label": f"e{place}", "value": value, "low": np.nan, "high": np.nan, "n": 3}
        for panel, some in values.items()
        for place, value in enumerate(some)
    ]
    return pd.DataFrame(rows).assign(status="ok", unit="op/s", part="p", measure="Rate", x="x")


def draw(rows: pd.DataFrame, kind: str = "bars", **options: Any) -> Figure:
    binding = Binding(
        x="x", series=("label",), panels=("panel",), label="Throughput", unit="op/s", options=options
    )
    return plots.kinds()[kind].draw(rows, binding)


def ticks(figure: Figure, place: int) -> list[str]:
    figure.canvas.draw()
    return [text.get_text() for text in figure.axes[place].get_yticklabels()]


def test_panels_of_a_row_share_a_unit_that_stands_once() -> None:
    figure = draw(table(a=(40e3, 20e3), b=(400.0, 300.0), c=(2e3, 1e3)))
    assert [axes.get_ylabel() for axes in figure.axes] == ["Throughput, kop/s", "", ""]
    assert "0.4" in ticks(figure, 1)


def test_rows_of_panels_have_units_of_their_own() -> None:
    figure = draw(table(a=(40e3,), b=(4e3,), c=(40.0,), d=(4.0,)))
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["Throughput, kop/s", "", "Throughput, op/s", ""]


@pytest.mark.parametrize("kind", ["bars", "lines"])
@pytest.mark.parametrize(
    ("values", "log"),
    [((100.0, 2000.0), False), ((100.0, 3000.0), True), ((0.0, 3000.0), False), ((-1.0, 3000.0), False)],
)
def test_values_that_span_decades_stand_on_a_logarithmic_scale(
    kind: str, values: tuple[float, ...], log: bool
) -> None:
    figure = draw(table(a=values, b=(50.0, 60.0)), kind)
    assert {axes.get_yscale() for axes in figure.axes} == {"log" if log else "linear"}


def test_panels_far_from_one_another_are_no_reason_for_a_logarithmic_scale() -> None:
    assert draw(table(a=(1.0, 2.0), b=(1e6, 2e6))).axes[0].get_yscale() == "linear"


def test_an_interval_down_to_zero_keeps_the_scale_linear() -> None:
    rows = table(a=(1.0, 1000.0))
    rows.loc[0, ["low", "high"]] = (0.0, 3.0)
    assert draw(rows).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize("log", [True, False])
def test_the_option_outweighs_the_rule(log: bool) -> None:
    values = (1.0, 2.0) if log else (1.0, 1e5)
    assert draw(table(a=values), log=log).axes[0].get_yscale() == ("log" if log else "linear")


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_a_value_without_a_place_on_a_logarithmic_scale_has_the_reason(kind: str) -> None:
    figure = draw(table(a=(0.0, 100.0)), kind, log=True)
    assert "× zero or less" in {text.get_text() for text in figure.findobj(Text)}


def test_values_below_zero_are_on_the_scale() -> None:
    low, high = draw(table(a=(-5.0, 2.0))).axes[0].get_ylim()
    assert low <= -5
    assert high >= 2


def test_logarithmic_scales_have_ticks_within_a_decade_and_over_many() -> None:
    assert ticks(draw(table(a=(2e3, 7e3)), log=True), 0) == ["2", "5", "10"]
    assert ticks(draw(table(a=(2.0, 7e6))), 0) == ["0.01", "0.1", "1", "10", "100", "1000", "10000"]


@pytest.mark.parametrize(
    ("panels", "columns"),
    [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4), (9, 3), (10, 2), (11, 4), (12, 4)],
)
def test_grids_have_no_lone_panel(panels: int, columns: int) -> None:
    assert style.columns_for(panels) == columns
    assert columns == 1 or panels % columns != 1


def test_figures_with_panels_side_by_side_have_one_width() -> None:
    widths = {draw(table(**{f"p{n}": (1.0,) for n in range(count)})).get_figwidth() for count in range(2, 9)}
    assert widths == {SCREEN.width}


def test_x_is_named_below_the_lowest_panels_alone() -> None:
    figure = draw(table(**{f"p{n}": (1.0,) for n in range(5)}))
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "x", "x", "x"]


def test_panels_are_named_by_what_differs() -> None:
    rows = table(a=(1.0,), b=(2.0,)).assign(size="1 GiB")
    binding = Binding(x="x", series=("label",), panels=("panel", "size"))
    figure = plots.kinds()["bars"].draw(rows, binding)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]
    one = plots.kinds()["bars"].draw(rows.query("panel == 'a'"), binding)
    assert one.axes[0].get_title(loc="left") == "a"


def test_ticks_are_round() -> None:
    assert scales.nice_step(7.3) == 2
    assert scales.nice_step(0) == 1
    assert scales.trimmed(0.25) == "0.25"
    assert scales.trimmed(2000.0) == "2000"
