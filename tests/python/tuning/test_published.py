"""A search and a study become committed folders, whose numbers documents can show."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from kvdyno import pipeline
from kvdyno.cli.again import command_text
from kvdyno.errors import StoreError
from kvdyno.model.project import Project
from kvdyno.model.search import SearchFound
from kvdyno.report.search import fresh_text
from kvdyno.spec import read_origin

from .searches import filters_pay, search, searched_project
from .surfaces import Simulation
from .test_study import measure, study_project, truth

FACTS = {
    "kvdyno.commit": "0123456789abcdef0123456789abcdef01234567",
    "kvdyno.modified": False,
    "cpu.logical": 2,
    "memory.bytes": 24 << 30,
    "disk.file_system": "ext4",
    "disk.model": "vda",
}
ASKED = pipeline.Publication(name="tuning/leveldb", state="nothing else running")
COMMAND = "kvdyno tune leveldb"


def published(project: Project, found: SearchFound, asked: pipeline.Publication = ASKED) -> Path:
    written = pipeline.write_search(project, found)
    folder = pipeline.publish_search(project, found, written, asked, command=COMMAND)
    pipeline.fill_prose(project, pipeline.documents(project))
    return folder


def test_a_published_search_has_its_report_its_numbers_and_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = searched_project(tmp_path)
    found = search(project, Simulation(filters_pay, facts=FACTS), monkeypatch)
    assert found.winner
    folder = published(project, found)
    text, best = (folder / "README.md").read_text(), found.winner
    assert f"| try {best.number} | default | a | throughput |" in text
    assert f"| try {best.number} | {best.searched:.3g} | {best.promised:.3g} | {fresh_text(best)} |" in text
    report = (folder / "search.md").read_text()
    for name in ("trail.csv", "presets.yaml", "tuned.yaml", "figures/search-front.svg"):
        assert name in report
        assert (folder / name).is_file()
    origin = read_origin(folder / "origin.yaml")
    assert (origin.command, origin.commit) == (COMMAND, FACTS["kvdyno.commit"])
    runs = pd.read_parquet(folder / "runs.parquet")
    assert runs["run_id"].nunique() == origin.runs
    assert "tune-leveldb-a-quick-confirmation" in set(runs["experiment"])
    assert pipeline.derive(project, write=False) == ()


def test_a_search_without_a_winner_replaces_one_that_had_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = searched_project(tmp_path)
    published(project, search(project, Simulation(filters_pay, facts=FACTS), monkeypatch))
    found = search(project, Simulation(lambda *_: 50_000.0, facts=FACTS), monkeypatch)
    folder = published(project, found)
    assert not (folder / "tuned.yaml").exists()
    with (folder / "gains.csv").open() as stream:
        assert {row["winner"] for row in csv.DictReader(stream)} == {"no"}


def test_a_published_study_has_its_hypotheses_and_what_was_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = study_project(tmp_path)
    found = measure(project, Simulation(truth, facts=FACTS), monkeypatch)
    markdown = pipeline.write_study(project, found)[1]
    folder = pipeline.publish_study(project, found, markdown, ASKED, command="kvdyno tuning report leveldb")
    pipeline.fill_prose(project, pipeline.documents(project))
    text = (folder / "README.md").read_text()
    for trial in found.trials:
        assert f"| {trial.hypothesis.id} | {trial.hypothesis.expect.text} | default |" in text
    assert "| best |" in text
    assert pipeline.derive(project, write=False) == ()


@pytest.mark.parametrize(
    ("fact", "value", "words"),
    [
        ("kvdyno.modified", True, "found changes after 0123456789ab"),
        ("kvdyno.commit", "", "expected records of one commit, found none"),
    ],
)
def test_what_cannot_be_measured_again_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: str, value: object, words: str
) -> None:
    project = searched_project(tmp_path)
    found = search(project, Simulation(filters_pay, facts={**FACTS, fact: value}), monkeypatch)
    with pytest.raises(StoreError, match=words):
        published(project, found)
    assert not (project.committed / "tuning").exists()


def test_the_command_is_what_a_reader_repeats() -> None:
    call = ["tune", "leveldb", "--budget", "2h"]
    places = ["--as", "tuning/leveldb", "--state=quiet", "--data", "/big"]
    assert command_text([*call, *places, "--json"]) == "kvdyno tune leveldb --budget 2h"
