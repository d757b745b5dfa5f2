"""kvdyno exclude: what a person sees of an excluded host, before and after."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kvdyno.model.schema import validate
from kvdyno.runner import host_id

from .conftest import Checkout, make_checkout

OTHER = "b" * 12
TINY = ("tiny", "--uncapped")


@pytest.fixture
def here(measured: Checkout, tmp_path: Path) -> Checkout:
    """Measured by two hosts: the second repetition by another one."""
    checkout = make_checkout(tmp_path / "here")
    # Without the reports that other tests have written.
    ignored = shutil.ignore_patterns("reports")
    shutil.copytree(measured.root / "results", checkout.root / "results", ignore=ignored)
    for path in checkout.records():
        record = json.loads(path.read_text())
        if record["repetition"] == 2 and not record["point"]["slug"].endswith(".load"):
            record["environment"]["host_id"] = OTHER
            path.write_text(json.dumps(record))
    return checkout


def test_reports_and_claims_name_what_they_leave_out(here: Checkout) -> None:
    before = here.kvdyno("report", *TINY, "--json").json
    assert not any("was excluded" in caution for caution in before["cautions"])
    made = here.kvdyno("exclude", "bbb", "--because", "slow disk")
    assert (made.status, made.out.count("\n")) == (0, 1)
    line = made.out.strip()
    assert line.startswith(f"host {OTHER} was excluded on ")
    assert line.endswith(": slow disk")
    report = here.kvdyno("report", *TINY, "--json")
    assert report.status == 0, report.err
    assert f"{line}; its 4 runs do not count" in report.json["cautions"]
    (page,) = (here.root / "results" / "reports").glob("*/report.html")
    assert f"{line}; its 4 runs do not count" in page.read_text()
    assert f"note: {line}; its 4 runs do not count" in here.kvdyno("claims", *TINY).err
    (judged,) = here.kvdyno("claims", *TINY, "--json").json
    assert judged["notes"] == [f"{line}; its 4 runs do not count"]
    validate(judged, schema="claims", where="claims.json")
    assert here.kvdyno("exclude").out.strip() == line
    undone = here.kvdyno("exclude", OTHER, "--undo")
    assert (undone.status, undone.out) == (0, f"host {OTHER} counts again\n")
    assert here.kvdyno("report", *TINY, "--json").json == before
    assert here.kvdyno("claims", *TINY, "--json").json[0]["notes"] == []
    assert here.kvdyno("exclude").out == "no host is excluded\n"


def test_this_host_measures_nothing_while_it_is_excluded(here: Checkout) -> None:
    records = len(here.records())
    here.kvdyno("exclude", host_id(), "--because", "slow disk")
    refused = here.kvdyno("run", *TINY)
    assert refused.status == 5
    assert f"this host {host_id()} was excluded on" in refused.err
    assert f"kvdyno exclude {host_id()} --undo" in refused.err
    assert len(here.records()) == records
    planned = here.kvdyno("plan", *TINY, "--json").json["runs"]
    assert [run["stored"] for run in planned] == [False] * 8
    here.kvdyno("exclude", host_id(), "--undo")
    assert here.kvdyno("run", *TINY).status == 0


def test_scripts_get_what_is_stored(here: Checkout) -> None:
    made = here.kvdyno("exclude", OTHER, "--because", "slow", "--json").json
    stored = json.loads((here.root / "results" / "hosts" / OTHER / "excluded.json").read_text())
    assert made == [stored]
    assert here.kvdyno("exclude", "--json").json == [stored]
    assert here.kvdyno("exclude", OTHER, "--undo", "--json").json == {"included": OTHER}
    assert here.kvdyno("exclude", "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--because", "slow"), "expected a HOST, found none"),
        (("--undo",), "expected a HOST, found none"),
        ((OTHER,), "expected a reason, found none"),
        ((OTHER, "--because", " "), "expected a reason, found none"),
        ((OTHER, "--undo", "--because", "slow"), "--undo takes no --because"),
        (("nowhere", "--because", "slow"), "no host 'nowhere' is known"),
        ((OTHER, "--undo"), f"no host '{OTHER}' is excluded"),
    ],
)
def test_an_exclusion_that_cannot_be_meant_is_an_error(
    here: Checkout, arguments: tuple[str, ...], words: str
) -> None:
    answer = here.kvdyno("exclude", *arguments)
    assert answer.status == 2
    assert words in " ".join(answer.err.split())
    assert not list((here.root / "results").glob("hosts/*/excluded.json"))
