"""The picture at the head of the README shows the committed results."""

from __future__ import annotations

import runpy
from pathlib import Path

from kvdyno.model.project import Project

ROOT = Project.find(start=Path(__file__)).root
SCRIPT = runpy.run_path(str(ROOT / "results" / "quickstart" / "picture.py"))


def test_it_is_drawn_from_the_tables_as_they_are() -> None:
    assert SCRIPT["digest"]() in SCRIPT["PICTURE"].read_text(), "make results"


def test_it_shows_every_engine_and_workload() -> None:
    figure = SCRIPT["draw"]()
    (axes,) = figure.axes
    assert len(axes.get_yticks()) == len(SCRIPT["WORKLOADS"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *SCRIPT["ENGINES"].values(),
        "undecided",
    ]
    assert len(axes.lines) == 2 * len(SCRIPT["ENGINES"]) * len(SCRIPT["WORKLOADS"]) + 1
