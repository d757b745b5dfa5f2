"""Figures of stalls: one run of each point on the clock of a phase, and engines that report none."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from fakes_records import SIZES, Fake, Sweep, fake_sweep
from matplotlib.figure import Figure
from matplotlib.text import Text

import plots
from kvdyno.analysis import analyse
from kvdyno.errors import SpecError
from kvdyno.model.experiment import FigureSpec
from kvdyno.model.record import Metric, Record
from kvdyno.model.results import Analysis
from kvdyno.report import check_figures
from kvdyno.report.figures import draw_figure
from kvdyno.report.single_runs import timeline_rows
from kvdyno.report.words import common_title, define, metric_title

LOST = ("rocksdb", "A", SIZES[1], 1)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    fake = Fake(
        folder=tmp_path_factory.mktemp("runs"), repetitions=2, workloads=("A",), sizes=SIZES[:2],
        statuses={LOST: "out_of_memory"},
    )  # fmt: skip
    made = fake_sweep(fake)
    for record in made.records:
        if record.point.engine == "leveldb":
            header = "phase,begin,duration,ended,kind,state,cause,detail\n"
            (made.run_dirs[record.run_id] / "events.csv").write_text(header)
    return made


@pytest.fixture(scope="module")
def analysis(sweep: Sweep) -> Analysis:
    records = [with_stalls(r) if r.point.engine == "rocksdb" else r for r in sweep.records]
    return analyse(sweep.experiment, sweep.plan, records, run_dirs=sweep.run_dirs)


def with_stalls(record: Record) -> Record:
    """The record with counters that only one of the engines has."""
    if record.outcome is None:
        return record
    counted = {
        "engine.delay_level0_micros": Metric(value=2e6, unit="us"),
        "engine.stop_memtable_micros": Metric(value=5e5, unit="us"),
        "engine.stops_memtable": Metric(value=3, unit="count"),
    }
    phases = tuple(p.model_copy(update={"metrics": {**p.metrics, **counted}}) for p in record.outcome.phases)
    return record.model_copy(update={"outcome": record.outcome.model_copy(update={"phases": phases})})


def shown(spec: FigureSpec, analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every text of the figure."""
    found: set[str] = set()

    def look(figure: Figure, stem: Path) -> plots.FigureFiles:
        figure.canvas.draw()
        found.update(artist.get_text() for artist in figure.findobj(Text))
        return plots.FigureFiles(pdf=stem, svg=stem, png=stem)

    monkeypatch.setattr(plots, "save", look)
    assert draw_figure(spec, analysis, folder=Path()) is not None
    return found


def timeline(**options: Any) -> FigureSpec:
    return FigureSpec(id="t", kind="timeline", phase="measure", options=options)


def test_there_is_one_run_of_each_point(analysis: Analysis) -> None:
    rows = timeline_rows(timeline(repetition=2), analysis)
    runs = rows[["label", "dataset", "run"]].drop_duplicates()
    assert len(runs) == 4
    assert len(runs.drop_duplicates(["label", "dataset"])) == 4
    repetitions = analysis.frame.set_index("run_id")["repetition"]
    assert {repetitions.loc[[run]].iloc[0] for run in runs["run"]} == {2}


def test_time_starts_with_the_phase_and_events_are_cut_to_it(analysis: Analysis) -> None:
    rows = timeline_rows(timeline(repetition=2), analysis)
    one = rows[(rows["label"] == "RocksDB") & (rows["dataset"] == SIZES[0])]
    values, stalls = one[one["layer"] == "value"], one[one["layer"] == "stall"]
    assert (values["elapsed"].min(), values["elapsed"].max()) == (1.0, 40.0)
    assert list(stalls["elapsed"]) == [13.5, 26.25]
    assert not (one["layer"] == "compaction").any()  # it began after the phase

    drained = timeline_rows(timeline(repetition=2).model_copy(update={"phase": "drain"}), analysis)
    job = drained[drained["layer"] == "compaction"].iloc[0]
    assert (job["elapsed"], job["duration"]) == (0.0, 2.5)  # no row shows when the phase began


def test_an_event_that_reaches_over_the_border_is_cut(sweep: Sweep, tmp_path: Path) -> None:
    record = sweep.records[-2]
    assert record.point.engine == "rocksdb"
    folder = tmp_path / "run"
    folder.mkdir()
    for file in sweep.run_dirs[record.run_id].iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "events.csv").write_text(
        "phase,begin,duration,ended,kind,state,cause,detail\n"
        "warmup,-4,5,1,stall,stop,level0,\n"
        "warmup,-4,1,1,stall,stop,level0,\n"
        "measure,39,50,0,stall,delay,pending,\n"
    )
    found = analyse(sweep.experiment, sweep.plan, [record], run_dirs={record.run_id: folder})
    rows = timeline_rows(timeline(repetition=2), found)
    stalls = rows[rows["layer"] == "stall"]
    assert list(zip(stalls["elapsed"], stalls["duration"], strict=True)) == [(0.0, 1.0), (39.0, 1.0)]


def test_the_figure_names_the_run_that_failed_and_engines_without_events(
    analysis: Analysis, tmp_path: Path
) -> None:
    drawn = draw_figure(timeline(mark=["compaction"], causes=["level0"]), analysis, folder=tmp_path)
    assert drawn is not None
    assert drawn.spec.panels == ("label", "dataset")
    assert drawn.caption.startswith("The line is repetition 1 of each point, measure phase.")
    assert "No events are known of LevelDB." in drawn.caption
    assert "No compaction has the cause level0." in drawn.caption
    rows = timeline_rows(timeline(), analysis)
    assert list(rows.loc[rows["status"] != "ok", "status"]) == ["out_of_memory"]
    plain = draw_figure(timeline(stalls=False), analysis, folder=tmp_path)
    assert plain is not None
    assert plain.caption == "The line is repetition 1 of each point, measure phase."


def test_a_repetition_that_never_ran_is_noted_in_its_place(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = timeline_rows(timeline(repetition=7), analysis)
    assert set(rows["status"]) == {"no repetition 7"}
    assert "× no repetition 7" in shown(timeline(repetition=7), analysis, monkeypatch)


def test_events_without_the_column_are_drawn_and_a_phase_without_either_is_left_out(
    analysis: Analysis, tmp_path: Path
) -> None:
    nameless = timeline().model_copy(update={"metric": "nonsense"})
    rows = timeline_rows(nameless, analysis)
    assert set(rows.loc[rows["layer"] == "value", "status"]) == {"not measured", "out_of_memory"}
    assert (rows["layer"] == "stall").any()
    assert draw_figure(nameless, analysis, folder=tmp_path) is not None
    elsewhere = timeline().model_copy(update={"phase": "load"})
    assert draw_figure(elsewhere, analysis, folder=tmp_path) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repetition": 0}, "figure 't': repetition: expected a whole number from 1, found 0"),
        ({"repetition": True}, "repetition: expected a whole number from 1, found True"),
        ({"stalls": "no"}, "stalls: expected true or false, found 'no'"),
        ({"mark": ["compactions"]}, "mark: unknown word 'compactions': .*; did you mean 'compaction'"),
        ({"causes": [1]}, "causes: expected a list of words, found"),
    ],
)
def test_a_wrong_value_of_an_option_is_reported(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        check_figures([timeline(**options)])


@pytest.mark.parametrize("kind", ["stacked", "measures", "bars"])
def test_an_engine_that_lacks_a_metric_stands_there_without_a_value(
    kind: str, analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalls = ["engine.delay_level0_micros", "engine.stop_memtable_micros"]
    options = {} if kind == "bars" else {"metrics": stalls}
    spec = FigureSpec(id="f", kind=kind, phase="measure", x="dataset", metric=stalls[0], options=options)
    assert "× not measured" in shown(spec, analysis, monkeypatch)
    alone = spec.model_copy(update={"where": {"engine": ("leveldb",)}})
    assert draw_figure(alone, analysis, folder=tmp_path) is None  # no run has it


def test_a_workload_without_a_metric_is_no_engine_that_lacks_it(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = analysis.estimates[
        (analysis.estimates["metric"] != "throughput") | (analysis.estimates["dataset"] == SIZES[0])
    ]
    spec = FigureSpec(id="f", kind="bars", phase="measure", x="dataset")
    found = shown(spec, dataclasses.replace(analysis, estimates=some), monkeypatch)
    assert not any("measured" in text for text in found)


def test_stalls_have_words() -> None:
    times = ["engine.delay_level0_micros", "engine.stop_pending_micros"]
    assert common_title(times) == ("Stalls", ("delay, level 0", "stop, pending compaction"))
    assert metric_title("engine.delays_memtable") == "Delays, memtable"
    assert metric_title("engine.stop_micros") == "Stop"
    assert metric_title("engine.pending_compaction_bytes") == "Engine pending compaction bytes"
    assert metric_title("engine.level0_files") == "Engine level 0 files"
    assert metric_title("engine.longest_stall_micros") == "Engine longest stall"
    (known,) = define([(times[0], "us")])
    assert known.meaning == "Duration of stalls of kind delay with the cause level 0"


def test_points_of_one_engine_alone_need_no_panel(sweep: Sweep, tmp_path: Path) -> None:
    records = [
        r for r in sweep.records if r.point.engine == "leveldb" and r.point.axes["dataset"] == SIZES[0]
    ]
    found = analyse(sweep.experiment, sweep.plan, records, run_dirs=sweep.run_dirs)
    drawn = draw_figure(timeline(), found, folder=tmp_path)
    assert drawn is not None
    assert drawn.spec.panels == ()
