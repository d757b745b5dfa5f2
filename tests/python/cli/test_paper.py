"""`kvdyno paper` over records of a tiny experiment: whole, partial, and where records cannot be read."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.noise import make_noise

from kvdyno import pipeline
from kvdyno.model.project import Project
from kvdyno.paper.texts import code
from kvdyno.store import read_metrics

from .conftest import PROFILES, Checkout

PAPER = """\
schema_version: kvdyno.paper/1
title: Trial
reproduces: a trial
abstract: abstract.tex.j2
sections:
  - {title: Results, experiments: [tiny, absent]}
"""
ABSENT = """\
title: Never measured
engines: [memory]
grid: {workload: [p], dataset: [256MiB]}
cap: 2GiB
claims:
  - {id: some, text: memory does something, engine: memory, at_least: 1}
"""


@pytest.fixture
def written(measured: Checkout) -> Checkout:
    folder = measured.root / "paper" / "trial"
    folder.mkdir(exist_ok=True)
    (folder / "paper.yaml").write_text(PAPER)
    (folder / "abstract.tex.j2").write_text(
        r'\VAR{value("tiny", engine="memory", workload="a")} \VAR{value("absent", engine="memory")}'
    )
    measured.experiment("absent", ABSENT)
    small = PROFILES.replace("quick:", "small:").replace("1/64", "1/32")
    (measured.root / "experiments" / "profiles.yaml").write_text(PROFILES + small)
    return measured


def test_a_paper_is_made_of_what_is_stored_and_lists_the_rest(written: Checkout) -> None:
    answer = written.kvdyno("paper", "trial", "--uncapped", "--tex-only")
    assert answer.status == 0, answer.err
    assert "not measured: absent: throughput of run at engine memory" in answer.out
    text = (written.root / "results/papers/trial-quick/paper.tex").read_text()
    assert "op/s" in text
    assert "no record at profile quick" in text
    assert (written.root / "results/papers/trial-quick/figures/tiny/throughput.pdf").is_file()
    assert all(len(line) <= 80 for line in answer.out.splitlines()[:-1])


def test_the_experiments_of_a_paper_are_printed_for_scripts(written: Checkout) -> None:
    assert written.kvdyno("paper", "trial", "--experiments").out.splitlines() == [
        "tiny quick",
        "absent quick",
    ]
    _append(written, "profiles: {quick: {absent: small}}")
    assert written.kvdyno("paper", "trial", "--experiments").out.splitlines() == [
        "tiny quick",
        "absent small",
    ]


def _append(written: Checkout, text: str) -> None:
    (written.root / "paper" / "trial" / "paper.yaml").write_text(f"{PAPER}{text}\n")


def test_the_plan_of_a_paper_lists_what_it_still_costs(written: Checkout) -> None:
    _append(written, "profiles: {quick: {absent: small}}")
    answer = written.kvdyno("paper", "trial", "--uncapped", "--plan")
    assert answer.status == 0, answer.err
    lines = [line.split() for line in answer.out.splitlines()]
    assert lines[1][:3] == ["tiny", "quick", "0"]
    assert lines[2][:2] == ["absent", "small"]
    assert int(lines[2][2]) > 0
    assert lines[3][:4] == ["in", "all:", lines[2][2], "runs,"]


def test_an_engine_that_is_not_built_has_no_plan_yet(written: Checkout) -> None:
    written.experiment("absent", ABSENT.replace("[memory]", "[rocksdb@0.0.1]"))
    answer = written.kvdyno("paper", "trial", "--uncapped", "--plan")
    assert answer.status == 0, answer.err
    assert "not planned: absent:" in answer.out


def test_a_part_at_another_profile_is_taken_from_its_records(written: Checkout) -> None:
    _append(written, "profiles: {small: {tiny: quick}}")
    answer = written.kvdyno("paper", "trial", "--profile", "small", "--uncapped", "--tex-only")
    assert answer.status == 0, answer.err
    text = (written.root / "results/papers/trial-small/paper.tex").read_text()
    assert code("kvdyno run tiny --profile quick --uncapped") in text
    assert code("kvdyno paper trial --profile small --uncapped") in text
    assert "no record at profile small" in text, "of the experiment without another profile"


def test_an_unknown_paper_is_named(written: Checkout) -> None:
    answer = written.kvdyno("paper", "trail")
    assert answer.status == 2
    assert "did you mean 'trial'" in answer.err
    assert "there are: trial" in written.kvdyno("paper").err


def test_a_record_that_cannot_be_read_stops_a_paper_and_is_named(written: Checkout, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(written.root / "results", results)
    broken = next(path for path in results.glob("runs/*/*/record.json") if "load" not in str(path))
    broken.write_text("{")
    answer = written.kvdyno("paper", "trial", "--uncapped", "--tex-only", "--results", str(results))
    assert answer.status == 7
    assert str(broken) in answer.err


@pytest.fixture
def published(written: Checkout) -> Iterator[Path]:
    """The records of `tiny`, published in the checkout."""
    project = Project.find(start=written.root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KVDYNO_BUILD", str(written.root / "build"))
        recorded = pipeline.find_recorded(project, pipeline.Request("tiny"), uncapped=True)
    facts = {"kvdyno.commit": "0123456789abcdef", "kvdyno.modified": False}
    records = {
        name: record.model_copy(
            update={
                "environment": record.environment.model_copy(
                    update={"facts": {**record.environment.facts, **facts}}
                )
            }
        )
        for name, record in recorded.records.items()
    }
    found = pipeline.analyse(project, recorded.plan, records=records.values())
    asked = pipeline.Publication(name="tiny", state="nothing else running")
    folder = pipeline.publish(
        project, pipeline.Recorded(recorded.plan, records, partial=False), found, asked, drawn=()
    )
    yield folder
    shutil.rmtree(folder)


def test_published_sweeps_take_the_place_of_records(
    written: Checkout, published: Path, tmp_path: Path
) -> None:
    answer = written.kvdyno(
        *("paper", "trial", "--tex-only", "--published", str(published)), "--results", str(tmp_path)
    )
    assert answer.status == 0, answer.err
    text = (tmp_path / "papers/trial-quick/paper.tex").read_text()
    assert "rendered it from published metrics" in text
    assert "published as results/tiny: commit 0123456789abcdef, nothing else running" in text
    assert "nothing is published at profile quick" in text, "of the other experiment"
    assert "not kept" in text
    assert (tmp_path / "papers/trial-quick/figures/tiny/throughput.pdf").is_file()
    assert written.kvdyno("paper", "trial", "--uncapped", "--tex-only").status == 0
    own = (written.root / "results/papers/trial-quick/paper.tex").read_text()
    value = re.compile(r"[\d.]+~[kM]?op/s \(.*?\)")
    assert value.findall(text) == value.findall(own) != []


def test_a_published_self_test_gives_the_noise_floor(
    written: Checkout, published: Path, tmp_path: Path
) -> None:
    (host,) = set(read_metrics(published / "metrics.parquet")["host"])
    noise = published / "selftest" / "noise.json"
    noise.parent.mkdir()
    origin = {"question": "How noisy is it?", "command": "kvdyno selftest", "files": ["noise.json"]}
    origin |= {"schema_version": "kvdyno.origin/1", "seeded": True}
    (noise.parent / "origin.yaml").write_text(json.dumps(origin))
    noise.write_text(make_noise("memory", "c", sd_log=0.05, host_id=host).model_dump_json())
    asked = ("paper", "trial", "--tex-only", "--published", str(published), "--results", str(tmp_path))
    answer = written.kvdyno(*asked)
    assert answer.status == 0, answer.err
    assert r"\label{tab:floors}" in (tmp_path / "papers/trial-quick/paper.tex").read_text()
    noise.write_text("{")
    answer = written.kvdyno(*asked)
    assert answer.status == 7
    assert str(noise) in answer.err


def test_a_folder_without_one_published_sweep_each_is_refused(
    written: Checkout, published: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    asked = ("paper", "trial", "--tex-only", "--published", str(folder))
    answer = written.kvdyno(*asked)
    assert answer.status == 2
    assert "expected a folder with published sweeps" in answer.err
    for name in ("one", "two"):
        shutil.copytree(published, folder / name)
    answer = written.kvdyno(*asked)
    assert answer.status == 2
    assert "expected one folder for tiny at profile quick" in answer.err
    for useless in (("--repeat", "3"), ("--runner", "local"), ("--uncapped",), ("--plan",)):
        answer = written.kvdyno(*asked, *useless)
        assert answer.status == 2
        assert "expected no --runner" in answer.err


def test_an_excluded_host_is_a_note_of_its_chapter(written: Checkout, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(written.root / "results", results)
    for path in results.glob("runs/*/*-r2-*/record.json"):
        record = json.loads(path.read_text())
        record["environment"]["host_id"] = "b" * 12
        path.write_text(json.dumps(record))
    where = ("--results", str(results))
    assert written.kvdyno("exclude", "bbb", "--because", "slow & noisy", *where).status == 0
    answer = written.kvdyno("paper", "trial", "--uncapped", "--tex-only", *where)
    assert answer.status == 0, answer.err
    text = (results / "papers/trial-quick/paper.tex").read_text()
    assert r"slow \& noisy; its 4 runs do not count" in text
