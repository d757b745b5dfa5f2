"""A whole search on a simulated engine: budget, failures, resumption, confirmation, preset, bad input."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.engines import YCSB_PROPERTIES, describe, option
from fakes.projects import EXPERIMENT, describing_script, make_driver, make_project

from kvdyno import pipeline
from kvdyno.catalog import discover
from kvdyno.errors import EngineError, Interrupted, KvdynoError, SpecError, UsageError
from kvdyno.model.latex import escaped
from kvdyno.model.point import Dataset
from kvdyno.model.project import Project
from kvdyno.model.search import SearchFound
from kvdyno.paper import build_pdf
from kvdyno.paper.texts import code
from kvdyno.report.markdown import plain
from kvdyno.report.search import fresh_text, gain_rows, sure_sentences
from kvdyno.spec import load_space
from kvdyno.tuning.search import objectives_of

from .searches import filters_pay, search, searched_project
from .surfaces import ENGINE, TUNING, Simulation, add_engine

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return searched_project(tmp_path)


def test_a_search_finds_better_options_and_writes_them_as_an_experiment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch)
    assert found.winner
    assert found.preset
    assert int(found.winner.options["filter_bits"]) > 5
    assert {row.workload: row.unseen for row in found.winner.rows} == {"a": False, "c": True}
    request = pipeline.Request(str(found.experiment))
    _, whole = pipeline.make_plan(project, request)
    assert [choice.label for choice in whole.experiment.engines] == ["default", "tuned"]
    written = pipeline.write_search(project, found)
    for form in (written.html, written.markdown, written.latex):
        assert f"Try {found.winner.number} is {fresh_text(found.winner)} times better" in form.read_text()
    assert len(written.trail.read_text().splitlines()) == 9


def test_a_confirmation_has_a_load_that_no_try_had(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(filters_pay)
    search(project, simulation, monkeypatch)
    loads = {
        label: {record.load for record in simulation.records.values() if record.point.label == label}
        for label in ("candidate", "default-again")
    }
    assert loads == {"candidate": {1}, "default-again": {1, 2}}


def test_the_found_options_run_at_another_profile_with_the_loads_of_that_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch)
    for profile, loads in (("quick", 2), ("paper", 1)):
        _, whole = pipeline.make_plan(project, pipeline.Request(str(found.experiment), profile=profile))
        assert whole.experiment.loads == loads


def test_snapshots_stay_only_of_what_may_be_measured_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = Simulation(filters_pay)
    found = search(project, simulation, monkeypatch)
    tried, confirmed = (
        {load.identity for number in numbers for load in loads_of(project, found, str(number))}
        for numbers in ([one.number for one in found.tries], ["confirmation"])
    )
    assert simulation.removed
    assert simulation.removed == tried - confirmed


def loads_of(project: Project, found: SearchFound, name: str) -> Sequence[Dataset]:
    """What the points of an experiment of the search start from."""
    path = found.folder / "experiments" / f"{found.folder.name}-{name}.yaml"
    _, whole = pipeline.make_plan(project, pipeline.Request(str(path)))
    return [load for point in whole.points for load in point.loads]


def test_the_found_preset_is_one_of_the_engine_once_its_adapter_has_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_presets(project)
    found = search(project, Simulation(filters_pay), monkeypatch, preset="same", cap="32GiB")
    assert found.winner
    assert found.preset
    theirs = project.adapters / ENGINE / "presets.yaml"
    theirs.write_text(theirs.read_text().replace("tuned:", "older:") + found.preset.read_text())
    preset = discover(project)[ENGINE].presets["tuned"]
    assert preset.options == {**discover(project)[ENGINE].presets["same"].options, **found.winner.options}
    asked = EXPERIMENT.replace("[rocksdb, leveldb]", "[{engine: leveldb, preset: tuned}]")
    (project.root / "experiments" / "test.yaml").write_text(asked)
    _, whole = pipeline.make_plan(project, pipeline.Request("test"))
    bits = whole.points[0].properties[f"{ENGINE}.filter_bits"]
    assert bits == found.winner.options["filter_bits"]


def test_all_forms_of_the_report_have_the_figures_intervals_and_what_was_never_tried(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch, ranges={"mapped_files": "0,500,1000"})
    found = replace(found, unvaried=("block_size",))
    written = pipeline.write_search(project, found)
    html, markdown, latex = (path.read_text() for path in (written.html, written.markdown, written.latex))
    for name in ("front", "parallel", "interactions"):
        assert f'id="picture-{name}"' in html
        assert f"(figures/search-{name}.svg)" in markdown
        assert f"{{figures/search-{name}.pdf}}" in latex
        for suffix in ("svg", "pdf"):
            assert (found.folder / "figures" / f"search-{name}.{suffix}").is_file()
    assert html.count("<svg") == 3
    assert "src=" not in html, "the page is self-contained"
    share = next(iter(found.importances["throughput"].values()))
    assert f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f})" in markdown
    for form in (html, markdown, latex.replace(r"\allowbreak{}", "").replace(r"\_", "_")):
        assert "Never tried" in form
        assert "block_size" in form
    assert found.untried
    for each in found.untried:
        assert f"| {each.name} | " in markdown.split("## Never tried")[1]
        assert code(each.name) in latex.split(r"\section{Never tried}")[1]


def test_all_forms_begin_with_one_summary(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch)
    assert found.winner
    assert found.winner.curse
    assert {cost.metric for cost in found.costs} == {"memory.peak_rss"}
    written = pipeline.write_search(project, found)
    markdown, latex = written.markdown.read_text(), written.latex.read_text()
    parts = ("What to set", "What it gains", "How sure it is", "What it costs")
    forms = ((markdown, "## Confirmation", plain), (latex, r"\section{Confirmation}", escaped))
    for form, after, written_as in forms:
        places = [form.index(part) for part in (*parts, after)]
        assert places == sorted(places)
        for sentence in sure_sentences(found):
            assert written_as(sentence) in form
        for texts in gain_rows(found)["the default"].values():
            assert all(written_as(text) in form for text in texts.values())
    places = [f"{row.workload} (unseen)" if row.unseen else row.workload for row in found.winner.rows]
    assert {place for texts in gain_rows(found)["the default"].values() for place in texts} == set(places)
    assert "in the search" in " ".join(sure_sentences(found)), "gain promised against gain confirmed"
    assert latex.index(r"\clearpage") < latex.index(r"\section{Confirmation}")


def test_every_try_is_in_latex_and_texts_are_escaped(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch, strategy="random", tries=20)
    failed = next(one for one in found.tries if one.gains is None)
    tries = tuple(replace(one, failure="5 % & more_of it") if one is failed else one for one in found.tries)
    latex = pipeline.write_search(project, replace(found, tries=tries)).latex.read_text()
    assert rf"\item Try {failed.number} failed: 5 \% \& more\_of it." in latex
    trail = latex.split(r"\section{Trail}")[1]
    for one in tries:
        assert f"\n{one.number} & " in trail
    assert r"write\_buffer\_size" in trail


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="no LaTeX: harness/setup.sh latex")
def test_the_report_in_latex_becomes_a_pdf_that_passes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch)
    pdf, pages = build_pdf(pipeline.write_search(project, found).latex, epoch=1_700_000_000)
    assert pages >= 2
    first = subprocess.run(
        ["pdftotext", "-l", "1", pdf, "-"], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert "What it costs" in first, "the summary is one page"
    assert "Confirmation" not in first


def with_rival(project: Project) -> None:
    """An engine that tunes itself, with the preset `plus`."""
    speed = option("speed", "integer", "1", least=1, most=9)
    described = describe("self-tuned", options=(speed,), properties=YCSB_PROPERTIES)
    make_driver(project, "self-tuned", script=describing_script(described))
    (project.adapters / "self-tuned").mkdir()
    presets = "default: {summary: as is}\nplus: {summary: faster, options: {speed: 2}}\n"
    (project.adapters / "self-tuned" / "presets.yaml").write_text(presets)


def rival_between(properties: Mapping[str, str], workload: str) -> float | None:
    """The engine that tunes itself is better than the default at workload a, and worse than the best."""
    if "self-tuned.speed" in properties:
        return 60_000.0 if workload == "a" else 40_000.0
    return filters_pay(properties, workload)


def test_the_found_options_stand_beside_an_engine_that_tunes_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rival(project)
    simulation = Simulation(rival_between)
    found = search(project, simulation, monkeypatch, rivals=("self-tuned=plus",))
    (rival,) = found.rivals
    assert rival.label == "self-tuned-plus"
    over = {r.workload: r for r in rival.over_default if r.metric == "throughput"}
    assert {workload: row.verdict for workload, row in over.items()} == {"a": "better", "c": "worse"}
    assert found.winner
    mine = {r.workload: r for r in rival.candidates[found.winner.number] if r.metric == "throughput"}
    assert mine["a"].better
    assert found.winner.fresh
    assert mine["a"].ratio == pytest.approx(found.winner.fresh.value / over["a"].ratio, rel=0.05)
    written = pipeline.write_search(project, found)
    for form in (written.html, written.markdown, written.latex):
        text = form.read_text()
        assert "Beside other engines" in text
        assert f"try {found.winner.number} over self-tuned-plus" in text
    assert gain_rows(found)["self-tuned-plus"]["throughput"]["a"].endswith("better")
    tries = [record for record in simulation.records.values() if record.repetition == 1]
    count = sum(record.point.label == "self-tuned-plus" for record in tries)
    assert count == 2, "only the confirmation measures it, at both workloads"
    _, whole = pipeline.make_plan(project, pipeline.Request(str(found.experiment)))
    engines = {choice.label: (choice.engine, choice.preset) for choice in whole.experiment.engines}
    assert engines["self-tuned-plus"] == ("self-tuned", "plus")


def test_a_search_on_loads_shows_them_by_what_they_are_judged_by(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rival(project)
    found = search(
        project,
        Simulation(filters_pay),
        monkeypatch,
        workloads=("load",),
        objectives=("throughput",),
        rivals=("self-tuned=plus",),
    )
    _, whole = pipeline.make_plan(project, pipeline.Request(str(found.experiment)))
    for shown in (whole.experiment.figures, whole.experiment.tables):
        assert [(each.phase, each.where["workload"]) for each in shown] == [
            ("build", ("load",)),
            ("run", ("c",)),
        ]


def test_a_search_without_a_measurement_has_a_report_without_figures(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(lambda _properties, _workload: None), monkeypatch, tries=3)
    written = pipeline.write_search(project, found)
    for form in (written.html, written.markdown, written.latex):
        assert "nothing to confirm" in form.read_text()
    assert "<svg" not in written.html.read_text()
    assert "includegraphics" not in written.latex.read_text()


def test_running_out_of_memory_is_a_result_that_the_search_keeps(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch, strategy="random", tries=20)
    failed = [one for one in found.tries if one.gains is None]
    assert failed
    assert "out of memory" in failed[0].failure
    assert not {one.number for one in failed} & set(found.front)
    assert failed[0].failure in pipeline.write_search(project, found).html.read_text()


def test_a_search_that_was_stopped_goes_on_where_it_was(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search(project, Simulation(filters_pay), monkeypatch)
    stopping = Simulation(filters_pay, stop_after=7)
    with pytest.raises(Interrupted):
        search(project, stopping, monkeypatch)
    kept = dict(stopping.records)
    stopping.stop_after = None
    again = search(project, stopping, monkeypatch)
    assert [one.options for one in again.tries] == [one.options for one in whole.tries]
    assert all(stopping.records[key] is record for key, record in kept.items())


def test_the_search_stops_early_enough_for_the_confirmation(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch, tries=None, budget_seconds=400.0)
    assert len(found.tries) > 1
    assert sum(one.seconds for one in found.tries) < found.budget_seconds
    assert found.confirmed


@pytest.mark.parametrize("strategy", ["sweep", "random", "gp"])
def test_a_search_with_nothing_new_to_try_ends_before_its_budget(
    project: Project, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    few = {"filter_bits": "0,10,20", "write_buffer_size": "256MiB,512MiB", "mapped_files": "1000"}
    found = search(
        project,
        Simulation(filters_pay),
        monkeypatch,
        strategy=strategy,
        tries=None,
        ranges={**few, "cache_size": "1GiB,2GiB"},
    )
    assert found.winner
    assert found.winner.options["filter_bits"] == "20"
    assert found.tries[-1].seconds, "tries that repeat an earlier one are left out at the end"
    assert found.spent_seconds < found.budget_seconds / 2


PRESETS = """\
default: {summary: as is}
tuned: {summary: filters, options: {filter_bits: 10, write_buffer_size: 32MiB}}
same: {summary: as tuned where the space varies it, options: {filter_bits: 10, write_buffer_size: 64MiB}}
"""


def with_presets(project: Project) -> None:
    (project.adapters / ENGINE / "presets.yaml").write_text(PRESETS)


@pytest.mark.parametrize("strategy", ["gp", "tpe", "random", "sweep"])
def test_a_search_begins_with_the_presets_as_far_as_its_space_holds_them(
    project: Project, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    with_presets(project)
    found = search(project, Simulation(filters_pay), monkeypatch, strategy=strategy, tries=4)
    assert [one.origin for one in found.tries] == ["preset tuned", *[strategy] * 3]
    assert found.tries[0].options["filter_bits"] == "10"
    assert found.tries[0].options["write_buffer_size"] == str(64 << 20), "moved into the range"


def test_a_preset_that_candidates_are_compared_with_is_no_candidate(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_presets(project)
    found = search(project, Simulation(filters_pay), monkeypatch, preset="same", tries=3)
    assert [one.origin for one in found.tries] == ["preset default", "gp", "gp"]
    # What only the compared preset sets is the engine's default again, 4 MiB at the profile's scale.
    defaults = {"filter_bits": "0", "write_buffer_size": str(256 << 20), "mapped_files": "1000"}
    assert found.tries[0].options == defaults, "the default cache is smaller than the space's"


def test_short_runs_drop_candidates_without_hope_and_so_more_are_tried(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every candidate of the space with fewer than 18 bits is far below the best.
    changes = {"tries": None, "budget_seconds": 1500.0, "strategy": "random"}
    whole = search(project, Simulation(filters_pay), monkeypatch, **changes)
    raced = search(project, Simulation(filters_pay), monkeypatch, short=0.1, **changes)
    dropped = [one for one in raced.tries if one.pruned]
    assert dropped
    assert len(raced.tries) > len(whole.tries)
    assert not {one.number for one in dropped} & set(raced.front)
    assert all(one.number not in {each.number for each in raced.confirmed} for one in dropped)
    best = max(int(one.options["filter_bits"]) for one in raced.tries if one.gains)
    assert best in {int(one.options["filter_bits"]) for one in raced.tries if one.number in raced.front}


def test_short_runs_alone_drop_nothing_where_all_are_equal(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = Simulation(lambda _properties, _workload: 50_000.0, noise=0.02)
    found = search(project, flat, monkeypatch, tries=20, short=0.25)
    assert sum(one.pruned for one in found.tries) <= 2


def test_a_search_with_short_runs_goes_on_where_it_was(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_presets(project)
    whole = search(project, Simulation(filters_pay), monkeypatch, short=0.1, tries=14)
    stopping = Simulation(filters_pay, stop_after=31)
    with pytest.raises(Interrupted):
        search(project, stopping, monkeypatch, short=0.1, tries=14)
    stopping.stop_after = None
    assert search(project, stopping, monkeypatch, short=0.1, tries=14).tries == whole.tries


def test_where_noise_decides_the_front_tries_are_repeated(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = Simulation(lambda _properties, _workload: 50_000.0, noise=0.05)
    found = search(project, close, monkeypatch, tries=12)
    assert max(len(one.each) for one in found.tries) > 1
    assert sum(len(one.each) for one in found.tries) <= 24, "one repeat for each try at most"
    for one in found.tries:
        assert one.gains
        column = [gains[0] for gains in one.each]
        assert not column or one.gains[0] == pytest.approx(sum(column) / len(column))


def test_noise_alone_changes_no_option(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Simulation(lambda _properties, _workload: 50_000.0, noise=0.05)
    found = search(project, flat, monkeypatch, tries=12)
    assert found.winner is None
    assert found.preset is None
    assert "which stays" in pipeline.write_search(project, found).html.read_text()
    best = max((one for one in found.tries if one.each), key=lambda one: one.gains or ())
    assert best.gains
    assert best.believed
    assert best.gains[0] > 0, "noise made it the best"
    assert abs(best.believed[0]) < best.gains[0] / 2, "the model knows the noise"


def test_of_one_objective_the_three_that_promise_most_are_confirmed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(
        project, Simulation(filters_pay, noise=0.1), monkeypatch, tries=12, objectives=("throughput",)
    )
    beliefs = {one.number: one.believed for one in found.tries if one.believed}
    best = sorted(beliefs, key=lambda number: beliefs[number], reverse=True)[:3]
    assert [each.number for each in found.confirmed] == best
    for each in found.confirmed:
        assert each.promised == pytest.approx(math.exp(beliefs[each.number][0]))


def test_objectives_have_short_names(project: Project) -> None:
    engine = discover(project)[ENGINE]
    found = objectives_of(("read.p99", "write_amplification"), engine=engine)
    assert [one.metric for one in found] == ["read.latency.p99", "write_amplification.net"]
    assert not any(one.higher for one in found)


BAD = {
    "engine": ({"engine": "leveldbb"}, "did you mean 'leveldb'"),
    "objective": ({"objectives": ("troughput",)}, "did you mean 'throughput'"),
    "workload": ({"workloads": ("z",)}, "unknown workload 'z'"),
    "strategy": ({"strategy": "tpee"}, "did you mean 'tpe'"),
    "profile": ({"profile": "qick"}, "did you mean 'quick'"),
    "preset": ({"preset": "tuned"}, "unknown preset 'tuned'"),
    "rival": ({"rivals": ("leveldbb",)}, "--beside: unknown engine 'leveldbb'"),
    "rival's preset": ({"rivals": ("leveldb=tuned",)}, "unknown preset 'tuned'"),
    "budget": ({"budget_seconds": 1.0}, "expected a budget for one try and the confirmation"),
    "option": ({"ranges": {"filter_bit": "1..2"}}, "did you mean 'filter_bits'"),
    "range": ({"ranges": {"filter_bits": "1..99"}}, "filter_bits: expected at most 64, found 99"),
    "falling": ({"ranges": {"filter_bits": "9..3"}}, "expected a range that rises, found 9 to 3"),
    "memory": ({"cap": "128MiB"}, "take 256 MiB"),
    "nothing": (
        {"ranges": {"filter_bits": "0,0", "write_buffer_size": "256MiB,256MiB", "mapped_files": "1000"}},
        "expected candidates that differ from the default",
    ),
    "short": ({"short": 1.5}, "expected a share between 0 and 1, found 1.5"),
    "nothing shorter": ({"short": 0.25, "workloads": ("load",)}, "measured phase can be shorter"),
    "cap": ({"cap": "much"}, "expected a size"),
}


@pytest.mark.parametrize(("changes", "expected"), BAD.values(), ids=BAD)
def test_bad_input_is_found_before_anything_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch, changes: Mapping[str, object], expected: str
) -> None:
    simulation = Simulation(filters_pay)
    with pytest.raises(KvdynoError) as error:
        search(project, simulation, monkeypatch, **changes)
    assert expected in str(error.value)
    assert simulation.sweeps == 0


@pytest.mark.parametrize("changes", [{"engine": "rocksdb"}, {"rivals": ("rocksdb",)}])
def test_an_engine_that_is_not_built_comes_with_how_to_build_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, changes: Mapping[str, object]
) -> None:
    adapter = project.adapters / "rocksdb"
    adapter.mkdir(parents=True)
    (adapter / "CMakeLists.txt").touch()
    with pytest.raises(EngineError, match="engine 'rocksdb' is not built") as error:
        search(project, Simulation(filters_pay), monkeypatch, **changes)
    assert "make build" in str(error.value.remedy)


def test_a_preset_that_no_longer_fits_the_engine_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = search(project, Simulation(filters_pay), monkeypatch).experiment
    assert preset
    preset.write_text(preset.read_text().replace("filter_bits", "filter_bitz"))
    with pytest.raises(SpecError, match="did you mean 'filter_bits'"):
        pipeline.make_plan(project, pipeline.Request(str(preset)))


FILES = {
    "unknown option": (TUNING.replace("filter_bits", "filter_bitz"), "did you mean 'filter_bits'"),
    "outside": (TUNING.replace("to: 20", "to: 99"), "expected at most 64, found 99"),
    "condition": (
        TUNING.replace("only_if: {mapped_files", "only_if: {map_files"),
        "did you mean 'mapped_files'",
    ),
    "both": (TUNING.replace("{values: [0, 1000]}", "{values: [0], from: 1, to: 2}"), "`from` and `to`, or"),
    "size of a word": (
        TUNING.replace("{from: 64MiB, to: 1GiB, memory: 2}", "{values: [auto, 64MiB], memory: 2}"),
        "expected numbers, because `memory` counts their sizes; found auto",
    ),
}


@pytest.mark.parametrize(("text", "expected"), FILES.values(), ids=FILES)
def test_a_wrong_space_is_refused_with_file_and_line(tmp_path: Path, text: str, expected: str) -> None:
    project = make_project(tmp_path)
    add_engine(project, tuning=text)
    with pytest.raises(SpecError) as error:
        load_space(discover(project)[ENGINE], project=project, cap_bytes=16 << 30)
    assert expected in str(error.value)
    assert "tuning.yaml:" in str(error.value)


def test_a_word_in_place_of_a_range_that_takes_memory_is_refused(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    add_engine(project)
    with pytest.raises(UsageError, match="expected numbers, because `memory` counts their sizes"):
        load_space(
            discover(project)[ENGINE],
            project=project,
            cap_bytes=16 << 30,
            ranges={"write_buffer_size": "auto,64MiB"},
        )


def test_an_engine_without_a_space_has_the_one_it_describes(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    add_engine(project, tuning=None)
    space = load_space(discover(project)[ENGINE], project=project, cap_bytes=16 << 30)
    ranges = {each.name: (each.low, each.high) for each in space.dimensions}
    assert ranges["filter_bits"] == (0, 64)
    assert ranges["cache_size"] == (64 << 10, 16 << 30)


def test_an_unknown_range_spelling_is_a_usage_error(project: Project) -> None:
    engine = discover(project)[ENGINE]
    with pytest.raises(UsageError, match="expected a size"):
        load_space(engine, project=project, cap_bytes=16 << 30, ranges={"cache_size": "small..large"})
