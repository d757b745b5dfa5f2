"""The gate's own measurement: its parts' times, its made commits, its tables, and what `publish` writes."""

from __future__ import annotations

import csv
import json
import math
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bench_gate import made_commits, publishing, tables
from bench_gate.measure import Bench, plan_lines
from bench_gate.parts import PARTS, PLANTED, PROBE_INSTRUCTIONS
from kvdyno import pipeline
from kvdyno.errors import StoreError, UsageError
from kvdyno.model.project import Project

PROJECT = Project.find(start=Path(__file__).parent)
CMAKE = "engines/chunkstore/CMakeLists.txt"
MACHINE = json.dumps({"virtual": True, "cores": 2, "memory": "24 GiB", "disk": "ext4 on a virtual disk"})


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    done = subprocess.run(
        ["git", *who, "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Project:
    """A repository of its own, with the chunk store's CMake file alone."""
    root = tmp_path / "checkout"
    (root / CMAKE).parent.mkdir(parents=True)
    (root / CMAKE).write_text((PROJECT.root / CMAKE).read_text("utf-8"))
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return replace(PROJECT, root=root, results=root / "results", data=root / ".kvdyno")


def gate_rows() -> list[dict[str, object]]:
    """Gates as they end: one twin gate in twenty alarms, slower gets are found but once."""
    rows: list[dict[str, object]] = []
    for part in PARTS:
        for number in part.numbers:
            missed = number == 3
            row: dict[str, object] = {
                "part": part.name,
                "number": number,
                "kind": part.kind,
                "slowdown": part.slowdown,
                "margin": part.margin,
                "in_force": max(part.margin, 0.025),
                "counted": "" if part.name == "cost" else 1 + 2 * part.slowdown,
                "pairs": 15,
                "seconds": 90,
                "ratio": 1 + part.slowdown,
                "status": int(missed) if part.kind == "twins" else int(not missed),
                "found": "" if part.kind in ("twins", "cost") else int(not missed),
                "by_time": int(number % 2),
                "by_count": int(not missed),
                "commit": "0123456789abcdef",
                "date": "2026-11-25",
                "machine": MACHINE,
            }
            if part.kind == "bisect":
                row |= {"planted": PLANTED, "located": PLANTED, "steps": 4, "ratio": ""}
            rows.append(row)
    return rows


def pair_rows(*, gates: int = 20) -> list[dict[str, object]]:
    rng = random.Random(7)
    return [
        {"gate": gate, "point": point, "metric": metric, "unit": unit, "repetition": repetition}
        | {"base": 100.0, "head": 100.0 * math.exp(rng.gauss(0, 0.02))}
        for gate in range(1, gates + 1)
        for point in ("a", "c")
        for metric, unit in (("throughput", "op/s"), ("cpu.per_operation", "ns/op"))
        for repetition in range(1, 6)
    ]


def test_parts_fit_into_sessions_and_together_into_four_hours() -> None:
    assert max(part.seconds for part in PARTS) <= 3600
    assert sum(part.seconds for part in PARTS) <= 4 * 3600
    assert sum(part.gates for part in PARTS if part.kind == "twins") >= 20
    assert plan_lines({part.name: 0 for part in PARTS})[-1].startswith("all of them: at most 0")


def test_made_commits_are_the_same_each_time_and_leave_the_checkout_alone(checkout: Project) -> None:
    root, base = checkout.root, git(checkout.root, "rev-parse", "HEAD")
    made = made_commits.history(root, base, commits=4, planted=3, instructions=77)
    assert made == made_commits.history(root, base, commits=4, planted=3, instructions=77)
    assert pipeline.candidates_between(checkout, base, made[-1]) == made
    slow = [" 77 CACHE" in git(root, "show", f"{each}:{CMAKE}") for each in made]
    assert slow == [False, False, True, True]
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "rev-parse", "HEAD") == base


def test_a_slower_get_needs_the_option_in_the_sources(checkout: Project) -> None:
    (checkout.root / CMAKE).write_text("nothing\n")
    git(checkout.root, "commit", "-qam", "second")
    with pytest.raises(ValueError, match="expected one line"):
        made_commits.slower(checkout.root, "HEAD", instructions=1)


def test_resampled_twins_seldom_alarm() -> None:
    found = tables.resampled([{k: str(v) for k, v in row.items()} for row in pair_rows()], margin=0.05)
    assert found[0]["alarms"] == 0
    assert int(str(found[1]["alarms"])) <= 0.07 * tables.SUITES  # 5 % and two standard errors


def test_gates_that_ended_are_not_repeated(checkout: Project) -> None:
    base = git(checkout.root, "rev-parse", "HEAD")
    out = checkout.committed / "gate" / tables.GATES
    rows = [row | {"commit": base} for row in gate_rows() if row["part"] != "slow-3"]
    tables.append(out, tables.GATE_COLUMNS, rows[:5])
    bench = Bench(checkout)
    bench.check()
    assert bench.left(PARTS[0]) == [6, 7, 8, 9, 10]
    with pytest.raises(UsageError, match="what instructions cost"):
        bench._instructions(0.05)
    tables.append(out, tables.GATE_COLUMNS, [{**r, "ratio": 1.2} for r in rows if r["part"] == "cost"])
    assert Bench(checkout)._instructions(0.05) == PROBE_INSTRUCTIONS / 4
    git(checkout.root, "commit", "-q", "--allow-empty", "-m", "second")
    with pytest.raises(UsageError, match="expected the commit of the gates so far"):
        Bench(checkout).check()


def test_publishing_needs_every_gate(checkout: Project) -> None:
    tables.append(checkout.committed / "gate" / tables.GATES, tables.GATE_COLUMNS, gate_rows()[:12])
    with pytest.raises(StoreError, match="expected 10 gates of part twins-2, found 2"):
        publishing.publish(checkout, state="a test")


def test_publishing_writes_a_folder_that_passes_its_checks(checkout: Project) -> None:
    folder = checkout.committed / "gate"
    tables.append(folder / tables.GATES, tables.GATE_COLUMNS, gate_rows())
    tables.append(folder / tables.PAIRS, tables.PAIR_COLUMNS, pair_rows())
    publishing.publish(checkout, state="a test")
    first = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    publishing.publish(checkout, state="a test")
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == first
    text = first["README.md"]
    assert "| measured: twins of the chunk store; 0 ended undecided at some point | 20 | 1 |" in text
    assert "| 5 % more | 1.100 | 10 | 9 (90 %) | 9 | 5 | 2.5 % | 1.050 |" in text
    assert "| 6 of 10 | 6 | 4 | 15 | 2 min |" in text
    assert "`make bench-gate`, 2026-11-25, a test." in text
    origin = pipeline.origins(checkout)[folder]
    assert set(origin.files) == {path.name for path in folder.glob("*.csv")}
    with (folder / tables.RATES).open(newline="") as stream:
        assert {row["kind"] for row in csv.DictReader(stream)} == {"twins", "slow-10", "slow-5", "slow-3"}
