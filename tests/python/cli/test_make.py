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


@pytest.mark.parametrize("needed", ["local", "docker", "local docker"])
def test_make_prepares_what_each_runner_needs(tmp_path: Path, needed: str) -> None:
    shutil.copy(REPOSITORY / "Makefile", tmp_path / "Makefile")
    (tmp_path / "build").mkdir()
    for name in (".venv/bin/kvdyno", "harness/setup.sh"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(
            f'#!/bin/sh\necho "$(basename $0) $*" >> {tmp_path}/calls\n'
            f'[ "$1 $2" != "engines runners" ] || echo {needed}\n'
        )
        path.chmod(0o755)
    for name in ("harness/packages.txt", "engines/packages.txt", "build/build.ninja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "-s", "experiment", "EXPERIMENT=parity"], cwd=tmp_path, check=True)
    calls = (tmp_path / "calls").read_text().splitlines()
    for runner, command in {"local": "kvdyno engines build", "docker": "kvdyno images build"}.items():
        prepared = f"{command} --experiment parity --runner local" in calls
        assert prepared == (runner in needed.split()), calls
    assert calls[-1] == "kvdyno run parity --profile quick --runner local"
