"""Published numbers beside measured ones: made-up records, tables and figures."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from fakes_records import SCALE, SIZES, Fake, Sweep, fake_sweep

from kvdyno import report
from kvdyno.analysis import analyse
from kvdyno.model.experiment import FigureSpec, Overlay, PublishedValue, TableSpec
from kvdyno.model.results import Analysis
from kvdyno.report.figures import draw_figure
from kvdyno.report.tables import build_grid, to_csv
from plots import style

PAPER = tuple(round(size / SCALE) for size in SIZES)


def value(engine: str, size: int, rate: float) -> PublishedValue:
    return PublishedValue(engine=engine, axes={"workload": "C", "dataset": size}, value=rate)


OVERLAY = Overlay(
    short="A Title (2020)",
    source="table 1",
    metric="throughput",
    unit="op/s",
    values=(
        value("LevelDB", PAPER[0], 600e3),
        value("LevelDB", PAPER[1], 300e3),
        value("RocksDB", PAPER[0], 300e3),
        value("LevelDB", 7, 1e6),
        value("AnotherDB", PAPER[0], 1e6),
    ),
)
KEY = "title/rates"
WHERE = {"workload": ("C",)}
VALUES = TableSpec(id="t", rows=("dataset",), columns=("engine",), where=WHERE, published=KEY)
RATIOS = VALUES.model_copy(update={"id": "r", "ratio_to": "RocksDB"})
LINES = FigureSpec(id="lines", kind="lines", x="dataset", where=WHERE, published=KEY)
BARS = FigureSpec(id="bars", kind="bars", x="dataset", where=WHERE, ratio_to="RocksDB", published=KEY)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return fake_sweep(
        Fake(folder=tmp_path_factory.mktemp("runs"), repetitions=3, workloads=("C",), files=False)
    )


@pytest.fixture(scope="module")
def found(sweep: Sweep) -> Analysis:
    experiment = sweep.experiment.model_copy(
        update={
            "figures": (LINES, BARS),
            "tables": (VALUES, RATIOS),
            "claims": (),
            "published": {KEY: OVERLAY},
        }
    )
    return analyse(experiment, sweep.plan, sweep.records, run_dirs={})


def rows(spec: TableSpec, found: Analysis) -> dict[tuple[str, str], dict[str, str]]:
    grid = build_grid(spec, found)
    assert grid is not None
    lines = csv.DictReader(to_csv(grid).splitlines())
    return {(line["engine"], line["dataset"]): line for line in lines}


def test_values_stand_where_axes_and_engines_match_at_paper_scale(found: Analysis) -> None:
    published = {key: row["value"] for key, row in rows(VALUES, found).items() if "published" in key[0]}
    assert {key: float(number) for key, number in published.items()} == {
        ("LevelDB, published", "64 MiB"): 600e3,
        ("LevelDB, published", "256 MiB"): 300e3,
        ("RocksDB, published", "64 MiB"): 300e3,
    }


def test_a_ratio_of_ratios_carries_the_measured_interval(found: Analysis) -> None:
    table = rows(RATIOS, found)
    measured, over = table["LevelDB", "64 MiB"], table["LevelDB, measured over published", "64 MiB"]
    assert float(table["LevelDB, published", "64 MiB"]["value"]) == 2
    for name in ("value", "low", "high"):
        assert float(over[name]) == pytest.approx(float(measured[name]) / 2)
    assert over["n"] == measured["n"]
    assert ("LevelDB, published", "256 MiB") not in table, "the document has no such value of the baseline"


def test_a_table_cites_its_document(found: Analysis) -> None:
    grid = build_grid(VALUES, found)
    assert grid is not None
    assert grid.caption.endswith("Published: A Title (2020), table 1.")
    nowhere = VALUES.model_copy(update={"where": {"dataset": (PAPER[2],)}})
    absent = build_grid(nowhere, found)
    assert absent is not None
    assert absent.caption.endswith(f"{KEY} has no number at these points.")


@pytest.mark.parametrize("spec", [LINES, BARS], ids=lambda spec: spec.id)
def test_a_figure_has_hollow_marks_and_a_legend_entry(
    spec: FigureSpec, found: Analysis, tmp_path: Path
) -> None:
    drawn = draw_figure(spec, found, folder=tmp_path)
    assert drawn is not None
    text = drawn.files.svg.read_text()
    assert "published: A Title (2020)" in text
    plain = spec.model_copy(update={"published": None, "id": "plain"})
    without = draw_figure(plain, found, folder=tmp_path)
    assert without is not None
    colour = style.colours(["RocksDB", "LevelDB"])["LevelDB"].lower()
    assert text.count(colour) > without.files.svg.read_text().count(colour)


def test_a_page_shows_published_rows(sweep: Sweep, found: Analysis, tmp_path: Path) -> None:
    by_rows = VALUES.model_copy(update={"rows": ("engine",), "columns": ("dataset",)})
    experiment = sweep.experiment.model_copy(update={"figures": (), "tables": (by_rows,), "claims": ()})
    paths = report.write_report(found, experiment, out=tmp_path, commands=())
    assert "LevelDB, published" in paths.html.read_text()
