"""The report as a reader gets it: complete, self-contained, and nothing missing silently."""

from __future__ import annotations

import csv
import dataclasses
import html
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from fakes_records import SIZES, Fake, Sweep, fake_sweep

from kvdyno.analysis import analyse
from kvdyno.errors import SpecError, StoreError
from kvdyno.model.experiment import DeviceLimits, FigureSpec, TableSpec
from kvdyno.model.results import Analysis, ReportPaths
from kvdyno.report import check_figures, summarise, timeline, write_report
from kvdyno.report.figures import draw_figure
from kvdyno.report.spots import Spots
from kvdyno.report.tables import build_grid, to_latex, to_markdown
from kvdyno.report.timeline import build_timeline
from kvdyno.report.words import common_title, define, metric_title

COMMANDS = ("make experiment EXPERIMENT=quickstart PROFILE=small",)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    statuses = {("leveldb", "C", SIZES[2], r): "out_of_memory" for r in (1, 2, 3)}
    fake = Fake(folder=tmp_path_factory.mktemp("runs"), repetitions=3, statuses=statuses)  # type: ignore[arg-type]
    return fake_sweep(fake)


@pytest.fixture(scope="module")
def analysis(sweep: Sweep) -> Analysis:
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)


@pytest.fixture(scope="module")
def paths(sweep: Sweep, analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    return write_report(analysis, sweep.experiment, out=tmp_path_factory.mktemp("out"), commands=COMMANDS)


@pytest.fixture(scope="module")
def page(paths: ReportPaths) -> str:
    return paths.html.read_text("utf-8")


def test_every_figure_and_table_is_written(sweep: Sweep, paths: ReportPaths) -> None:
    assert {p.stem for p in paths.figures} == {f.id for f in sweep.experiment.figures}
    assert {p.suffix for p in paths.figures} == {".pdf", ".svg", ".png"}
    assert {p.name for p in paths.tables} == {
        *(f"{t.id}.{suffix}" for t in sweep.experiment.tables for suffix in ("md", "tex", "csv")),
        *("_overall.csv", "_points.csv", "_claims.csv", "_pairs.csv", "_medians.csv"),
    }
    folder = paths.html.parent
    assert not [p for p in folder.rglob("*") if p.name.endswith(".partial")]


def test_what_no_record_has_is_named(analysis: Analysis, sweep: Sweep, tmp_path: Path) -> None:
    both = ("throughput", "scan.rows")
    missing = {
        "figures": (
            FigureSpec(id="f", kind="bars", x="workload", metric="scan.rows"),
            FigureSpec(id="both", kind="measures", options={"metrics": both}),
            FigureSpec(id="neither", kind="measures", options={"metrics": ("scan.rows", "debt")}),
        ),
        "tables": (TableSpec(id="t", rows=("workload",), columns=("engine",), metric="debt", phase="drain"),),
    }
    asked = sweep.experiment.model_copy(update=missing)
    paths = write_report(analysis, asked, out=tmp_path, commands=COMMANDS)
    assert paths.left_out == (
        "figure f: no record has scan.rows of phase run",
        "figure neither: no record has scan.rows or debt of phase run",
        "table t: no record has debt of phase drain",
    )
    page = paths.html.read_text("utf-8")
    assert all(f"{sentence}." in page for sentence in paths.left_out)


def test_markdown_has_no_html_of_titles_labels_and_axes(analysis: Analysis) -> None:
    spec = TableSpec(
        id="t",
        title="<img src=x onerror=alert(1)> ![a](http://b) `c`\n| # d",
        rows=("workload",),
        columns=("engine",),
    )
    grid = build_grid(spec, analysis)
    assert grid is not None
    strange = {"RocksDB": "<b>&amp;Rocks|DB\\|</b>", "LevelDB": "*[LevelDB](x)*"}
    spelled = {
        axis: {v: strange.get(str(v), text) for v, text in texts.items()}
        for axis, texts in grid.spelled.items()
    }
    text = to_markdown(dataclasses.replace(grid, spelled=spelled, caption="<script>x</script>"))
    assert not re.search(r"[<>]|(?<!\\)[\[\]`]", text)
    title, blank, head, rule, *rows = text.splitlines()
    assert title.startswith(r"**&lt;img src=x onerror=alert(1)&gt; !\[a\](http://b) \`c\` \| # d**")
    assert r"| &lt;b&gt;&amp;amp;Rocks\|DB\\\|&lt;/b&gt; |" in head
    assert r"| \*\[LevelDB\](x)\* |" in head
    columns = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in (head, rule, *rows[: len(grid.rows)])}
    assert columns == {len(grid.row_axes) + len(grid.columns) + 1}
    assert (blank, rows[-1]) == ("", "&lt;script&gt;x&lt;/script&gt;")


def test_the_page_needs_no_network(page: str) -> None:
    loaded = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']([^\"']*)", page)
    assert loaded
    assert all(source.startswith("data:") for source in loaded)
    assert "@import" not in page
    assert "url(http" not in page


def test_the_page_shows_what_went_wrong_first(page: str) -> None:
    assert page.index("runs failed:</strong>") < page.index('id="trust"')
    assert page.index("Runs that failed") < page.index('id="differences"')
    assert "killed by the kernel at the cap of 256 MiB" in page
    assert "1, 2, 3" in page


@pytest.mark.parametrize(
    "text",
    [
        "Quick start: two stock engines",
        "profile small",
        "host-5d2c",
        "256 MiB",
        "LevelDB C 1 GiB",
        "software crc32c",
        COMMANDS[0],
        "write_amplification.net",
        "p99.9",
        "about",
        "geometric mean, 11 points",
    ],
)
def test_the_page_holds(page: str, text: str) -> None:
    assert text in page


@pytest.mark.parametrize("verdict", ["supported", "contradicted", "undecided", "not measured"])
def test_the_page_gives_each_verdict(page: str, verdict: str) -> None:
    assert f">{verdict}</span>" in page


def test_the_page_shows_how_a_device_is_imitated(sweep: Sweep, tmp_path: Path) -> None:
    hdd = DeviceLimits(name="hdd", write_bytes_per_second=150 << 20)
    runner = sweep.records[0].runner.model_copy(update={"details": {"device_binds": "synced writes"}})
    records = [
        r.model_copy(update={"point": r.point.model_copy(update={"device": hdd}), "runner": runner})
        for r in sweep.records
    ]
    experiment = sweep.experiment.model_copy(update={"figures": (), "tables": ()})
    found = analyse(experiment, sweep.plan, records, run_dirs={})
    page = write_report(found, experiment, out=tmp_path, commands=()).html.read_text("utf-8")
    assert "hdd (writes at most 150 MiB/s)" in page[: page.index('id="made"')]
    row = page[page.index("<strong>hdd</strong>") :]
    assert "<td>writes at most 150 MiB/s</td><td>synced writes</td>" in row
    assert "device_binds" not in page


def test_every_link_inside_the_page_leads_somewhere(page: str, paths: ReportPaths) -> None:
    visible = page[: page.index("<script")]
    targets = set(re.findall(r'href="#([^"]+)"', visible))
    assert targets <= set(re.findall(r'id="([^"]+)"', visible))
    for relative in re.findall(r'href="((?:figures|tables)/[^"]+)"', visible):
        assert (paths.html.parent / relative).is_file()


def test_text_from_records_cannot_become_markup(sweep: Sweep, tmp_path: Path) -> None:
    records = [r.model_copy(update={"warnings": ("<script>alert(1)</script>",)}) for r in sweep.records]
    found = analyse(sweep.experiment, sweep.plan, records, run_dirs={})
    written = write_report(found, sweep.experiment, out=tmp_path, commands=())
    text = written.html.read_text("utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_equal_records_give_equal_figures(
    sweep: Sweep, analysis: Analysis, paths: ReportPaths, tmp_path: Path
) -> None:
    again = write_report(analysis, sweep.experiment, out=tmp_path, commands=COMMANDS)
    for one, other in zip(paths.figures, again.figures, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_table_never_puts_two_points_into_one_cell(analysis: Analysis) -> None:
    grid = build_grid(TableSpec(id="t", rows=("workload",), columns=("engine",)), analysis)
    assert grid is not None
    assert grid.row_axes == ("workload", "dataset")
    assert len(grid.cells) == 4 * 3 * 2
    assert grid.text(grid.cell(("C", SIZES[2]), ("LevelDB",))) == "out of memory"


def test_comparisons_are_written_for_computing(analysis: Analysis, paths: ReportPaths) -> None:
    overall = pd.read_csv(next(p for p in paths.tables if p.name == "_overall.csv"))
    assert overall["ratio"].tolist() == pytest.approx(analysis.overall["ratio"].tolist())
    points = pd.read_csv(next(p for p in paths.tables if p.name == "_points.csv"))
    assert set(points["label"]) == {"LevelDB"}
    assert len(points) == points[["workload", "dataset"]].drop_duplicates().shape[0]


def test_tables_follow_the_order_of_the_experiment(analysis: Analysis) -> None:
    grid = build_grid(TableSpec(id="t", rows=("workload", "engine"), columns=("dataset",)), analysis)
    assert grid is not None
    assert [grid.column_texts(c) for c in grid.columns] == [("64 MiB",), ("256 MiB",), ("1 GiB",)]
    assert [row[0] for row in grid.rows[::2]] == ["P", "A", "C", "E100"]
    assert [row[1] for row in grid.rows[:2]] == ["RocksDB", "LevelDB"]


def test_ratio_tables_hold_pairs_and_mark_what_is_decided(analysis: Analysis) -> None:
    spec = TableSpec(id="r", rows=("workload",), columns=("dataset",), ratio_to="rocksdb")
    grid = build_grid(spec, analysis)
    assert grid is not None
    assert grid.cell(("C",), (SIZES[0],)).decided
    assert grid.cell(("C",), (SIZES[0],)).value == pytest.approx(300 / 140, rel=0.1)
    assert "paired ratios, 95 % intervals (t on logarithms) in brackets" in grid.caption
    assert "**2." in to_markdown(grid)
    assert "\\textbf{2." in to_latex(grid)


def test_a_figure_may_show_ratios(analysis: Analysis, tmp_path: Path) -> None:
    spec = FigureSpec(id="f", kind="lines", x="dataset", panels=("workload",), ratio_to="rocksdb")
    drawn = draw_figure(spec, analysis, folder=tmp_path)
    assert drawn is not None
    assert "Marks are ratios within a repetition (n = 3); error bars: 95 % intervals" in drawn.caption
    svg = html.unescape(drawn.files.svg.read_text("utf-8"))
    assert "Throughput over RocksDB's" in svg
    assert "LevelDB" in svg
    assert svg.count("<!-- 1 GiB -->") == 4, "also where no contender has a ratio"
    assert draw_figure(spec.model_copy(update={"metric": "nothing"}), analysis, folder=tmp_path) is None


def test_csv_holds_full_precision_and_reasons(paths: ReportPaths, analysis: Analysis) -> None:
    path = next(p for p in paths.tables if p.name == "throughput.csv")
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    lost = [r for r in rows if r["status"] != "ok"]
    assert [(r["engine"], r["workload"], r["value"]) for r in lost] == [("LevelDB", "C", "")]
    medians = analysis.select(analysis.estimates, where={}, metric="throughput", phase="run")["median"]
    assert float(rows[0]["value"]) in set(medians)


def test_latex_escapes_what_latex_would_read(analysis: Analysis) -> None:
    spec = TableSpec(id="t", title="100 % of _x_ & y", rows=("workload",), columns=("dataset",))
    grid = build_grid(spec, analysis)
    assert grid is not None
    assert "100 \\% of \\_x\\_ \\& y" in to_latex(grid)


def test_a_table_or_figure_that_nothing_measured_is_left_out(
    sweep: Sweep, analysis: Analysis, tmp_path: Path
) -> None:
    experiment = sweep.experiment.model_copy(
        update={
            "tables": (TableSpec(id="t", metric="nonsense", rows=("workload",), columns=("dataset",)),),
            "figures": (FigureSpec(id="f", kind="bars", metric="nonsense"),),
        }
    )
    assert build_grid(experiment.tables[0], analysis) is None
    written = write_report(analysis, experiment, out=tmp_path, commands=())
    assert written.figures == ()
    assert {path.name[0] for path in written.tables} == {"_"}


def test_an_axis_that_a_figure_does_not_name_becomes_panels(analysis: Analysis, tmp_path: Path) -> None:
    drawn = draw_figure(FigureSpec(id="f", kind="bars", x="workload"), analysis, folder=tmp_path)
    assert drawn is not None
    assert drawn.spec.panels == ("dataset",)
    assert "64 MiB" in drawn.files.svg.read_text("utf-8")
    assert "t on logarithms, of the geometric mean" in drawn.caption
    alone = draw_figure(
        FigureSpec(id="g", kind="bars", x="workload", series=("engine", "dataset")), analysis, folder=tmp_path
    )
    assert alone is not None
    assert alone.spec.panels == ()


def test_an_unknown_kind_or_option_names_the_nearest() -> None:
    with pytest.raises(SpecError, match="did you mean 'bars'"):
        check_figures([FigureSpec(id="f", kind="bar")])
    with pytest.raises(SpecError, match="did you mean 'share'"):
        check_figures([FigureSpec(id="f", kind="stacked", options={"shares": True})])


def test_a_folder_that_cannot_be_written_is_a_store_error(
    sweep: Sweep, analysis: Analysis, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot write"):
        write_report(analysis, sweep.experiment, out=tmp_path / "file", commands=())


def test_a_full_disk_keeps_the_earlier_report(
    sweep: Sweep, analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = sweep.experiment.model_copy(update={"figures": ()})
    page = write_report(analysis, experiment, out=tmp_path, commands=()).html
    before = page.read_bytes()

    def full(self: Path, *_: object, **__: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StoreError, match="No space left"):
        write_report(analysis, experiment, out=tmp_path, commands=("other",))
    assert page.read_bytes() == before


def test_the_summary_has_a_row_per_point_and_a_sentence_per_claim(sweep: Sweep, analysis: Analysis) -> None:
    summary = summarise(analysis)
    assert len(summary.rows) == 23  # one of 24 points never ended well
    first = summary.rows[1]
    assert (first.label, dict(first.axes)) == ("LevelDB", {"workload": "P", "dataset": "64 MiB"})
    assert first.value.endswith("kop/s")
    assert first.ratio.startswith("1.")
    assert summary.columns == ("engine", "workload", "dataset")
    assert len(summary.verdicts) == len(sweep.experiment.claims)
    assert summary.overall[0].startswith("LevelDB: 1.")
    assert "over 11 of 12 points (missing: C 1 GiB)" in summary.overall[0]


def test_metrics_have_words() -> None:
    assert metric_title("read.latency.p99.9") == "Read latency p99.9"
    assert metric_title("cpu.user") == "CPU user"
    title, rest = common_title(["cgroup.memory.anonymous", "cgroup.memory.page_cache"])
    assert (title, rest) == ("Cgroup memory", ("anonymous", "page cache"))
    known, unknown = define([("write_amplification.net", "ratio"), ("x", "y")])
    assert "cancelled" in known.meaning
    assert unknown.meaning == ""


def small_report(sweep: Sweep, out: Path) -> tuple[Analysis, str]:
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    experiment = sweep.experiment.model_copy(update={"figures": (), "tables": ()})
    return found, write_report(found, experiment, out=out, commands=()).html.read_text("utf-8")


def test_a_point_that_lost_some_runs_shows_it(tmp_path: Path) -> None:
    lost = {("leveldb", "A", SIZES[0], r): "out_of_memory" for r in (1, 2)}
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=3, workloads=("A",), files=False, statuses=lost))  # type: ignore[arg-type]
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    grid = build_grid(TableSpec(id="t", rows=("engine",), columns=("dataset",)), found)
    assert grid is not None
    assert grid.text(grid.cell(("LevelDB",), (SIZES[0],))).endswith(" (2 of 3 out of memory)")
    assert grid.text(grid.cell(("RocksDB",), (SIZES[0],))).count("(") == 1
    drawn = draw_figure(FigureSpec(id="f", kind="bars", x="dataset"), found, folder=tmp_path)
    assert drawn is not None
    assert drawn.caption.endswith("Without runs that failed: LevelDB 64 MiB (2 of 3 out of memory).")


@pytest.mark.parametrize("status", ["ok", "timeout"])
def test_one_engine_alone_has_a_report(tmp_path: Path, status: str) -> None:
    fake = Fake(folder=tmp_path, repetitions=1, workloads=("A",), sizes=SIZES[:1], files=False)
    if status != "ok":
        fake = dataclasses.replace(fake, statuses={("rocksdb", "A", SIZES[0], 1): "timeout"})
    sweep = fake_sweep(fake)
    alone = dataclasses.replace(sweep, records=sweep.records[:1])
    found, page = small_report(alone, tmp_path / "out")
    assert "One contender, so nothing is compared" in page
    assert len(summarise(found).rows) == (status == "ok")


def test_values_that_read_alike_keep_cells_of_their_own(tmp_path: Path) -> None:
    sizes = (10 << 30, (10 << 30) + (32 << 20))
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=2, workloads=("A",), sizes=sizes, files=False))
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    grid = build_grid(TableSpec(id="t", rows=("dataset",), columns=("engine",)), found)
    assert grid is not None
    assert len(grid.cells) == 4
    assert len({grid.row_texts(row) for row in grid.rows}) == 2


def test_only_runs_that_pair_up_are_called_paired(tmp_path: Path) -> None:
    fake = Fake(folder=tmp_path, repetitions=3, workloads=("A",), sizes=SIZES[:1], files=False)
    sweep = fake_sweep(fake)
    assert "unpaired" not in small_report(sweep, tmp_path / "one")[1]
    records = [
        r.model_copy(update={"sweep_id": "sweep-2"}) if r.point.engine == "leveldb" else r
        for r in sweep.records
    ]
    found, page = small_report(dataclasses.replace(sweep, records=tuple(records)), tmp_path / "two")
    assert "; unpaired</span>" in page
    assert "Welch&#39;s interval of the ratio" in page or "Welch's interval of the ratio" in page
    grid = build_grid(TableSpec(id="t", rows=("engine",), columns=("dataset",), ratio_to="rocksdb"), found)
    assert grid is not None
    assert "paired ratios" not in grid.caption
    assert "Welch" in grid.caption


def test_axes_of_one_value_are_shown_once(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=1, sizes=SIZES[:1], files=False))
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    experiment = sweep.experiment.model_copy(update={"figures": ()})
    page = write_report(found, experiment, out=tmp_path / "out", commands=()).html.read_text("utf-8")
    assert "<span>dataset 64 MiB</span>" in page
    assert "<strong>C</strong>" in page
    assert 'id="time"' not in page


def test_long_series_are_averaged_and_the_page_notes_it(tmp_path: Path) -> None:
    fake = Fake(folder=tmp_path, repetitions=1, workloads=("A",), sizes=SIZES[:1], seconds=700)
    sweep = fake_sweep(fake)
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)
    shortened = build_timeline(found, Spots(found))
    assert shortened is not None
    assert shortened.averaged
    assert shortened.left_out == 0
    assert shortened.columns[0] == ("throughput", "Throughput", "op/s")
    point, repetition, times, values = shortened.runs[0]
    assert (point, repetition) == (0, 1)
    shown = values[0]
    assert shown is not None
    run = found.series[(found.series["label"] == "RocksDB") & (found.series["column"] == "throughput")]
    assert len(times) == len(shown) <= 300
    assert sum(shown) / len(shown) == pytest.approx(run["value"].mean(), rel=0.01)


def test_where_there_is_no_room_the_headlines_series_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "_BUDGET", 200)
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=2, workloads=("A",), sizes=SIZES[:1]))
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)
    few = build_timeline(found, Spots(found))
    assert few is not None
    assert [name for name, _, _ in few.columns] == ["throughput"]
    assert few.left_out == 2
