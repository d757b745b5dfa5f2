"""A whole study on a simulated engine: verdicts, what is adopted, the confirmation, resumption, bad input."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.projects import make_project

from kvdyno import pipeline
from kvdyno.errors import Interrupted, KvdynoError
from kvdyno.model.project import Project
from kvdyno.model.study import StudyFound
from kvdyno.paper import build_pdf
from kvdyno.report.study import gain_sentence
from kvdyno.spec import list_experiments

from .surfaces import Simulation, add_engine, no_report, number, silent

REPOSITORY = Path(__file__).parents[3]
STUDY_MODULE = sys.modules["kvdyno.pipeline.study"]
STUDY = """\
title: A study
engine: {engine: leveldb, options: {write_buffer_size: 64MiB, mapped_files: 0}}
grid:
  workload: [load, a, c]
  dataset: [8GiB]
repetitions: 5
hypotheses:
  - id: memtable
    statement: A larger memtable makes writes a tenth faster
    why: Fewer tables reach level 0.
    options: {write_buffer_size: 256MiB}
    expect: {workload: [load, a], at_least: 1.1}
    published: 1
  - id: cache
    statement: A larger cache makes reads a tenth faster
    why: More blocks stay in memory.
    options: {cache_size: 2GiB}
    expect: {workload: c, at_least: 1.1}
    published: 2
  - id: filter
    statement: A filter makes gets a tenth faster
    why: Needless reads end early.
    options: {filter_bits: 10}
    expect: {workload: [a, c], at_least: 1.1}
published:
  document: leveldb-tuning
  differences: [its store fits in memory]
"""
PUBLISHED = """\
schema_version: kvdyno.published/1
citation: A report
short: A report
engines: {leveldb: LevelDB}
numbers:
  - id: throughput
    source: a table
    what: throughput
    metric: throughput
    unit: op/s
    along: {workload: [load, a, b]}
    series:
      - {engine: leveldb, at: {write_buffer_size: 2MB}, values: [100, 200, 300]}
      - {engine: leveldb, at: {write_buffer_size: 8MB}, values: [150, 220, 310]}
      - {engine: leveldb, at: {cache_size: 8MB}, values: [180, 220, 310]}
"""


def truth(properties: Mapping[str, str], workload: str) -> float | None:
    """Larger memtables pay for writes (1.5 times), caches make reads slower, filters pay alone only."""
    rate = 50_000.0
    larger = number(properties, "write_buffer_size", 4 << 20) > 2 << 20
    if larger and workload in ("load", "a"):
        rate *= 1.5
    if workload == "c" and number(properties, "cache_size", 0) > 1 << 20:
        rate *= 0.8
    if number(properties, "filter_bits", 0) > 0 and not larger:
        rate *= 1.4
    return rate


def study_project(root: Path) -> Project:
    project = make_project(root)
    add_engine(project)
    project.studies.mkdir()
    (project.studies / "leveldb.yaml").write_text(STUDY)
    (project.root / "results" / "published").mkdir(parents=True)
    (project.root / "results" / "published" / "leveldb-tuning.yaml").write_text(PUBLISHED)
    (project.root / "paper").symlink_to(REPOSITORY / "paper")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return study_project(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, StudyFound]:
    """The study of the truth, measured once for all tests that only look."""
    project = study_project(tmp_path_factory.mktemp("finished"))
    with pytest.MonkeyPatch.context() as patch:
        return project, measure(project, Simulation(truth), patch)


def measure(project: Project, simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> StudyFound:
    monkeypatch.setattr(STUDY_MODULE, "sweep", simulation)
    monkeypatch.setattr(STUDY_MODULE, "write_report", no_report)
    asked = pipeline.StudyRequest("leveldb")
    return pipeline.measure_study(project, asked, how=pipeline.SweepSettings(), watch=silent)


def test_verdicts_decide_what_joins_the_best_so_far(finished: tuple[Project, StudyFound]) -> None:
    _, found = finished
    verdicts = {t.hypothesis.id: (t.alone.verdict, t.on_best.verdict, t.adopted) for t in found.trials}
    assert verdicts == {
        "memtable": ("confirmed", "confirmed", True),
        "cache": ("refuted", "refuted", False),
        "filter": ("confirmed", "refuted", False),
    }
    assert dict(found.best) == {"write_buffer_size": str(256 << 20)}
    gains = {gain.workload: gain.ratio for gain in found.gains}
    assert gains == pytest.approx({"load": 1.5, "a": 1.5, "c": 1.0}, rel=0.05)


def test_an_interaction_shows_that_a_gain_is_lost_on_the_best(finished: tuple[Project, StudyFound]) -> None:
    _, found = finished
    by_id = {trial.hypothesis.id: trial for trial in found.trials}
    assert by_id["memtable"].interactions == ()
    lost = {each.workload: each for each in by_id["filter"].interactions}["c"]
    assert lost.ratio == pytest.approx(1 / 1.4, rel=0.05)
    assert lost.high
    assert lost.high < 1


def test_the_report_begins_with_what_to_set(finished: tuple[Project, StudyFound]) -> None:
    html, markdown, _ = pipeline.write_study(*finished)
    text = markdown.read_text()
    assert text.index("What to set") < text.index("What it gains") < text.index("## Options")
    assert "| write_buffer_size | 1 MiB | 4 MiB |" in text
    assert re.search(r"\| memtable \| load \| 1\.50 \| 1\.[45]", text), "the published ratio beside ours"
    assert re.search(r"\| cache \| load \| 1\.20 \| ", text), "over the step before"
    assert re.search(r"\| all, over the default \| load \| 1\.80 \| 1\.[45]", text)
    assert "its store fits in memory" in text
    page = html.read_text()
    assert "http://" not in page
    assert "https://" not in page
    assert 'id="h-filter"' in page


def test_the_report_in_latex_has_the_same_words_and_numbers(finished: tuple[Project, StudyFound]) -> None:
    _, markdown, latex = pipeline.write_study(*finished)
    text = latex.read_text()
    assert text.index("What to set") < text.index("What it gains") < text.index(r"\section{Options}")
    for trial in finished[1].trials:
        assert f"\\subsection{{{trial.hypothesis.id}: {trial.hypothesis.statement}}}" in text
    gain = gain_sentence(finished[1])
    assert gain in text
    assert gain in markdown.read_text()
    assert "its store fits in memory" in text


def test_text_of_a_study_is_escaped_in_latex(finished: tuple[Project, StudyFound], tmp_path: Path) -> None:
    project, found = finished
    study = replace(found.study, title="5 % & more_of it")
    latex = pipeline.write_study(replace(project, results=tmp_path), replace(found, study=study))[2]
    assert r"\title{5 \% \& more\_of it}" in latex.read_text()


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="no LaTeX: harness/setup.sh latex")
def test_the_report_in_latex_becomes_a_pdf_that_passes(finished: tuple[Project, StudyFound]) -> None:
    latex = pipeline.write_study(*finished)[2]
    pdf, pages = build_pdf(latex, epoch=1_700_000_000)
    assert pages >= 2
    first = subprocess.run(
        ["pdftotext", "-l", "1", pdf, "-"], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert "What it costs" in first, "the summary is one page"
    assert "Workloads" not in first


def test_noise_confirms_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Simulation(lambda _properties, _workload: 50_000.0, noise=0.2)
    found = measure(project, flat, monkeypatch)
    assert not found.adopted
    assert found.confirmation is None
    assert "start's options stay" in pipeline.write_study(project, found)[1].read_text()


def test_an_arm_that_runs_out_of_memory_leaves_its_hypothesis_undecided(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surface(properties: Mapping[str, str], workload: str) -> float | None:
        return None if number(properties, "cache_size", 0) > 1 << 20 else truth(properties, workload)

    found = measure(project, Simulation(surface), monkeypatch)
    cache = found.trials[1]
    assert cache.on_best.verdict == "undecided"
    assert any("out of memory" in failure for failure in cache.failures)
    assert "out of memory" in pipeline.write_study(project, found)[1].read_text()


def test_a_study_that_was_stopped_ends_as_if_it_was_not(
    project: Project, finished: tuple[Project, StudyFound], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole = finished
    stopping = Simulation(truth, stop_after=70)
    with pytest.raises(Interrupted):
        measure(project, stopping, monkeypatch)
    stopping.stop_after = None
    again = measure(project, stopping, monkeypatch)
    assert again.trials == whole.trials
    assert again.gains == whole.gains


def test_a_study_is_no_experiment_of_the_list(project: Project) -> None:
    assert [each.name for each in list_experiments(project)] == ["test"]


def changed(*replacements: tuple[str, str]) -> str:
    text = STUDY
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


BAD = {
    "option": (changed(("{cache_size", "{cache_sise")), "did you mean 'cache_size'"),
    "range": (changed(("filter_bits: 10", "filter_bits: 99")), "expected at most 64, found 99"),
    "metric": (changed(("workload: c,", "workload: c, metric: troughput,")), "did you mean 'throughput'"),
    "workload": (changed(("workload: c,", "workload: e100,")), "unknown workload 'e100'"),
    "bounds": (changed(("workload: c, at_least: 1.1", "workload: c")), "nothing could refute it"),
    "contradiction": (
        changed(("workload: c,", "workload: c, at_most: 1,")),
        "expected at_least below at_most",
    ),
    "nothing": (changed(("256MiB", "64MiB")), "expected options that differ from the start's"),
    "twice": (changed(("id: cache", "id: memtable")), "id 'memtable' is taken"),
    "engine": (changed(("engine: leveldb,", "engine: leveldbb,")), "did you mean 'leveldb'"),
    "axis": (changed(("[8GiB]", "[8GiB, 16GiB]")), "expected one value in a study, found 2"),
    "document": (changed(("leveldb-tuning", "leveldb-tunin")), "did you mean 'leveldb-tuning'"),
    "step": (changed(("published: 1", "published: 3")), "expected a step of leveldb-tuning below 3, found 3"),
    "scale": (changed(("256MiB", "65MiB"), ("64MiB", "65MiB")), "expected options that differ"),
}


@pytest.mark.parametrize(("text", "expected"), BAD.values(), ids=BAD)
def test_bad_input_is_found_before_anything_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    (project.studies / "leveldb.yaml").write_text(text)
    simulation = Simulation(truth)
    with pytest.raises(KvdynoError) as error:
        measure(project, simulation, monkeypatch)
    assert expected in str(error.value)
    assert simulation.sweeps == 0
