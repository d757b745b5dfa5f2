"""An engine that crashes, hangs, lies or eats too much is a stored result, and the sweep goes on."""

from __future__ import annotations

import json

from .conftest import Checkout

#: What the fake engine does, and what its record then holds.
ENDINGS = {
    "well": "ok",
    "crash": "crash",
    "hang": "timeout",
    "wrong data": "wrong_data",
    "unsupported": "unsupported",
    "full": "disk_full",
    "no outcome": "failed",
    "half an outcome": "failed",
}

EXPERIMENT = f"""\
title: Endings
engines: [fakedb, memory]
grid:
  workload: [c]
  dataset: [256MiB]
  fake: {json.dumps(list(ENDINGS))}
cap: 2GiB
repetitions: 1
timeout: 1s
"""


def endings(checkout: Checkout) -> dict[str, str]:
    """What was asked of the fake engine → the status of its latest record."""
    records = checkout.kvdyno("show", "fakedb.c", "--json").json
    return {record["point"]["axes"]["fake"]: record["status"] for record in records}


def test_every_ending_is_stored_and_the_sweep_goes_on(faking: Checkout) -> None:
    faking.experiment("endings", EXPERIMENT)
    answer = faking.kvdyno("run", "endings", "--uncapped")
    assert answer.status == 8
    assert "7 of 9 runs failed: crash, disk full, failed, timeout, unsupported, wrong data" in answer.err
    assert endings(faking) == ENDINGS
    assert [r["status"] for r in faking.kvdyno("show", "memory.c", "--json").json] == ["ok"]

    page = (faking.root / "results/reports/endings-quick-uncapped/report.html").read_text()
    for said in (
        "ended by SIGSEGV",
        "about to crash",
        "still running after 1 s",
        "expected stamp 1, found 2",
    ):
        assert said in page
        assert said in answer.out or said == "about to crash"
    assert "report:  results/reports/endings-quick-uncapped/report.html" in answer.out

    again = faking.kvdyno("run", "endings", "--uncapped", "--json")
    assert again.status == 8
    assert again.json["measured"] == 3, "what a run is to blame for is a result; the host's trouble is not"
    assert len(again.json["failures"]) == 7
    assert faking.work == []


def test_a_load_that_fails_is_reported_with_the_runs_that_needed_it(faking: Checkout) -> None:
    faking.experiment(
        "endings", EXPERIMENT.replace("  fake:", "  fake.load: [crash]\n  fake:").replace("timeout", "#")
    )
    answer = faking.kvdyno("run", "endings", "--uncapped", "--only", "fake=well", "--engines", "fakedb")
    assert answer.status == 8
    assert "its dataset could not be loaded" in " ".join(answer.out.split())


def test_an_engine_that_is_out_of_memory(faking: Checkout, capped: None) -> None:
    faking.experiment(
        "endings",
        EXPERIMENT.replace(json.dumps(list(ENDINGS)), "[eat, eat at once]")
        + "properties: {fake.bytes: 64MiB}\n",
    )
    answer = faking.kvdyno("run", "endings", "--engines", "fakedb")
    assert answer.status == 8
    assert endings(faking) == {"eat": "out_of_memory", "eat at once": "out_of_memory"}
    said = " ".join(answer.out.split())
    assert "for lack of memory under a cap of 32 MiB" in said
    assert "a cap of 32 MiB is too small for the driver itself" in said


def test_the_host_failing_once_hides_no_earlier_result(faking: Checkout) -> None:
    """A forced repetition that fails for lack of disk does not take a good result's place."""
    faking.experiment("endings", EXPERIMENT)
    part = ("run", "endings", "--uncapped", "--only", "fake=well", "--engines", "fakedb", "--json")
    assert faking.kvdyno(*part).status == 0
    (good,) = faking.runs.glob("fakedb.c*/*/record.json")
    failed = json.loads(good.read_text()) | {
        "run_id": "20990101T000000Z-r1-abcdef",
        "started_at": "2099-01-01T00:00:00.000000Z",
        "status": "disk_full",
        "failure": {"reason": "no room", "exit_status": None, "signal": None, "log_tail": ""},
    }
    folder = good.parent.with_name(failed["run_id"])
    folder.mkdir()
    (folder / "record.json").write_text(json.dumps(failed))
    again = faking.kvdyno(*part)
    assert (again.status, again.json["measured"], again.json["reused"]) == (0, 0, 1)
