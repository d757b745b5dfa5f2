"""Change points: what apache-otava is asked, and what becomes of its answers and failures."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.history import change_points
from kvdyno.model.history import Entry
from kvdyno.model.project import Project

OTAVA = Project.find(start=Path(__file__)).root / ".kvdyno/otava/bin/otava"

real = pytest.mark.skipif(
    os.environ.get("KVDYNO_TEST_OTAVA") != "1" or not OTAVA.is_file(),
    reason="needs apache-otava: harness/setup.sh otava installs it, KVDYNO_TEST_OTAVA=1 asks for it",
)


def track(point: str, values: Sequence[float], *, anchored: bool = False) -> list[Entry]:
    """Entries of one track. With an anchor, ratios are the given values, and values are noise."""
    return [
        Entry(
            at=f"2026-11-24T10:{number:02d}:00+00:00", host="host", revision=f"r{number}", subject="engine",
            suite="suite", point=point, metric="throughput", unit="op/s",
            value=random.Random(number).uniform(1, 1000) if anchored else value,
            anchor="rocksdb 11.8.1" if anchored else "", ratio=value if anchored else None,
        )
        for number, value in enumerate(values)
    ]  # fmt: skip


def noisy(*means: float, each: int = 12) -> list[float]:
    """Values with one percent of noise, always the same."""
    source = random.Random(7)
    return [mean * source.gauss(1, 0.01) for mean in means for _ in range(each)]


@real
def test_a_lasting_change_is_found_where_it_began() -> None:
    entries = [*track("steady", noisy(100, 100)), *track("fell", noisy(100, 90))]
    (change,) = change_points(entries, program=OTAVA)
    assert (change.track.point, change.revision) == ("fell", "r12")
    assert change.ratio == pytest.approx(0.9, rel=0.02)


@real
def test_ratios_to_an_anchor_are_judged_instead_of_values() -> None:
    (change,) = change_points(track("a", noisy(1.5, 1.8), anchored=True), program=OTAVA)
    assert change.revision == "r12"
    assert change.ratio == pytest.approx(1.2, rel=0.02)


@real
def test_entries_of_one_moment_keep_their_order() -> None:
    same = [entry.model_copy(update={"at": "2026-11-24T10:00:00+00:00"}) for entry in track("a", noisy(9, 6))]
    assert [change.revision for change in change_points(same, program=OTAVA)] == ["r12"]


def test_short_tracks_are_not_judged(tmp_path: Path) -> None:
    program = tmp_path / "otava"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert change_points(track("a", [1, 1, 5, 5, 5]), program=program) == ()


def test_without_otava_the_error_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="not installed") as caught:
        change_points(track("a", noisy(1, 2)), program=tmp_path / "none")
    assert caught.value.remedy == "harness/setup.sh otava"


@pytest.mark.parametrize("script", ["echo no such test >&2; exit 3", "exit 0"])
def test_a_failure_is_reported_with_its_last_words(script: str, tmp_path: Path) -> None:
    program = tmp_path / "otava"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(HostError, match=r"ended with 3: no such test|ended with 0: no output"):
        change_points(track("a", noisy(1, 2)), program=program)
