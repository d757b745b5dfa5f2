"""What documents publish: the committed files, and mistakes in one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import make_project

from kvdyno.errors import SpecError
from kvdyno.model.experiment import Experiment
from kvdyno.model.project import Project
from kvdyno.spec import load_experiment, read_published

PROJECT = Project.find(start=Path(__file__).parent)

DOCUMENT = """\
schema_version: kvdyno.published/1
citation: "A. Author: A Title. A Venue 2020"
short: A Title
engines: {ours: the new one, rocksdb: its rival}
numbers:
  - id: speed
    source: table 1
    what: throughput
    metric: throughput
    unit: kop/s
    at: {workload: a}
    along: {dataset: [4GB, 8GB]}
    series:
      - {engine: ours, values: [2.0, null]}
      - {engine: rocksdb, at: {threads: 2}, values: [1.0, 0.5]}
claims:
  - {id: faster, source: section 1, text: Twice as fast, at_least: 2}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "results" / "published").mkdir(parents=True)
    return Project(root=tmp_path, results=tmp_path / "results", data=tmp_path)


def written(project: Project, text: str) -> None:
    (project.published / "title.yaml").write_text(text)


def test_values_have_the_units_of_metrics_and_the_axes_of_their_place(project: Project) -> None:
    written(project, DOCUMENT)
    (numbers,) = read_published(project)["title"].numbers
    assert numbers.axes == ("workload", "threads", "dataset")
    assert list(numbers.placed()) == [
        ("ours", {"workload": "a", "dataset": "4GB"}, 2000.0),
        ("rocksdb", {"workload": "a", "threads": 2, "dataset": "4GB"}, 1000.0),
        ("rocksdb", {"workload": "a", "threads": 2, "dataset": "8GB"}, 500.0),
    ]


MISTAKES: Mapping[str, tuple[str, str]] = {
    "unit: kop/s": ("unit: kops", "title.yaml:10: unit: "),
    "    what: throughput\n": ("", "title.yaml:6: missing key 'what'"),
    "values: [2.0, null]": ("values: [2.0]", "expected 2 values in a series, found 1 of ours"),
    "engine: ours,": ("engine: mine,", "expected an engine of ours, rocksdb, found 'mine'"),
    "{threads: 2}": ("{workload: b}", "expected workload once, found it around a series and in it"),
    "claims:": (
        "claims:\n  - {id: faster, source: s, text: t}",
        "an id of its own, found 'faster' twice",
    ),
    "text: Twice as fast": ("words: Twice as fast", "unknown key 'words'"),
}


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_is_named_with_its_file(project: Project, right: str) -> None:
    wrong, expected = MISTAKES[right]
    written(project, DOCUMENT.replace(right, wrong, 1))
    with pytest.raises(SpecError, match=r"title\.yaml") as caught:
        read_published(project)
    assert expected in str(caught.value)


def test_the_committed_documents_have_what_their_readers_expect() -> None:
    documents = read_published(PROJECT)
    assert {name: len(document.claims) for name, document in documents.items()} == {
        "adoc": 6,
        "de-wss": 9,
        "evendb": 21,
        "leveldb-tuning": 4,
    }
    numbers = {each.id: each for each in documents["evendb"].numbers}
    at_64 = {
        (engine, axes["distribution"]): value
        for engine, axes, value in numbers["write-amplification"].placed()
        if axes["dataset"] == "64GB"
    }
    assert at_64["rocksdb-5.17.2", "zipf-composite"] == 2.92
    assert at_64["evendb", "zipf-composite"] == 1.29


EXPERIMENT = """\
title: A test
engines: [rocksdb, {engine: leveldb, label: ours}]
grid:
  workload: [a]
  dataset: [4GiB, 8GiB]
  threads: [2]
figures:
  - {id: f, kind: bars, x: dataset, published: title/speed}
tables:
  - {id: t, rows: dataset, columns: engine, ratio_to: rocksdb, published: title/speed}
claims:
  - {id: c, text: faster, engine: ours, relative_to: rocksdb, at_least: 2, published: title/faster}
"""


def loaded(root: Path, text: str, document: str = DOCUMENT) -> Experiment:
    project = make_project(root, experiment=text)
    project.published.mkdir(parents=True)
    written(project, document)
    return load_experiment("test", project=project, catalog=engines.catalog())


def test_an_experiment_takes_the_numbers_that_meet_its_points(tmp_path: Path) -> None:
    experiment = loaded(tmp_path / "checkout", EXPERIMENT)
    overlay = experiment.published["title/speed"]
    assert (overlay.short, overlay.source, overlay.unit) == ("A Title", "table 1", "op/s")
    assert [(each.engine, dict(each.axes), each.value) for each in overlay.values] == [
        ("ours", {"workload": "a", "dataset": 4 << 30}, 2000.0),
        ("rocksdb", {"workload": "a", "threads": 2, "dataset": 4 << 30}, 1000.0),
        ("rocksdb", {"workload": "a", "threads": 2, "dataset": 8 << 30}, 500.0),
    ]


IN_EXPERIMENT = [
    ("x: dataset, published: title/speed", "x: dataset, published: titel/speed", "did you mean 'title'?"),
    ("x: dataset, published: title/speed", "x: dataset, published: title/sped", "did you mean 'speed'?"),
    ("x: dataset, published: title/speed", "x: dataset, published: title", "expected <document>/<id>"),
    ("x: dataset,", "metric: cpu.user, x: dataset,", "expected the metric throughput, found cpu.user"),
    ("label: ours}", "label: hours}", "unknown engine 'ours': expected one of rocksdb, hours"),
    ("4GiB, 8GiB", "2GiB", "expected a value at one of the grid's points, found none"),
    ("  threads: [2]\n", "", "unknown axis 'threads'"),
    ("title/faster", "title/fster", "unknown published claim 'fster'"),
    ("engine: ours, relative_to: rocksdb,", "", "expected engine, or engines in along, found neither"),
    (
        "engine: ours, relative_to: rocksdb,",
        "along: {engine: [ours, rocksdb]},",
        "expected three engines or more",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), IN_EXPERIMENT)
def test_a_wrong_key_is_reported_with_the_nearest_name(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path / "checkout", EXPERIMENT.replace(old, new, 1))
    assert message in str(caught.value)
    assert "test.yaml:" in str(caught.value)


def test_a_ratio_needs_the_baseline_in_the_document(tmp_path: Path) -> None:
    alone = DOCUMENT[: DOCUMENT.index("      - {engine: rocksdb")] + DOCUMENT[DOCUMENT.index("claims:") :]
    with pytest.raises(SpecError, match="unknown engine 'rocksdb': expected one of ours"):
        loaded(tmp_path / "checkout", EXPERIMENT, alone)
