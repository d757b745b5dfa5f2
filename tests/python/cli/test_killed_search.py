"""A search that is killed in mid-try loses that try alone, and ends as if it had never been killed."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from fakes.drivers import NAME, build_fake
from fakes.engines import option
from ruamel.yaml import YAML

from kvdyno.model.results import ReportPaths

from .conftest import Answer, Checkout, make_checkout
from .test_interrupted import drivers, until

SEARCH = sys.modules["kvdyno.pipeline.search"]
TRIES = 3
COMMAND = (
    *("tune", NAME, "--strategy", "sweep", "--tries", str(TRIES), "--unseen", "", "--repeat", "2"),
    *("--dataset", "256MiB", "--cap", "2GiB", "--uncapped"),
)
OPTIONS = (option("step", "choice", "none", choices=("none", "some", "more", "most")),)
#: A try is a run of the default and one of the candidate. The first try of `none` is the default, unmeasured.
RUNS_A_TRY = 2
#: The second run of the second try that is measured: half of that try is stored when the search is killed.
HANGING = 2 * RUNS_A_TRY


def checkout_with_fake(root: Path, *, hanging: int) -> Checkout:
    checkout = make_checkout(root)
    build_fake(checkout.binaries, calls=root / "calls", hanging=hanging, options=OPTIONS)
    return checkout


def calls(checkout: Checkout) -> int:
    """How many measured runs were ever begun, the hanging one included."""
    place = checkout.root / "calls"
    return len(place.read_text().splitlines()) if place.exists() else 0


def kill_in_run(checkout: Checkout, number: int) -> None:
    """Start the search, and kill it with SIGKILL while the measured run of that number hangs."""
    process = checkout.start(*COMMAND)
    try:
        until(lambda: calls(checkout) == number or process.poll() is not None)
        assert process.poll() is None, process.communicate()
    finally:
        process.kill()
        process.communicate()
    until(lambda: drivers(checkout) == [])


def measured(checkout: Checkout) -> dict[str, bytes]:
    """The records of measured runs: folder to content."""
    paths = [path for path in checkout.records() if ".load-" not in str(path)]
    return {str(path.parent.relative_to(checkout.runs)): path.read_bytes() for path in paths}


def trail(checkout: Checkout) -> list[dict[str, str]]:
    """The finished search's tries without the seconds that they took, which differ from search to search."""
    (path,) = (checkout.root / "results" / "reports").glob("tune-*/trail.csv")
    with path.open(newline="") as stream:
        return [
            {name: cell for name, cell in row.items() if name != "seconds"} for row in csv.DictReader(stream)
        ]


def finish(checkout: Checkout) -> Answer:
    """Run the search to its end, without the figures of the confirmation's ordinary report."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SEARCH, "write_report", lambda *_found, **_how: ReportPaths(html=Path("/report.html")))
        answer = checkout.kvdyno(*COMMAND)
    assert answer.status == 0, answer.err
    return answer


def test_a_search_that_was_killed_ends_as_if_it_was_not(tmp_path: Path) -> None:
    whole = checkout_with_fake(tmp_path / "whole", hanging=0)
    finish(whole)
    killed = checkout_with_fake(tmp_path / "killed", hanging=HANGING)
    kill_in_run(killed, HANGING)
    before = measured(killed)
    assert len(before) == HANGING - 1, "every run that ended has its record"
    (folder,) = (killed.root / "results" / "reports").glob("tune-*")
    experiments = list((folder / "experiments").glob("*.yaml"))
    assert experiments
    assert all(YAML(typ="safe").load(path)["engines"] for path in experiments), "whole files"
    assert not (folder / "search.md").exists(), "half a search has no report"

    assert "removed what a killed sweep left: " in finish(killed).out
    assert before.items() <= measured(killed).items(), "no earlier record is lost or changed"
    # Runs are compared within a sweep: the broken try is measured again with its default, and no other.
    assert calls(killed) == calls(whole) + RUNS_A_TRY
    assert trail(killed) == trail(whole)
    assert len(trail(killed)) == TRIES
    assert len(list(killed.runs.glob("*/*"))) == len(killed.records()), "no run folder without a record"
    assert killed.work == []
    assert drivers(killed) == []
    assert list(folder.glob("**/.*")) == [], "no half of a file"
