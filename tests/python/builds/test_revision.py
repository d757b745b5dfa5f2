"""Drivers of git revisions: what is compiled, what is shared, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kvdyno import catalog
from kvdyno.builds import Revision, build_revision, build_tree, changed_sources, commit_of, tree_key
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


def a_patch(project: Project, *, source: str) -> Path:
    """The difference that these words make to the driver; the checkout is left as it was."""
    adapter = project.adapters / "tiny" / "adapter.c"
    before = adapter.read_text()
    adapter.write_text(before + source)
    done = subprocess.run(
        ["git", "-C", str(project.root), "diff"], check=True, capture_output=True, text=True
    )
    adapter.write_text(before)
    patch = project.root.parent / "fix.patch"
    patch.write_text(done.stdout)
    return patch


def test_a_patch_is_put_on_a_commit(project: Project) -> None:
    made = commit(project)
    patch = a_patch(project, source="int patched;\n")
    heard = Heard()
    plain = build(project, made, heard)
    patched = build_revision(project, made, "tiny", patch=patch, step=heard.step, jobs=1)
    assert heard.lines[1:] == [f"building tiny of {made[:9]} with fix.patch"]
    assert patched.driver.read_bytes() != plain.driver.read_bytes()
    same = build(project, commit(project, source="int patched;\n"), heard)
    assert same.driver == patched.driver, "builds are kept by their content, however it was named"


def test_a_patch_that_does_not_apply_or_changes_nothing_is_refused(project: Project) -> None:
    made = commit(project)
    patch = a_patch(project, source="int patched;\n")
    elsewhere = commit(project, source="int other;\n")
    with pytest.raises(EngineError, match=f"does not apply to {elsewhere[:9]}: .*adapter.c") as failed:
        build_revision(project, elsewhere, "tiny", patch=patch, step=Heard().step, jobs=1)
    assert failed.value.remedy
    patch.write_text(
        "diff --git a/notes.txt b/notes.txt\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+x\n"
    )
    with pytest.raises(EngineError, match="expected a change to what 'tiny' is built from, found none"):
        build_revision(project, made, "tiny", patch=patch, step=Heard().step, jobs=1)
    patch.write_text("")
    with pytest.raises(EngineError, match="does not apply"):
        build_revision(project, made, "tiny", patch=patch, step=Heard().step, jobs=1)


def test_another_tree_is_built_as_it_is(project: Project, tmp_path: Path) -> None:
    made = commit(project)
    other = tmp_path / "other"
    shutil.copytree(project.root, other, ignore=shutil.ignore_patterns("data", ".git"))
    heard = Heard()
    plain = build(project, made, heard)
    assert build_tree(project, other, "tiny", step=heard.step, jobs=1).driver == plain.driver
    key = tree_key(project, other, "tiny")
    with (other / "engines" / "adapters" / "tiny" / "adapter.c").open("a") as source:
        source.write("int changed;\n")
    assert tree_key(project, other, "tiny") != key
    changed = build_tree(project, other, "tiny", step=heard.step, jobs=1)
    assert changed.driver != plain.driver
    assert heard.lines == [f"building tiny of {made[:9]}", f"building tiny of {other}"]


def test_a_folder_that_is_no_tree_is_refused(project: Project, tmp_path: Path) -> None:
    commit(project)
    with pytest.raises(EngineError, match="expected a tree of this project, found no engines in it"):
        tree_key(project, tmp_path, "tiny")
    with pytest.raises(EngineError, match="has no engine 'nosuch'"):
        tree_key(project, project.root, "nosuch")
