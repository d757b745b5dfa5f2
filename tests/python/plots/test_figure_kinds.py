"""Every kind draws, shows why a value is missing, and gives equal bytes for equal tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import plots
from plots import Binding, style
from plots.units import axis_text, quantity, three_digits

SIZES = (64 << 20, 256 << 20, 1 << 30)


def estimates() -> pd.DataFrame:
    rows = [
        {"label": label, "dataset": size, "workload": w, "value": v, "low": v * 0.9, "high": v * 1.2, "n": 5}
        for place, size in enumerate(SIZES)
        for w in ("A", "C")
        for label, v in (("RocksDB", 50e3 / (1 + place)), ("LevelDB", 80e3 / (1 + 2 * place)))
    ]
    table = pd.DataFrame(rows).assign(status="ok", unit="op/s", part="anonymous", measure="Rate")
    table.loc[len(table) - 1, ["value", "low", "high"]] = np.nan
    table.loc[len(table) - 1, "status"] = "out_of_memory"
    return table


def percentiles() -> pd.DataFrame:
    levels = (10.0, 50.0, 90.0, 99.0, 99.9, 100.0)
    rows = [
        {"label": label, "workload": "A", "percentile": p, "value": base * (1 + p), "n": 5}
        for label, base in (("RocksDB", 2e3), ("LevelDB", 1e3))
        for p in levels
    ]
    return pd.DataFrame(rows)


def series() -> pd.DataFrame:
    rows = [
        {"label": label, "workload": "A", "run": f"{label}.r1", "elapsed": float(t), "value": 1e4 + t}
        for label in ("RocksDB", "LevelDB")
        for t in range(5, 20)
    ]
    return pd.DataFrame(rows)


def timeline() -> pd.DataFrame:
    values = series().assign(layer="value", status="ok")
    stall = {"label": "RocksDB", "layer": "stall", "elapsed": 2.0, "duration": 1.5, "state": "stop"}
    return pd.concat([values, pd.DataFrame([{**stall, "cause": "level0", "detail": "", "status": "ok"}])])


def choice() -> pd.DataFrame:
    rows = [
        {
            "label": "RocksDB" if mix < 0.01 else "LevelDB", "dataset": size, "workload": w, "mix": mix,
            "value": 1.25, "decided": mix != 0.01, "unit": "ratio", "status": "ok", "n": 5,
        }
        for size in SIZES
        for w in ("A", "C")
        for mix in (0.001, 0.01, 3.0)
    ]  # fmt: skip
    return pd.DataFrame(rows)


TABLES = {
    "estimates": estimates,
    "percentiles": percentiles,
    "series": series,
    "timeline": timeline,
    "choice": choice,
}


def binding(kind: plots.Kind) -> Binding:
    return Binding(
        title="A title",
        x="dataset" if kind.table in ("estimates", "choice") else None,
        series=("label",),
        panels=("label",) if kind.table == "timeline" else ("workload",),
        label="Throughput",
        unit="op/s",
        units={"dataset": "byte"},
        contenders=("LevelDB", "RocksDB"),
        caption="n = 5",
    )


def draw(name: str) -> Figure:
    kind = plots.kinds()[name]
    return kind.draw(TABLES[kind.table](), binding(kind))


def texts(figure: Figure) -> set[str]:
    figure.canvas.draw()
    return {artist.get_text() for artist in figure.findobj(matplotlib.text.Text)}


def test_the_kinds_are_found_in_the_folder() -> None:
    assert set(plots.kinds()) == {
        "bars", "choice", "lines", "measures", "percentiles", "stacked", "timeline", "timeseries",
    }  # fmt: skip
    assert all(len(kind.summary) > 20 for kind in plots.kinds().values())


@pytest.mark.parametrize("name", plots.kinds())
def test_a_figure_names_its_series_title_unit_and_caption(name: str) -> None:
    found = texts(draw(name))
    named = {"anonymous"} if name == "stacked" else {"LevelDB", "RocksDB"}
    assert {"A title", "n = 5", *named} <= found
    assert name == "choice" or any(text.endswith("kop/s") for text in found)


def test_a_map_shows_mixes_advantages_and_what_is_open() -> None:
    figure = draw("choice")
    assert {"1 : 1,000", "1 : 100", "3 : 1", "1.25×", "64 MiB", "Throughput"} <= texts(figure)
    assert any("not shown to be cheaper" in text for text in texts(figure))
    looks = style.looks(choice(), binding(plots.kinds()["choice"]))
    cells = [cell for cell in figure.axes[0].patches if cell.get_label() != "paper"]
    assert len(cells) == 9
    assert to_hex(cells[0].get_facecolor()).upper() == looks[("RocksDB",)].colour
    assert [bool(cell.get_hatch()) for cell in cells] == [False, True, False] * 3
    closed = plots.kinds()["choice"].draw(choice().assign(decided=True), binding(plots.kinds()["choice"]))
    assert not any("not shown" in text for text in texts(closed))


@pytest.mark.parametrize("name", plots.kinds())
def test_two_saves_of_equal_tables_are_equal_bytes(name: str, tmp_path: Path) -> None:
    first, second = (plots.save(draw(name), tmp_path / stem) for stem in ("a", "b"))
    for suffix in ("pdf", "svg", "png"):
        one, other = getattr(first, suffix).read_bytes(), getattr(second, suffix).read_bytes()
        assert one == other
        assert len(one) > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{stem}.{suffix}" for stem in "ab" for suffix in ("pdf", "svg", "png")
    )


@pytest.mark.parametrize("name", plots.kinds())
def test_a_papers_figure_fits_its_columns_and_is_legible_there(name: str) -> None:
    kind = plots.kinds()[name]
    sheet = plots.COLUMNS
    figure = kind.draw(TABLES[kind.table](), replace(binding(kind), title="", caption="", sheet=sheet))
    figure.canvas.draw()
    letters = [text for text in figure.findobj(matplotlib.text.Text) if text.get_text()]
    assert min(text.get_fontsize() for text in letters) >= 6
    assert figure.get_figwidth() in (sheet.width, sheet.alone)
    assert figure.get_figheight() <= sheet.tallest + 1.2


@pytest.mark.parametrize("name", ["bars", "lines", "measures", "stacked"])
def test_a_point_without_a_value_shows_the_reason(name: str) -> None:
    assert "× out of memory" in texts(draw(name))


@pytest.mark.parametrize("name", ["bars", "lines"])
def test_a_reference_is_a_line_across_each_panel(name: str) -> None:
    kind = plots.kinds()[name]
    bound = Binding(**{**binding(kind).__dict__, "reference": 1})
    for axes in kind.draw(estimates(), bound).axes:
        assert any(set(line.get_ydata()) == {1} and line.get_linestyle() == "--" for line in axes.lines)


def test_bars_on_a_logarithmic_axis_are_dots() -> None:
    kind = plots.kinds()["bars"]
    figure = kind.draw(estimates(), Binding(**{**binding(kind).__dict__, "options": {"log": True}}))
    assert not figure.axes[0].patches
    assert figure.axes[0].get_yscale() == "log"
    assert len(figure.axes[0].lines) >= 2


def test_the_users_matplotlib_settings_neither_matter_nor_change() -> None:
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        figure = draw("bars")
        assert matplotlib.rcParams["font.size"] == 30
    assert figure.axes[0].get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_error_bars_are_the_intervals() -> None:
    figure = draw("lines")
    ends = [
        [float(y) for y in segment[:, 1]]
        for collection in figure.axes[0].collections
        for segment in collection.get_segments()  # type: ignore[attr-defined]
    ]
    assert [pytest.approx(45e3), pytest.approx(60e3)] in ends


def test_a_contender_keeps_its_colour_when_another_is_absent() -> None:
    both = style.looks(estimates(), binding(plots.kinds()["bars"]))
    alone = style.looks(estimates().query("label == 'RocksDB'"), binding(plots.kinds()["bars"]))
    assert alone[("RocksDB",)].colour == both[("RocksDB",)].colour
    assert both[("LevelDB",)].colour != both[("RocksDB",)].colour


def test_a_second_series_column_changes_line_and_hatch_not_colour() -> None:
    two = Binding(series=("label", "workload"))
    looks = style.looks(estimates(), two)
    assert looks[("RocksDB", "A")].colour == looks[("RocksDB", "C")].colour
    assert looks[("RocksDB", "A")].hatch != looks[("RocksDB", "C")].hatch
    assert looks[("RocksDB", "A")].line != looks[("RocksDB", "C")].line


def test_shares_of_a_stack_add_up_to_100() -> None:
    table = pd.concat([estimates(), estimates().assign(part="page cache")]).query("status == 'ok'")
    bound = binding(plots.kinds()["stacked"])
    shared = Binding(**{**bound.__dict__, "options": {"share": True}})
    figure = plots.kinds()["stacked"].draw(table, shared)
    tops = [bar.get_y() + bar.get_height() for bar in figure.axes[0].patches]
    assert max(tops) == pytest.approx(100)


def test_a_stack_without_some_parts_is_drawn_and_one_without_any_shows_the_reason() -> None:
    other = estimates().assign(part="page cache")
    other["value"] = other["value"].where(other["label"] == "RocksDB")
    table = pd.concat([estimates(), other.assign(status="not_measured")])
    found = texts(plots.kinds()["stacked"].draw(table, binding(plots.kinds()["stacked"])))
    assert "× out of memory" in found
    assert "× not measured" not in found


def test_stalls_have_their_causes_colours_in_stacks() -> None:
    table = estimates().assign(part="stop, level 0").query("status == 'ok'")
    figure = plots.kinds()["stacked"].draw(table, binding(plots.kinds()["stacked"]))
    look = style.stall_look("stops, level 0")
    assert look
    assert {to_hex(bar.get_facecolor()) for bar in figure.axes[0].patches} == {look["facecolor"]}
    assert style.stall_look("stop, level 0") != style.stall_look("delay, level 0")
    assert style.stall_look("page cache") is None


def test_each_measure_has_axes_and_a_unit_of_its_own() -> None:
    kind = plots.kinds()["measures"]
    size = estimates().assign(measure="Size", unit="byte", value=float(3 << 30), low=np.nan, high=np.nan)
    figure = kind.draw(pd.concat([estimates(), size]), binding(kind))
    titled = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert list(titled) == ["Rate, A", "Rate, C", "Size, A", "Size, C"]
    assert titled["Rate, A"].get_ylabel() == "kop/s"
    assert titled["Size, A"].get_ylabel() == "GiB"
    assert all(axes.get_ylim()[0] == 0 for axes in figure.axes)


def test_texts_of_narrow_panels_stay_apart_and_inside_the_figure() -> None:
    levels = [100 * (1 - 10.0**-nines) for nines in np.arange(0, 6.5, 0.25)]
    names = [f"{size} MiB, keys that are popular together" for size in (64, 256, 1024)]
    rows = [
        {"label": "LevelDB", "workload": name, "percentile": p, "value": 1e3 + p, "n": 5}
        for name in names
        for p in levels
    ]
    kind = plots.kinds()["percentiles"]
    figure = kind.draw(pd.DataFrame(rows), replace(binding(kind), sheet=plots.COLUMNS))
    figure.canvas.draw()
    for axes in figure.axes:
        shown = [tick for tick in axes.get_xticklabels() if tick.get_text()]
        assert {"0", "99.9999"} <= {tick.get_text() for tick in shown}
        boxes = [tick.get_window_extent() for tick in shown]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    titles = [text for text in figure.findobj(matplotlib.text.Text) if "popular" in text.get_text()]
    assert len(titles) == len(names)
    assert all(text.get_window_extent().x1 <= figure.bbox.width for text in titles)


def test_legends_and_captions_stay_inside_the_figure() -> None:
    parts = [f"a part with a rather long name, {n}" for n in range(7)]
    table = pd.concat([estimates().assign(part=part) for part in parts])
    bound = replace(binding(plots.kinds()["stacked"]), caption="Medians over repetitions, and so on. " * 9)
    figure = plots.kinds()["stacked"].draw(table, bound)
    figure.canvas.draw()
    width = figure.bbox.width
    for artist in (*figure.legends, *figure.texts):
        assert artist.get_window_extent().x1 <= width


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (48213.0, "op/s", "48.2 kop/s"),
        (1.5e6, "ns", "1.50 ms"),
        (1500.0, "ns/op", "1.50 µs/op"),
        (float(1 << 30), "byte", "1.00 GiB"),
        (2.9, "ratio", "2.90"),
        (0.0, "op", "0 op"),
        (2.0, "s", "2.00 s"),
        (3.5, "call/op", "3.50 call/op"),
        (2.5e6, "us", "2.50 s"),
        (12.0, "count", "12.0 count"),
        (3400.0, "count", "3.40 thousand"),
    ],
)
def test_quantities_read_well(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_axis_values_read_as_they_are_written() -> None:
    assert axis_text(1 << 30, "byte") == "1 GiB"
    assert axis_text(np.int64(64 << 20), "byte") == "64 MiB"
    assert axis_text(4.0, "") == "4"
    assert axis_text(1_000_000.0, "") == "1000000"
    assert axis_text(0.8, "") == "0.8"
    assert axis_text(True, "") == "true"
    assert axis_text(float("nan"), "byte") == "–"
    assert three_digits(0.0123456) == "0.0123"
