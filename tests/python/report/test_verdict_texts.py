"""Verdicts, differences, durability and costs, as a reader of a report meets them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes_records import SIZES, Fake, Sweep, fake_sweep

from kvdyno.analysis import analyse
from kvdyno.model.engine import Durability
from kvdyno.model.experiment import FigureSpec, TableSpec
from kvdyno.model.record import Metric
from kvdyno.model.results import Analysis
from kvdyno.model.words import verdict_words
from kvdyno.report import summarise, write_report
from kvdyno.report.figures import _estimates as estimates_table
from kvdyno.report.figures import draw_figure
from kvdyno.report.summary import verdict_text
from kvdyno.report.tables import build_grid, to_csv, to_markdown

PROMISES = {
    "rocksdb": Durability(process="kept", power="lost", note="a log that is never synced"),
    "leveldb": Durability(process="kept", power="lost", power_loss_seconds=1, consistent_prefix=True),
}


def changed(
    tmp_path: Path,
    *,
    promises: Mapping[str, Durability] | None = None,
    space: bool = False,
    **options: object,
) -> Sweep:
    """A small sweep whose engines make these promises, and whose first repetition of LevelDB stalls never."""
    fake = Fake(folder=tmp_path, repetitions=5, workloads=("A",), sizes=SIZES[:2], files=False)
    sweep = fake_sweep(dataclasses.replace(fake, **options))  # type: ignore[arg-type]
    records = []
    for record in sweep.records:
        assert record.outcome is not None
        stops = float(record.repetition - 1) if record.point.engine == "leveldb" else 0.0
        more = {"engine.stops": Metric(value=stops, unit="count")}
        more |= {"space_amplification": Metric(value=1.31, unit="ratio")} if space else {}
        phases = tuple(p.model_copy(update={"metrics": {**p.metrics, **more}}) for p in record.outcome.phases)
        engine = record.outcome.engine
        engine = engine.model_copy(update={"durability": (promises or {}).get(record.point.engine)})
        outcome = record.outcome.model_copy(update={"phases": phases, "engine": engine})
        records.append(record.model_copy(update={"outcome": outcome}))
    return dataclasses.replace(sweep, records=tuple(records))


def analysed(sweep: Sweep) -> Analysis:
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})


def page_of(sweep: Sweep, out: Path) -> str:
    experiment = sweep.experiment.model_copy(update={"figures": (), "tables": ()})
    return write_report(analysed(sweep), experiment, out=out, commands=()).html.read_text("utf-8")


@pytest.mark.parametrize(
    ("verdict", "within", "words"),
    [
        ("faster", False, "faster"),
        ("faster", True, "faster, but within 5 %"),
        ("same", True, "same within 5 %"),
        ("undecided", False, "undecided"),
        ("equal", False, "equal"),
    ],
)
def test_verdicts_have_words(verdict: str, within: bool, words: str) -> None:
    assert verdict_words(verdict, within=within, margin=0.05) == words


@pytest.mark.parametrize(
    ("p", "needed", "words"),
    [
        (0.3, 12, "undecided: a new sweep of about 12 repetitions would settle it"),
        (0.01, 12, "undecided among so many comparisons: a new sweep of about 12 repetitions"),
        (0.3, 0, "undecided: more than 1000 repetitions would settle it"),
    ],
)
def test_undecided_advises_a_new_sweep(p: float, needed: int, words: str) -> None:
    row = {"verdict": "undecided", "p": p, "needed": needed, "within": False}
    assert verdict_text(row, 0.05).startswith(words)


def test_tables_and_figures_show_differences_where_there_is_no_ratio(tmp_path: Path) -> None:
    found = analysed(changed(tmp_path))
    spec = TableSpec(
        id="t", metric="engine.stops", rows=("workload",), columns=("dataset",), ratio_to="rocksdb"
    )
    grid = build_grid(spec, found)
    assert grid is not None
    assert "+2.00 count (" in to_markdown(grid)
    assert "differences with their unit where a value is 0" in grid.caption
    assert ",2.0," in to_csv(grid)
    assert ",count,ok," in to_csv(grid)
    figure = FigureSpec(id="f", kind="bars", x="dataset", metric="engine.stops", ratio_to="rocksdb")
    assert set(estimates_table(figure, found)["status"]) == {"no ratio"}
    assert draw_figure(figure, found, folder=tmp_path) is not None


def test_the_headline_shows_what_a_power_cut_takes(tmp_path: Path) -> None:
    sweep = changed(tmp_path, promises=PROMISES)
    (sentence,) = summarise(analysed(sweep)).overall
    assert sentence.endswith(
        "; a power cut may lose the last 1 s of its writes, of RocksDB's all not yet written back"
    )
    page = page_of(sweep, tmp_path / "out")
    assert "a power cut may lose the last 1 s" in page[: page.index('id="trust"')]
    assert "a log that is never synced" in page[page.index('id="builds"') :]


@pytest.mark.parametrize(
    "promises", [{}, {"rocksdb": PROMISES["rocksdb"]}, dict.fromkeys(PROMISES, PROMISES["rocksdb"])]
)
def test_equal_or_unknown_durability_stays_out_of_the_headline(
    tmp_path: Path, promises: Mapping[str, Durability]
) -> None:
    (sentence,) = summarise(analysed(changed(tmp_path, promises=promises))).overall
    assert "power cut" not in sentence


def test_space_amplification_stands_beside_throughput(tmp_path: Path) -> None:
    page = page_of(changed(tmp_path / "with", space=True), tmp_path / "out")
    results = page[page.index('id="costs"') : page.index('id="differences"')]
    assert "Throughput and what it was paid with" in results
    assert results.count(">1.31<") == 4
    assert "what it was paid with" not in page_of(changed(tmp_path / "without"), tmp_path / "out")


def test_the_page_notes_that_verdicts_are_adjusted(tmp_path: Path) -> None:
    page = page_of(changed(tmp_path), tmp_path / "out")
    assert "adjusted for the number of comparisons (Holm)" in page
    assert "lies within 0.952 and 1.05" in page
