"""What `make experiment` prepares: drivers, images or both, as the experiment's runners need."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import REPOSITORY, Checkout

PARITY = """\
title: Parity
engines:
  - {engine: memory, label: here}
  - {engine: memory, runner: docker, label: contained}
  - noop
grid: {workload: [c], dataset: [256MiB]}
cap: 2GiB
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((), "local docker"),
        (("--runner", "docker"), "docker"),
        (("--engines", "contained"), "docker"),
        (("--engines", "noop,here"), "local"),
        (("--engines", "noop,here", "--runner", "docker"), "docker"),
    ],
)
def test_the_runners_that_an_experiment_needs(
    checkout: Checkout, asked: tuple[str, ...], expected: str
) -> None:
    checkout.experiment("parity", PARITY)
    answer = checkout.kvdyno("engines", "runners", "--experiment", "parity", *asked)
    assert answer.out.split() == expected.split()


def test_no_image_is_wanted_where_nothing_runs_in_one(checkout: Checkout, tmp_path: Path) -> None:
    answer = checkout.kvdyno(
        *("images", "build", "--experiment", "tiny", "--runner", "local"),
        DOCKER_HOST=f"unix://{tmp_path}/none.sock",
    )
    assert (answer.status, answer.out) == (0, "no image is needed\n")


def _make(folder: Path, *arguments: str, answers: str, status: int = 0) -> tuple[int, list[str]]:
    """Run make with stand-ins for the command and set-up; its exit status and their calls. `answers` are
    lines of the stand-ins' shell script, `status` is that of `kvdyno run`.
    """
    shutil.copy(REPOSITORY / "Makefile", folder / "Makefile")
    (folder / "build").mkdir()
    for name in (".venv/bin/kvdyno", "harness/setup.sh"):
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(
            f'#!/bin/sh\necho "$(basename $0) $*" >> {folder}/calls\n{answers}\n'
            f'[ "$1" != run ] || exit {status}\n'
        )
        path.chmod(0o755)
    for name in ("harness/packages.txt", "engines/packages.txt", "build/build.ninja"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    done = subprocess.run(["make", "-s", *arguments], cwd=folder, check=False)
    return done.returncode, (folder / "calls").read_text().splitlines()


@pytest.mark.parametrize("needed", ["local", "docker", "local docker"])
def test_make_prepares_what_each_runner_needs(tmp_path: Path, needed: str) -> None:
    answers = f'[ "$1 $2" != "engines runners" ] || echo {needed}'
    status, calls = _make(tmp_path, "experiment", "EXPERIMENT=parity", answers=answers)
    assert status == 0
    for runner, command in {"local": "kvdyno engines build", "docker": "kvdyno images build"}.items():
        prepared = f"{command} --experiment parity --runner local" in calls
        assert prepared == (runner in needed.split()), calls
    assert calls[-1] == "kvdyno run parity --profile quick --runner local"


_PAPER = """[ "$*" != "paper trial --profile quick --experiments" ] || printf 'one quick\\ntwo medium\\n'"""
_PLAN = "kvdyno paper trial --profile quick --runner local --plan"


def test_make_measures_what_a_paper_lacks_though_runs_fail(tmp_path: Path) -> None:
    status, calls = _make(tmp_path, "paper", "PAPER=trial", answers=_PAPER, status=8)
    assert status == 0
    measured = [call for call in calls if call.startswith("kvdyno run")]
    parts = {"one": "quick", "two": "medium"}
    assert measured == [f"kvdyno run {name} --profile {at} --runner local" for name, at in parts.items()]
    assert calls.index(_PLAN) < calls.index(measured[0]), "it prints what it takes before it runs"
    prepared = [n for n, call in enumerate(calls) if call.startswith("kvdyno engines ") and " two " in call]
    assert 0 < max(prepared) < calls.index(_PLAN), "only built engines can be planned with"
    assert calls[-2:] == ["setup.sh latex", "kvdyno paper trial --profile quick --runner local"]


def test_make_stops_where_a_papers_experiment_cannot_run(tmp_path: Path) -> None:
    status, calls = _make(tmp_path, "paper", "PAPER=trial", answers=_PAPER, status=4)
    assert status != 0
    assert not any(call.startswith("kvdyno run two") for call in calls)
    assert calls[-1] == "kvdyno run one --profile quick --runner local"


def test_make_measures_nothing_for_given_records(tmp_path: Path) -> None:
    status, calls = _make(tmp_path, "paper", "PAPER=trial", "RECORDS=/archive", answers=_PAPER)
    assert status == 0
    assert not any(call.startswith("kvdyno run") for call in calls)
    assert calls[-1] == "kvdyno paper trial --profile quick --results /archive"


def test_make_builds_the_engines_of_a_paper_of_published_sweeps(tmp_path: Path) -> None:
    status, calls = _make(tmp_path, "paper", "PAPER=trial", "PUBLISHED=results/x", answers=_PAPER)
    assert status == 0
    assert not any(call.startswith("kvdyno run") for call in calls)
    assert any(call.startswith("kvdyno engines ") and " two " in call for call in calls)
    assert calls[-1] == "kvdyno paper trial --profile quick --published results/x"
