"""Results in another checkout: engines that are not built there, other builds, another host."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from .conftest import BINARIES, Checkout, make_checkout

REPORT = ("report", "tiny", "--uncapped")


@pytest.fixture
def elsewhere(measured: Checkout, tmp_path: Path) -> Checkout:
    """A checkout of the same sources with a copy of the results, where nothing is built."""
    checkout = make_checkout(tmp_path / "elsewhere")
    for binary in checkout.binaries.iterdir():
        binary.unlink()
    shutil.copytree(measured.root / "results" / "runs", checkout.root / "results" / "runs")
    shutil.copytree(measured.root / "results" / "sweeps", checkout.root / "results" / "sweeps")
    return checkout


def the_sweep(checkout: Checkout) -> str:
    (path,) = (checkout.root / "results" / "sweeps").glob("*.json")
    return path.stem


def rebuild(checkout: Checkout) -> None:
    """As another checkout's compiler would: other bytes, the same engines."""
    for name in ("kvdyno-memory", "kvdyno-noop"):
        path = checkout.binaries / name
        path.unlink(missing_ok=True)
        path.write_bytes((BINARIES / name).read_bytes() + b"\0")
        path.chmod(0o755)


def test_a_report_needs_no_engine(elsewhere: Checkout) -> None:
    answer = elsewhere.kvdyno(*REPORT, "--json")
    assert answer.status == 0, answer.err
    assert answer.json["reused"] == 8
    assert {row["label"] for row in answer.json["rows"]} == {"memory", "noop"}
    said = f"note: engines are not built here: the builds are those of sweep {the_sweep(elsewhere)}\n"
    assert answer.err == said
    assert "partial" not in answer.json["report"]


def test_nor_does_a_part_of_one(elsewhere: Checkout) -> None:
    answer = elsewhere.kvdyno(*REPORT, "--json", "--engines", "noop", "--only", "workload=c")
    assert (answer.status, answer.json["reused"]) == (0, 2), answer.err


def test_results_may_be_anywhere(elsewhere: Checkout, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (elsewhere.root / "results").rename(copy)
    answer = elsewhere.kvdyno(*REPORT, "--json", "--results", str(copy))
    assert (answer.status, answer.json["reused"]) == (0, 8), answer.err


def test_another_build_is_offered_by_the_name_of_its_sweep(elsewhere: Checkout) -> None:
    rebuild(elsewhere)
    refused = elsewhere.kvdyno(*REPORT)
    assert refused.status == 7
    sweep = the_sweep(elsewhere)
    assert f"found records of other builds: sweep {sweep} (local): 8 runs" in refused.err
    assert f"--builds-of {sweep}" in refused.err
    answer = elsewhere.kvdyno(*REPORT, "--json", "--builds-of", sweep)
    assert (answer.status, answer.json["reused"]) == (0, 8), answer.err
    page = Path(answer.json["report"]).read_text()
    assert f"--builds-of {sweep}" not in page, "what is built there measures it again"
    unknown = elsewhere.kvdyno(*REPORT, "--builds-of", "nosuch")
    assert unknown.status == 2
    assert f"remedy: known: {sweep}" in unknown.err


def test_an_earlier_sweep_is_shown_beside_a_later_one(checkout: Checkout) -> None:
    run = ("run", "tiny", "--uncapped", "--repeat", "1")
    assert checkout.kvdyno(*run).status == 0
    before = the_sweep(checkout)
    assert checkout.kvdyno(*run, "--force", "--only", "workload=c").status == 0
    answer = checkout.kvdyno(*REPORT, "--json", "--repeat", "1", "--compare", before)
    assert answer.status == 0, answer.err
    page = Path(answer.json["report"]).read_text()
    assert f"Beside {before}" in page
    assert f"--compare {before}" not in page, "a run compares nothing"
    rows = pd.read_csv(Path(answer.json["report"]).parent / "tables/_earlier.csv")
    shown = rows[(rows["metric"] == "throughput") & (rows["phase"] == "run")]
    assert set(zip(shown["label"], shown["workload"], strict=True)) == {("memory", "c"), ("noop", "c")}
    assert not shown["paired"].any()


def test_what_cannot_stand_beside_a_report_is_refused(elsewhere: Checkout) -> None:
    unknown = elsewhere.kvdyno(*REPORT, "--compare", "nosuch")
    assert unknown.status == 2
    assert "no records of 'nosuch': expected a sweep or a results folder" in unknown.err
    own = elsewhere.kvdyno(*REPORT, "--compare", the_sweep(elsewhere))
    assert own.status == 2
    assert "has no other runs of this report's points" in own.err


def test_the_builds_that_are_here_come_first(elsewhere: Checkout) -> None:
    rebuild(elsewhere)
    part = ("--only", "memory.c.*", "--repeat", "1")
    assert elsewhere.kvdyno("run", "tiny", "--uncapped", *part).status == 0
    answer = elsewhere.kvdyno(*REPORT, "--json")
    assert (answer.status, answer.json["reused"]) == (0, 1), answer.err


def test_a_paper_takes_the_builds_with_most_records(elsewhere: Checkout) -> None:
    folder = elsewhere.root / "paper" / "trial"
    folder.mkdir()
    (folder / "paper.yaml").write_text(
        "{schema_version: kvdyno.paper/1, title: Trial, reproduces: a trial, abstract: abstract.tex.j2,\n"
        "sections: [{title: Results, experiments: [tiny]}]}\n"
    )
    (folder / "abstract.tex.j2").write_text(r'\VAR{value("tiny", engine="memory", workload="a")}')
    sweep = the_sweep(elsewhere)
    rebuild(elsewhere)
    part = ("--only", "memory.c.*", "--repeat", "1")
    assert elsewhere.kvdyno("run", "tiny", "--uncapped", *part).status == 0
    answer = elsewhere.kvdyno("paper", "trial", "--uncapped", "--tex-only")
    assert answer.status == 0, answer.err
    text = (elsewhere.root / "results/papers/trial-quick/paper.tex").read_text()
    assert f"the builds that are here have 1 of 8 runs: the builds are those of sweep {sweep}" in text


def test_a_sweep_of_some_engines_makes_a_partial_report(checkout: Checkout) -> None:
    run = ("run", "tiny", "--uncapped", "--engines", "memory", "--only", "workload=c", "--repeat", "1")
    assert checkout.kvdyno(*run).status == 0
    (checkout.binaries / "kvdyno-noop").unlink()
    answer = checkout.kvdyno(*REPORT, "--json")
    assert (answer.status, answer.json["reused"]) == (0, 1), answer.err
    assert "tiny-quick-partial-uncapped" in answer.json["report"]


def test_a_whole_sweep_is_preferred_to_a_later_one_of_a_part(elsewhere: Checkout) -> None:
    rebuild(elsewhere)
    part = ("--engines", "memory", "--only", "workload=c", "--repeat", "1")
    assert elsewhere.kvdyno("run", "tiny", "--uncapped", *part).status == 0
    for name in ("kvdyno-memory", "kvdyno-noop"):
        (elsewhere.binaries / name).unlink()
    answer = elsewhere.kvdyno(*REPORT, "--json")
    assert (answer.status, answer.json["reused"]) == (0, 8), answer.err


def test_an_upstream_binary_may_be_missing(checkout: Checkout) -> None:
    """It describes itself nowhere, so a report leaves it out."""
    run = ("run", "tiny", "--uncapped", "--engines", "memory", "--only", "workload=c", "--repeat", "1")
    assert checkout.kvdyno(*run).status == 0
    text = (checkout.root / "experiments" / "tiny.yaml").read_text()
    checkout.experiment("tiny", text.replace("[memory, noop]", "[memory, {engine: x, external: no/ycsb}]"))
    (checkout.binaries / "kvdyno-memory").unlink()
    answer = checkout.kvdyno(*REPORT, "--json")
    assert (answer.status, answer.json["reused"]) == (0, 1), answer.err


def test_records_of_another_host_are_marked(elsewhere: Checkout) -> None:
    for path in elsewhere.records():
        record = json.loads(path.read_text())
        record["environment"]["host_id"] = "far"
        path.write_text(json.dumps(record))
    answer = elsewhere.kvdyno(*REPORT, "--json")
    assert (answer.status, answer.json["reused"]) == (0, 8), answer.err
    assert "note: measured on another host: far\n" in answer.err


def test_without_records_the_engines_are_missed(elsewhere: Checkout) -> None:
    shutil.rmtree(elsewhere.runs)
    answer = elsewhere.kvdyno(*REPORT)
    assert answer.status == 4
    assert "no engine is built" in answer.err


def test_a_sweep_that_cannot_be_read_is_no_trouble(elsewhere: Checkout) -> None:
    rebuild(elsewhere)
    part = ("--only", "memory.c.*", "--repeat", "1")
    assert elsewhere.kvdyno("run", "tiny", "--uncapped", *part).status == 0
    for path in (elsewhere.root / "results" / "sweeps").glob("*.json"):
        path.write_text("{")
    assert elsewhere.kvdyno(*REPORT).status == 0
