"""The chunk store's Python package: built with pip against an installation, then used as a program does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kvdyno.model.project import Project

ROOT = Project.find(start=Path(__file__)).root
PACKAGE = ROOT / "engines" / "chunkstore" / "python"


def _run(*command: str | Path, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed package."""
    work = tmp_path_factory.mktemp("package")
    _run("cmake", "--install", ROOT / "build", "--component", "chunkstore", "--prefix", work / "prefix")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    _run(
        *pip, "wheel", "--no-build-isolation", "--no-deps", "-w", work, PACKAGE,
        CMAKE_PREFIX_PATH=str(work / "prefix"),
    )  # fmt: skip
    _run(*pip, "install", "--no-deps", "--no-index", "--target", work / "site", *work.glob("*.whl"))
    return work / "site"


def test_does_what_its_own_tests_expect(site: Path) -> None:
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "-W", "error")
    _run(sys.executable, "-m", "pytest", *options, PACKAGE / "tests", PYTHONPATH=str(site))


def test_types_are_complete(site: Path, tmp_path: Path) -> None:
    mypy = (sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", tmp_path)
    _run(*mypy, site / "chunkstore", PACKAGE / "tests", MYPYPATH=str(site))


def test_the_example_of_its_readme_runs(site: Path, tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL)
    assert example is not None
    (tmp_path / "example.py").write_text(example[1], "utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "b'plum' b'blue'\nb'pear' b'green'\n2\n", done.stderr
