"""The tutorial: its experiment is the shipped one, and its commands are ones that the program takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from kvdyno.cli.app import app
from kvdyno.model.project import Project
from kvdyno.spec import list_experiments

PROJECT = Project.find(start=Path(__file__))
TUTORIAL = (PROJECT.root / "docs" / "tutorial.md").read_text()
COMMANDS = [
    line.removeprefix(".venv/bin/kvdyno ")
    for block in re.findall(r"^```sh\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith(".venv/bin/kvdyno ")
]


def test_the_experiment_is_the_shipped_one() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE)
    shipped = (PROJECT.root / "experiments" / "memtable.yaml").read_text()
    assert shipped.endswith(f"\n\n{shown}")
    (listed,) = [each for each in list_experiments(PROJECT) if each.name == "memtable"]
    assert not listed.problem


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_is_one_that_the_program_takes(line: str) -> None:
    name, *arguments = shlex.split(line)
    group = typer.main.get_command(app)
    group.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("target", re.findall(r"^make ([\w-]+)", TUTORIAL, re.MULTILINE))
def test_each_target_is_one_of_the_makefile(target: str) -> None:
    assert re.search(rf"^{target}:", (PROJECT.root / "Makefile").read_text(), re.MULTILINE)


def test_it_has_commands_to_check() -> None:
    assert len(COMMANDS) >= 5
