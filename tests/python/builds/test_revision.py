"""Drivers of git revisions: what is compiled, what is shared, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kvdyno import catalog
from kvdyno.builds import Revision, build_revision, changed_sources, commit_of
from kvdyno.errors import EngineError
from kvdyno.model.project import Project

from .fixtures import Heard, make_checkout

DRIVER_LISTS = """\
cmake_minimum_required(VERSION 3.22)
project(driver LANGUAGES C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(kvdyno-tiny engines/adapters/tiny/adapter.c)
"""
PRESETS = "default: {summary: As it is.}\n"


def git(project: Project, *arguments: str) -> None:
    options = ("-c", "user.name=A test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(project.root), *options, *arguments], check=True, capture_output=True)


def commit(project: Project, *, source: str = "", presets: str = PRESETS, readme: str = "") -> str:
    """A commit whose driver has these words after it."""
    adapter = project.adapters / "tiny"
    text = adapter.joinpath("adapter.c").read_text().replace('#include "tiny.h"\n', "")
    (adapter / "adapter.c").write_text(text.replace("!tiny_version()", "0") + source)
    (adapter / "presets.yaml").write_text(presets)
    (adapter / "README.md").write_text(readme)
    git(project, "add", ".")
    git(project, "commit", "-m", "a change", "--allow-empty")
    found = commit_of(project, "HEAD")
    assert found
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    made = make_checkout(tmp_path / "checkout")
    (made.root / "CMakeLists.txt").write_text(DRIVER_LISTS)
    (made.root / ".gitignore").write_text("build/\ndata/\n")
    git(made, "init")
    return made


def build(project: Project, revision: str, heard: Heard | None = None) -> Revision:
    return build_revision(project, revision, "tiny", step=(heard or Heard()).step, jobs=1)


def test_revisions_are_engines_beside_each_other(project: Project) -> None:
    before = commit(project)
    after = commit(project, source="int changed;\n")
    heard = Heard()
    first, second = build(project, before, heard), build(project, after, heard)
    assert heard.lines == [f"building tiny of {before[:9]}", f"building tiny of {after[:9]}"]
    engines = [catalog.local_engine(each.driver, adapters=each.adapters) for each in (first, second)]
    assert engines[0].binary_sha256 != engines[1].binary_sha256
    assert "default" in engines[0].presets
    assert not list(project.binaries.iterdir()), "the checkout's own build is left alone"


def test_a_build_is_kept_by_the_content_of_its_sources(project: Project) -> None:
    first = build(project, commit(project))
    heard = Heard()
    documents = build(project, commit(project, readme="Words.\n"), heard)
    assert (documents.driver, heard.lines) == (first.driver, [])
    presets = build(project, commit(project, presets="default: {summary: Another.}\n"), heard)
    assert presets.driver != first.driver, "presets are a part of the engine"
    assert documents.driver.is_file(), "the older build stays"


def test_a_revision_that_does_not_build_shows_the_logs_end(project: Project) -> None:
    broken = commit(project, source="#error a slip of the pen\n")
    with pytest.raises(EngineError) as failed:
        build(project, broken)
    assert f"tiny of {broken[:9]} was not built" in failed.value.message
    assert "a slip of the pen" in failed.value.message
    assert "build.log" in str(failed.value.where)
    with pytest.raises(EngineError):
        build(project, broken)


def test_a_revision_without_the_engine_is_named(project: Project) -> None:
    (project.adapters / "tiny" / "CMakeLists.txt").rename(project.adapters / "tiny" / "gone.txt")
    without = commit(project)
    with pytest.raises(EngineError, match=f"git revision {without[:9]}: has no engine 'tiny'"):
        build(project, without)


def test_names_of_revisions_are_commits_and_changes_are_listed(project: Project) -> None:
    made = commit(project)
    assert commit_of(project, made[:8]) == made
    assert commit_of(project, "nosuch") is None
    assert commit_of(project, "--version") is None
    assert changed_sources(project) == ()
    (project.adapters / "tiny" / "adapter.c").write_text("int other;\n")
    (project.root / "notes.txt").write_text("not a source\n")
    assert changed_sources(project) == ("engines/adapters/tiny/adapter.c",)
