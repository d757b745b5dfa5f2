"""The commands that a report ends with: they name the runner that made the records, and its engines."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import engines

from kvdyno.cli.again import commands_again
from kvdyno.model.experiment import EngineChoice

LOCAL = engines.engine("rocksdb")
BUILT = replace(LOCAL, built_version="11.8.1")
IMAGE = replace(engines.engine("rocksdb"), image="sha256:1")
OLD_IMAGE = replace(IMAGE, built_version="7.9.2")


def again(*arguments: str, runner: Any = None, measured: Any) -> list[str]:
    """The command for a plan whose engines these are, chosen with that runner."""
    choices = [
        EngineChoice(engine=each.name, label=str(place), runner=runner) for place, each in enumerate(measured)
    ]
    points = [
        SimpleNamespace(engine=each, axes={"engine": str(place)}) for place, each in enumerate(measured)
    ]
    plan: Any = SimpleNamespace(experiment=SimpleNamespace(engines=choices), points=points)
    machine = SimpleNamespace(facts={"kvdyno.commit": "abc", "kvdyno.modified": False})
    found: Any = SimpleNamespace(machines=[machine])
    return commands_again(arguments, plan=plan, found=found)


@pytest.mark.parametrize(
    ("measured", "runner", "expected"),
    [
        ([LOCAL], None, ["make build", ".venv/bin/kvdyno run x"]),
        (
            [LOCAL, BUILT],
            None,
            ["make build", ".venv/bin/kvdyno engines build rocksdb@11.8.1", ".venv/bin/kvdyno run x"],
        ),
        (
            [IMAGE, OLD_IMAGE],
            None,
            ["make images IMAGES=rocksdb,rocksdb@7.9.2", ".venv/bin/kvdyno run x --runner docker"],
        ),
        ([IMAGE], "docker", ["make images IMAGES=rocksdb", ".venv/bin/kvdyno run x"]),
        ([LOCAL, IMAGE], "docker", ["make build", "make images IMAGES=rocksdb", ".venv/bin/kvdyno run x"]),
    ],
)
def test_engines_are_prepared_for_the_runner_that_made_the_records(
    measured: Any, runner: Any, expected: list[str]
) -> None:
    assert again("x", measured=measured, runner=runner) == ["git checkout abc", *expected]


def test_what_was_asked_for_is_kept_but_for_what_holds_once() -> None:
    asked = (
        "x",
        "--json",
        "-r",
        "docker",
        "--builds-of",
        "s1",
        "--force",
        "--builds-of=s1",
        "--compare",
        "s0",
        "--compare=s0",
        "--only",
        "a b",
    )
    assert again(*asked, measured=[IMAGE])[-1] == ".venv/bin/kvdyno run x -r docker --only 'a b'"
