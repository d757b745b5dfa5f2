"""`kvdyno bisect` by metrics that are exact, on a made history whose drivers are built already."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.paced import SUITE, build_paced

from kvdyno import builds, profiling
from kvdyno.model.point import Point
from kvdyno.model.project import Project
from kvdyno.pipeline import instructions

from .conftest import Answer, Checkout

#: Bytes that make a driver larger by more than a margin of 2 %: the interpreter's libraries count.
GROWTH = 4 << 20
ONE = SUITE.replace("repetitions: 12", "repetitions: 1")


@dataclass(frozen=True)
class History:
    """Commits, oldest first: `good`, then `commits`."""

    checkout: Checkout
    good: str
    commits: Sequence[str]

    def bisect(self, metric: str, *more: str) -> Answer:
        bad = self.commits[-1]
        return self.checkout.kvdyno(
            *("bisect", self.good, bad, "--suite", "one", "--metric", metric, "--uncapped", *more)
        )

    def first_bad(self, answer: Answer) -> int:
        """The number among the commits of the one that was blamed."""
        assert answer.status == 0, answer.out + answer.err
        (named,) = re.findall(r"^first bad revision: (\w+)$", answer.out, re.MULTILINE)
        return self.commits.index(named)


def with_metric(name: str) -> str:
    """The suite with one metric more, whose margin is 2 %."""
    return ONE.replace("exact: true}]", f"exact: true}}, {{metric: {name}, margin: 0.02}}]")


def made(checkout: Checkout, changes: Sequence[Mapping[str, int]]) -> History:
    """A commit for each of the changes, after one without any; what each changes in the driver stays."""
    root = checkout.root
    (root / "engines" / "adapters").unlink()
    adapter = root / "engines" / "adapters" / "paced"
    adapter.mkdir(parents=True)
    (root / "containers").mkdir()
    for path in (adapter / "packages.txt", root / "CMakeLists.txt", root / "containers" / "Dockerfile"):
        path.touch()
    git(root, "init")
    commits, driver = [], dict[str, int]()
    for number, change in enumerate(({}, *changes)):
        driver |= change
        (adapter / "CMakeLists.txt").write_text(f"# commit {number}\n")
        git(root, "add", "engines", "CMakeLists.txt", "containers")
        git(root, "commit", "-m", f"commit {number}")
        commits.append(git(root, "rev-parse", "HEAD"))
        prebuild(root, driver)
    return History(checkout, commits[0], commits[1:])


def prebuild(root: Path, driver: Mapping[str, int]) -> None:
    """The driver of the tree as it is now, where a gate before this one would have left it."""
    key = builds.tree_key(Project.find(start=root), root, "paced")
    folder = root / ".kvdyno" / "engines" / "revisions" / f"paced-{key}"
    for name in ("bin", "adapters/paced"):
        (folder / name).mkdir(parents=True)
    build_paced(folder / "bin", **driver)


def git(root: Path, *arguments: str) -> str:
    options = ("-c", "user.name=A test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(root), *options, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def gate(checkout: Checkout) -> Checkout:
    build_paced(checkout.binaries)
    (checkout.root / "experiments" / "regress").mkdir()
    checkout.experiment("regress/one", ONE)
    return checkout


def test_a_commit_that_made_the_driver_larger_is_found_without_a_run(gate: Checkout) -> None:
    gate.experiment("regress/one", with_metric("binary.size"))
    history = made(gate, [{}, {"misses": 1}, {}, {"padding": GROWTH}, {"misses": 2}, {}, {}])
    answer = history.bisect("binary.size", "--budget", "1s")
    assert history.first_bad(answer) == 3
    assert "--point" not in answer.out, "a size is compared once for all points"
    named = history.bisect("binary.size", "--budget", "1s", "--point", "build")
    assert history.first_bad(named) == 3
    assert not gate.records()
    wrong = history.bisect("throughput", "--point", "build")
    assert (wrong.status, "unknown point 'build'" in wrong.err) == (2, True)


def test_a_driver_that_became_smaller_is_not_bad(gate: Checkout) -> None:
    for path in gate.binaries.iterdir():
        path.unlink()  # commits need no engine of the checkout's own build
    gate.experiment("regress/one", with_metric("binary.size"))
    history = made(gate, [{"padding": GROWTH}, {"padding": 0}, {}])
    answer = history.bisect("binary.size")
    assert answer.status == 2, answer.err
    assert "was not found worse" in answer.out


def test_a_commit_that_executes_more_instructions_is_found_without_a_run(
    gate: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte of a driver counts as an instruction, because scripts cannot be counted."""

    def counted(_: Project, point: Point) -> SimpleNamespace:
        return SimpleNamespace(total=point.engine.binary.stat().st_size)

    monkeypatch.setattr(profiling, "available", lambda: True)
    monkeypatch.setattr(instructions, "count_calls", counted)
    gate.experiment("regress/one", with_metric("instructions.per_operation"))
    history = made(gate, [{}, {"padding": 8}, {"padding": GROWTH}, {}])
    answer = history.bisect("instructions.per_operation", "--point", "c.4MiB")
    assert history.first_bad(answer) == 2
    assert not gate.records()


def test_a_commit_that_loses_a_key_is_found_with_a_pair_for_each_that_is_judged(gate: Checkout) -> None:
    history = made(gate, [{}, {"padding": 8}, {"misses": 1}, {}, {"padding": 9}])
    answer = history.bisect("read.not_found", "--point", "c.4MiB")
    assert history.first_bad(answer) == 2
    judged = re.findall(r"^\w+ (?:good|bad)$", answer.out, re.MULTILINE)
    measured = [path for path in gate.records() if ".load-" not in str(path)]
    assert len(measured) == 2 * len(judged) == 6
    before = gate.records()
    again = history.bisect("read.not_found", "--point", "c.4MiB")
    assert history.first_bad(again) == 2
    assert gate.records() == before, "what is stored is not measured again"
