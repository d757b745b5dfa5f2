"""A search's page in a browser: its tables answer, and nothing else is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuning.searches import filters_pay, search, searched_project
from tuning.surfaces import Simulation

from kvdyno import pipeline

from .conftest import Visitor

TRAIL = "#trail table"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = searched_project(tmp_path)
    found = search(project, Simulation(filters_pay), monkeypatch, strategy="random", tries=20)
    return pipeline.write_search(project, found).html


def test_the_trail_sorts_filters_and_opens(page: Path, visit: Visitor) -> None:
    visited = visit(page)
    shown = visited.page
    tries = shown.locator(f"{TRAIL} tbody tr:visible")
    assert tries.count() < 20
    shown.click("#trail .more")
    assert tries.count() == 20
    shown.select_option('#filters [data-axis="mapped_files"]', "0")
    assert 0 < tries.count() < 20
    assert "only-mapped_files=0" in shown.url
    shown.click("#filters button")
    bits = shown.locator(f"{TRAIL} thead th", has_text="filter_bits")
    bits.locator("button").click()
    assert bits.get_attribute("aria-sort") == "ascending"
    column = bits.evaluate("head => head.cellIndex")
    values = shown.locator(f"{TRAIL} tbody tr td:nth-child({column + 1})").all_inner_texts()
    assert [int(value) for value in values] == sorted(int(value) for value in values)
    assert visited.messages == []
    assert {url.partition(":")[0] for url in visited.requests} <= {"file", "data"}
    visited.shot("search")


def test_the_page_is_whole_without_scripts(page: Path, visit: Visitor) -> None:
    shown = visit(page, script=False).page
    assert shown.locator(f"{TRAIL} tbody tr:visible").count() == 20
    assert not shown.locator("#filters").is_visible()
