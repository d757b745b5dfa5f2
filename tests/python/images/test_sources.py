"""What goes into an image, and its hash: no date, no test, no other engine's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from fakes.projects import make_project

from kvdyno.errors import EngineError
from kvdyno.images.context import pack_context
from kvdyno.model import image as contract
from kvdyno.model import sources
from kvdyno.model.project import Project

from .fixtures import ENGINE, make_checkout, source


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_checkout(make_project(tmp_path / "checkout"))


def sha(project: Project) -> str:
    return sources.source_sha256(project, ENGINE)


def write(path: Path, text: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "place",
    [
        "CMakeLists.txt",
        "containers/Dockerfile",
        "engines/packages.txt",
        f"engines/adapters/{ENGINE}/packages.txt",
        f"engines/adapters/{ENGINE}/adapter.cc",
        "engines/adapters/engine.cmake",
        "engines/base/new.h",
        "engines/driver/deep/new.cc",
        f"engines/{ENGINE}/library.cc",
    ],
)
def test_what_goes_in_counts(project: Project, place: str) -> None:
    before = sha(project)
    write(project.root / place, "another text")
    assert sha(project) != before


@pytest.mark.parametrize(
    "place",
    [
        "build/CMakeCache.txt",
        "engines/driver/driver_test.cc",
        "engines/base/testing/simulated.cc",
        f"engines/adapters/{ENGINE}/presets.yaml",
        f"engines/adapters/{ENGINE}/counters.txt",
        f"engines/adapters/{ENGINE}/README.md",
        f"engines/adapters/{ENGINE}/.adapter.cc.swp",
        "engines/adapters/other/adapter.cc",
        "engines/adapters/other/packages.txt",
        "harness/kvdyno/cli.py",
        "workloads/a.properties",
    ],
)
def test_what_does_not_go_in_does_not(project: Project, place: str) -> None:
    before = sha(project)
    write(project.root / place, "another text")
    assert sha(project) == before


def test_another_engines_library_does_not_count(project: Project) -> None:
    write(project.adapters / "other/packages.txt")
    before = sha(project)
    write(project.root / "engines/other/library.cc")
    assert sha(project) == before


def test_what_an_adapter_includes_from_counts(project: Project) -> None:
    write(project.adapters / ENGINE / "CMakeLists.txt", "include(../family/family.cmake)\n")
    write(project.adapters / "family/family.cmake", "include(../ancestor/a.cmake)\n")
    write(project.adapters / "ancestor/CMakeLists.txt", "include(../family/family.cmake)\n")
    before = sha(project)
    write(project.adapters / "ancestor/shared.cc")
    after = sha(project)
    write(project.adapters / "stranger/shared.cc")
    assert before != after == sha(project)


def test_moving_a_text_to_another_name_counts(project: Project) -> None:
    before = sha(project)
    source(project).rename(source(project).with_name("moved.cc"))
    assert sha(project) != before


def test_dates_and_rights_do_not_count(project: Project) -> None:
    before = sha(project)
    context = pack_context(project, parts(project), suite="bookworm").getvalue()
    os.utime(source(project), (1, 1))
    source(project).chmod(0o755)
    assert sha(project) == before
    assert pack_context(project, parts(project), suite="bookworm").getvalue() == context


def parts(project: Project) -> dict[str, tuple[Path, ...]]:
    return {
        "common": sources.common_sources(project),
        "engine": sources.own_sources(project, ENGINE),
    }


def test_an_unknown_engine_is_named_with_the_nearest(project: Project) -> None:
    with pytest.raises(EngineError, match=r"shellbd.*shelldb"):
        sources.source_sha256(project, "shellbd")


def check(**changes: Any) -> None:
    facts: dict[str, Any] = {
        "labels": {contract.LABEL_ENGINE: ENGINE, contract.LABEL_SOURCE: "a" * 64},
        "architecture": "amd64",
        "expected_architecture": "amd64",
        "expected_source": "a" * 64,
        **changes,
    }
    contract.check_image(ENGINE, **facts)


def test_a_good_image_passes() -> None:
    check()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": {}}, r"expected an image of engine 'shelldb', found the label .*none"),
        ({"labels": {contract.LABEL_ENGINE: ENGINE}}, r"stale: expected sources aaaaaaaaaaaa, .* none"),
        ({"expected_source": "b" * 64}, r"stale: expected sources bbbbbbbbbbbb, .* aaaaaaaaaaaa"),
        ({"architecture": "arm64"}, r"expected an image for amd64, found one for arm64"),
    ],
)
def test_a_bad_image_is_refused_by_name_with_a_remedy(
    changes: dict[str, str | dict[str, str]], said: str
) -> None:
    with pytest.raises(EngineError, match=rf"kvdyno-shelldb:latest: {said}[\s\S]*remedy: make images"):
        check(**changes)
