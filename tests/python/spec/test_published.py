"""What documents publish: the committed files, and mistakes in one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kvdyno.errors import SpecError
from kvdyno.model.project import Project
from kvdyno.spec import read_published

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
    assert at_64["rocksdb", "zipf-composite"] == 2.92
    assert at_64["evendb", "zipf-composite"] == 1.29
