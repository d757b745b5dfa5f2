"""`kvdyno history` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Checkout


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "history")


def test_a_sweep_is_added_once_and_shown(measured: Checkout, folder: str) -> None:
    words = ("history", "add", "tiny", "--uncapped", "--history", folder)
    added = measured.kvdyno(*words)
    assert added.status == 0, added.err
    assert "4 added" in added.out
    assert "0 added, 4 known already" in measured.kvdyno(*words).out
    measured.kvdyno(*words, "--revision", "v2")
    shown = measured.kvdyno("history", "show", "--history", folder, "--json").json
    assert {(each["subject"], each["point"]) for each in shown} == {
        (engine, point) for engine in ("memory", "noop") for point in ("a.4MiB", "c.4MiB")
    }
    noop = next(each for each in shown if each["subject"] == "noop")
    assert [entry["revision"] for entry in noop["entries"]][-1] == "v2"
    assert noop["entries"][0]["anchor"].startswith("memory ")
    assert (noop["step"], noop["anchored"]) == (1.0, True)


def test_the_table_fits_a_terminal(measured: Checkout, folder: str) -> None:
    measured.kvdyno(
        "history", "add", "tiny", "--uncapped", "--history", folder, "--revision", "0123456789abcdef"
    )
    shown = measured.kvdyno("history", "show", "--history", folder, "--subject", "noop")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "tiny quick, throughput, host" in shown.out
    assert "memory" not in shown.out


def test_a_page_draws_every_track(measured: Checkout, folder: str) -> None:
    for revision in ("v1", "v2", "v3"):
        measured.kvdyno("history", "add", "tiny", "--uncapped", "--history", folder, "--revision", revision)
    answer = measured.kvdyno("history", "report", "--history", folder)
    assert answer.status == 0, answer.err
    page = (measured.root / answer.out.strip()).read_text()
    assert page.count("<svg") == 1
    assert "<code>v3</code>" in page
    assert "tiny quick" in page


def test_changes_need_otava(measured: Checkout, folder: str) -> None:
    measured.kvdyno("history", "add", "tiny", "--uncapped", "--history", folder)
    answer = measured.kvdyno("history", "changes", "--history", folder)
    assert answer.status != 0
    assert "harness/setup.sh otava" in answer.err


def test_another_tools_file_goes_in_and_out(checkout: Checkout, folder: str, tmp_path: Path) -> None:
    benches = tmp_path / "bench.json"
    benches.write_text(json.dumps([{"name": "get", "unit": "us", "value": 3.5, "range": "± 0.5"}]))
    words = ("history", "import", str(benches), "--history", folder)
    refused = checkout.kvdyno(*words)
    assert refused.status == 7
    assert "--revision" in refused.err
    assert "1 added" in checkout.kvdyno(*words, "--revision", "v1", "--host", "bench-1").out
    out = tmp_path / "out.json"
    answer = checkout.kvdyno("history", "export", "--format", "bencher", "-o", str(out), "--history", folder)
    assert answer.status == 0, answer.err
    assert json.loads(out.read_text()) == {
        "bench/bench/get": {"get": {"value": 3.5, "lower_value": 3.0, "upper_value": 4.0}}
    }


def test_no_history_and_unknown_names_have_a_remedy(measured: Checkout, folder: str) -> None:
    empty = measured.kvdyno("history", "show", "--history", folder)
    assert empty.status == 7
    assert "kvdyno history add" in empty.err
    measured.kvdyno("history", "add", "tiny", "--uncapped", "--history", folder)
    unknown = measured.kvdyno("history", "show", "--history", folder, "--subject", "nop")
    assert unknown.status == 2
    assert "noop" in unknown.err
