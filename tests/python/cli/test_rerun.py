"""`kvdyno rerun`: a stored run once more, and what differs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import BINARIES, Checkout


@pytest.fixture
def again(measured: Checkout, tmp_path: Path) -> Checkout:
    """A measured checkout of the test's own."""
    shutil.copytree(measured.root, tmp_path / "checkout", symlinks=True)
    return Checkout(tmp_path / "checkout")


def a_run(checkout: Checkout) -> str:
    """The id of the second repetition of a run that updates."""
    (found,) = [
        record["run_id"]
        for record in checkout.kvdyno("show", "memory.a", "--json").json
        if record["repetition"] == 2 and "load" not in record["point"]["phases"]
    ]
    return str(found)


def test_the_same_is_measured_again_and_kept_beside_the_first(again: Checkout) -> None:
    run = a_run(again)
    answer = again.kvdyno("rerun", run[-12:], "--json")
    assert answer.status == 0, answer.err
    before, now = answer.json["before"], answer.json["again"]
    assert before["run_id"] == run
    assert now["run_id"] != run
    assert now["point"]["identity"] == before["point"]["identity"]
    assert (now["repetition"], now["seed"]) == (2, before["seed"])
    assert now["runner"]["capped"] == before["runner"]["capped"]
    assert answer.json["differences"] == []
    stored = {record["run_id"] for record in again.kvdyno("show", "--json").json}
    assert {run, now["run_id"]} <= stored


def test_the_page_shows_results_side_by_side(again: Checkout) -> None:
    answer = again.kvdyno("rerun", a_run(again))
    assert answer.status == 0, answer.err
    assert "Nothing but results differs" in answer.out
    assert "now / before" in answer.out
    assert "throughput" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_another_build_and_another_cap_are_named(again: Checkout) -> None:
    run = a_run(again)
    binary = again.binaries / "kvdyno-memory"
    binary.unlink()
    binary.write_bytes((BINARIES / "kvdyno-memory").read_bytes() + b"\0")
    binary.chmod(0o755)
    experiment = again.root / "experiments" / "tiny.yaml"
    experiment.write_text(experiment.read_text().replace("cap: 2GiB", "cap: 4GiB"))
    answer = again.kvdyno("rerun", run, "--json")
    assert answer.status == 0, answer.err
    named = {each["name"]: (each["before"], each["now"]) for each in answer.json["differences"]}
    assert named["cap"] == (32 << 20, 64 << 20)
    before, now = named["engine.build"]
    assert before != now


def test_what_cannot_be_repeated_is_refused_with_a_remedy(again: Checkout) -> None:
    unknown = again.kvdyno("rerun", "nosuch")
    assert unknown.status == 2
    assert "'nosuch', which no runs have" in unknown.err
    run = a_run(again)
    experiment = again.root / "experiments" / "tiny.yaml"
    experiment.write_text(experiment.read_text().replace("[a, c]", "[c]"))
    gone = again.kvdyno("rerun", run)
    assert gone.status == 4
    assert "the experiment has changed" in gone.err
    (sweep,) = (again.root / "results" / "sweeps").glob("*.json")
    sweep.unlink()
    lost = again.kvdyno("rerun", run)
    assert lost.status == 7
    assert "which names its experiment, found none" in lost.err
