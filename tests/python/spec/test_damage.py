"""Damaged experiment files: whatever is in them, the answer is an experiment or an error of ours."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import make_project

from kvdyno.errors import KvdynoError
from kvdyno.plan import make_plan
from kvdyno.spec import load_experiment

from .test_load import FULL

SCRAPS = (
    "null",
    "[]",
    "{}",
    "-1",
    "1e400",
    "~",
    "'",
    ":",
    "\t",
    "[[",
    "&a",
    "*a",
    "<<: *a",
    "\x00",
    "2026-01-01",
    ".nan",
    "!!set",
)


def damaged(text: str, *, chance: random.Random) -> str:
    """The text with up to three words cut out, replaced or doubled."""
    words = text.split(" ")
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(words))
        words[place] = chance.choice(["", chance.choice(SCRAPS), words[place] * 2, chance.choice(words)])
    return " ".join(words)


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_damage_is_reported(seed: int, tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    catalog = engines.catalog()
    for offset in range(20):
        text = damaged(FULL, chance=random.Random(seed + offset))
        (project.experiments / "test.yaml").write_text(text)
        with suppress(KvdynoError):
            experiment = load_experiment("test", project=project, catalog=catalog)
            assert make_plan(experiment, catalog=catalog, project=project).runs
