"""Figures over time, captions and the order of contenders."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from fakes_records import SIZES, Fake, fake_sweep
from matplotlib.figure import Figure
from matplotlib.text import Text

import plots
from kvdyno.analysis import analyse
from kvdyno.model.experiment import FigureSpec
from kvdyno.model.results import Analysis
from kvdyno.report.figures import draw_figure
from plots import style


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    fake = Fake(folder=tmp_path_factory.mktemp("runs"), repetitions=2, workloads=("A", "C"), sizes=SIZES[:1])
    sweep = fake_sweep(fake)
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)


def drawn(spec: FigureSpec, analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> tuple[Figure, str]:
    """The figure and its caption."""
    kept: list[Figure] = []

    def keep(figure: Figure, stem: Path) -> plots.FigureFiles:
        kept.append(figure)
        return plots.FigureFiles(pdf=stem, svg=stem, png=stem)

    monkeypatch.setattr(plots, "save", keep)
    made = draw_figure(spec, analysis, folder=Path())
    assert made is not None
    return kept[0], made.caption


def with_intervals(analysis: Analysis, count: int, *, runs: int | None = None) -> Analysis:
    """With the first intervals only of each run, or of so many runs."""
    series = analysis.series
    chosen = list(series["run_id"].drop_duplicates())[:runs]
    first = series.groupby(["run_id", "phase", "column"]).cumcount() < count
    return dataclasses.replace(analysis, series=series[first | ~series["run_id"].isin(chosen)])


OVER_TIME = ("timeseries", "timeline")


@pytest.mark.parametrize("kind", OVER_TIME)
def test_one_interval_is_no_course_of_time_and_the_figure_has_the_reason(
    kind: str, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = FigureSpec(id="f", kind=kind, title="Over time", phase="measure")
    quiet = dataclasses.replace(analysis, events=analysis.events.iloc[:0])
    figure, caption = drawn(spec, with_intervals(quiet, 1), monkeypatch)
    assert not figure.axes
    assert "no run has more than one interval in its measure phase" in caption
    assert "series.interval" in caption
    shown = {" ".join(text.get_text().split()) for text in figure.findobj(Text)}
    assert {"Over time", caption} <= shown


@pytest.mark.parametrize("kind", OVER_TIME)
def test_two_intervals_are_a_line(kind: str, analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    figure, _ = drawn(
        FigureSpec(id="f", kind=kind, phase="measure"), with_intervals(analysis, 2), monkeypatch
    )
    assert figure.axes[0].lines


def test_a_run_of_one_interval_is_a_dot_beside_the_lines_of_others(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = FigureSpec(id="f", kind="timeseries", phase="measure", panels=("workload",))
    figure, caption = drawn(spec, with_intervals(analysis, 1, runs=1), monkeypatch)
    assert "(n = 8 runs)" in caption
    assert "1 of them has one interval, a dot." in caption
    assert [line.get_marker() for axes in figure.axes for line in axes.lines].count(".") == 1


def test_lines_of_many_runs_are_thinner(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = FigureSpec(id="f", kind="timeseries", phase="measure", panels=("workload",))
    many = [analysis.series.assign(run_id=analysis.series["run_id"] + f".{n}") for n in range(4)]
    few, _ = drawn(spec, analysis, monkeypatch)
    crowd, _ = drawn(spec, dataclasses.replace(analysis, series=pd.concat(many)), monkeypatch)
    assert crowd.axes[0].lines[0].get_linewidth() < few.axes[0].lines[0].get_linewidth()


def test_contenders_stand_in_the_experiments_order(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [contender.label for contender in analysis.contenders]
    assert labels != sorted(labels)
    for kind in ("bars", "percentiles", "timeseries"):
        metric = "read" if kind == "percentiles" else "throughput"
        spec = FigureSpec(id="f", kind=kind, metric=metric, phase="measure", panels=("workload",))
        figure, _ = drawn(spec, analysis, monkeypatch)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == labels
    chosen = style.colours(labels)
    assert chosen[labels[0]] == style.COLOURS[0]


@pytest.mark.parametrize(
    ("kind", "metric", "beginning"),
    [
        ("bars", "throughput", "Marks are medians over repetitions (n = 2); error bars: 95 % intervals"),
        ("lines", "throughput", "Marks are medians over repetitions (n = 2); error bars: 95 % intervals"),
        ("measures", "throughput", "Marks are medians over repetitions (n = 2); error bars"),
        ("stacked", "throughput", "Each part is a median over repetitions (n = 2)."),
        ("percentiles", "read", "A line is the latency of all operations of a point's repetitions together"),
        ("timeseries", "throughput", "A line is one run of the measure phase (n = 8 runs)"),
        ("timeline", "throughput", "The line is repetition 1 of each point, measure phase."),
    ],
)
def test_captions_explain_the_marks(
    kind: str, metric: str, beginning: str, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = FigureSpec(id="f", kind=kind, metric=metric, phase="measure", x="workload")
    assert drawn(spec, analysis, monkeypatch)[1].startswith(beginning)
