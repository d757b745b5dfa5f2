"""What a sweep measures, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Checkout


def measure(checkout: Checkout, *arguments: str) -> tuple[int, int]:
    """Runs measured and runs reused."""
    answer = checkout.kvdyno("run", "tiny", "--uncapped", "--json", *arguments)
    assert answer.status == 0, answer.err
    return answer.json["measured"], answer.json["reused"]


def test_what_is_stored_is_not_measured_again(checkout: Checkout) -> None:
    part = ("--only", "workload=c")
    assert measure(checkout, *part, "--engines", "memory") == (2, 0)
    first = checkout.records()
    assert measure(checkout, *part, "--engines", "memory") == (0, 2)
    assert measure(checkout, *part, "--engines", "noop,memory") == (4, 0), "pairs share a sweep"
    assert measure(checkout, *part, "--repeat", "3") == (2, 4)
    assert measure(checkout, "--exclude", "memory.*", "--exclude", "*.a.*") == (0, 2)
    assert measure(checkout, *part, "--engines", "memory", "--repeat", "1", "--force") == (1, 0)
    later = checkout.records()
    assert set(first) <= set(later), "records are never replaced"
    assert len(later) == 9 + 3, "and three loads: --force loads again"
    assert checkout.work == []


def test_another_build_is_measured_again(checkout: Checkout) -> None:
    part = ("--only", "memory.c.*", "--repeat", "1")
    assert measure(checkout, *part) == (1, 0)
    binary = checkout.binaries / "kvdyno-memory"
    content = binary.read_bytes()
    binary.unlink()
    binary.write_bytes(content + b"\0")
    binary.chmod(0o755)
    assert measure(checkout, *part) == (1, 0)


def test_a_capped_sweep_is_kept_apart_from_an_uncapped_one(checkout: Checkout, capped: None) -> None:
    part = ("--only", "memory.c.*", "--repeat", "1")
    assert measure(checkout, *part) == (1, 0)
    answer = checkout.kvdyno("run", "tiny", *part, "--json")
    assert (answer.status, answer.json["measured"], answer.json["reused"]) == (0, 1, 0)
    runners = [json.loads(path.read_text())["runner"] for path in checkout.records()]
    assert sorted(runner["capped"] for runner in runners) == [False, False, True, True], "nor do loads"


def test_an_unreadable_record_is_spoken_of_and_measured_again(checkout: Checkout) -> None:
    part = ("--only", "memory.c.*", "--repeat", "1")
    measure(checkout, *part)
    (damaged,) = checkout.runs.glob("memory.c.*/*/record.json")
    damaged.write_text(damaged.read_text()[:1000])
    for command in (["plan", "tiny"], ["report", "tiny"], ["show"]):
        answer = checkout.kvdyno(*command)
        assert f"warning: unreadable record, left out: {damaged}" in answer.err
    again = checkout.kvdyno("run", "tiny", "--uncapped", "--json", *part)
    assert again.status == 0
    assert again.json["measured"] == 1
    assert str(damaged) in again.err
    assert len(damaged.read_text()) == 1000, "it stays for a person to look at"


def test_clean_removes_snapshots_and_leftovers_but_no_record(checkout: Checkout) -> None:
    measure(checkout, "--only", "memory.c.*", "--repeat", "1")
    before = checkout.records()
    unfinished = checkout.runs / "memory.c.4MiB-000000000000" / "20260101T000000Z-r1-abcdef"
    unfinished.mkdir(parents=True)
    assert str(unfinished) in checkout.kvdyno("clean", "--json").json["removed"]
    assert list((checkout.root / ".kvdyno" / "snapshots-uncapped").iterdir())
    assert checkout.kvdyno("clean", "--snapshots").out.startswith("removed ")
    assert list((checkout.root / ".kvdyno" / "snapshots-uncapped").iterdir()) == []
    assert checkout.kvdyno("clean").out == "nothing to remove\n"
    assert checkout.records() == before


def test_results_and_data_go_where_options_point(checkout: Checkout, tmp_path: Path) -> None:
    results, data = tmp_path / "results", tmp_path / "data"
    places = ("--results", str(results), "--data", str(data))
    measure(checkout, *places, "--only", "memory.c.*", "--repeat", "1")
    assert list(results.glob("runs/*/*/record.json"))
    assert (results / "reports" / "tiny-quick-partial-uncapped" / "report.html").exists()
    assert list(data.glob("snapshots-uncapped/*"))
    assert not (checkout.root / "results").exists()
    assert not (checkout.root / ".kvdyno").exists()
