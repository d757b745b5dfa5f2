"""Engines' Python packages: built with pip against an installation, then used as a program does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kvdyno.model.project import Project

ROOT = Project.find(start=Path(__file__)).root
#: The module of each engine's package.
MODULES = {"chunkstore": "chunkstore", "sampling": "kvdyno_sampling"}


def _run(*command: str | Path, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def _package(engine: str) -> Path:
    return ROOT / "engines" / engine / "python"


@pytest.fixture(scope="module", params=MODULES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def site(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed package."""
    work = tmp_path_factory.mktemp("package")
    _run("cmake", "--install", ROOT / "build", "--component", engine, "--prefix", work / "prefix")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    _run(
        *pip, "wheel", "--no-build-isolation", "--no-deps", "-w", work, _package(engine),
        CMAKE_PREFIX_PATH=str(work / "prefix"),
    )  # fmt: skip
    _run(*pip, "install", "--no-deps", "--no-index", "--target", work / "site", *work.glob("*.whl"))
    return work / "site"


def test_does_what_its_own_tests_expect(engine: str, site: Path) -> None:
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "-W", "error")
    _run(sys.executable, "-m", "pytest", *options, _package(engine) / "tests", PYTHONPATH=str(site))


def test_types_are_complete(engine: str, site: Path, tmp_path: Path) -> None:
    mypy = (sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", tmp_path)
    _run(*mypy, site / MODULES[engine], _package(engine) / "tests", MYPYPATH=str(site))


#: What the example of a package's README prints.
EXAMPLES = {
    "chunkstore": r"b'plum' b'blue'\nb'pear' b'green'\n2\n",
    "sampling": r"\[ True  True False\] 999 \[\d+ \d+ +\d+\] 1\.\d+\n",
}


def test_the_example_of_its_readme_runs(engine: str, site: Path, tmp_path: Path) -> None:
    readme = (_package(engine) / "README.md").read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
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
    assert re.fullmatch(EXAMPLES[engine], done.stdout), done.stdout + done.stderr
