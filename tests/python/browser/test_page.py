"""The report's page as a person meets it: on a screen, a phone, paper, by keyboard, and without scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Visit, Visitor

PAGES_MAX, BYTES_MAX, PIXELS_MAX = 8, 2_000_000, 14_000
PHONE = 390


def shown(page: Any, selector: str) -> list[str]:
    """The texts of the elements that can be seen."""
    found = page.locator(selector).evaluate_all(
        "nodes => nodes.filter(n => n.checkVisibility()).map(n => n.innerText)"
    )
    return [str(text) for text in found]


def points_of(visited: Visit) -> list[str]:
    return shown(visited.page, ".forest:not(#pair-table) tbody tr:not(.mean) th")


def test_nothing_is_asked_of_a_network_and_nothing_is_complained_about(
    quickstart: Path, visit: Visitor
) -> None:
    visited = visit(quickstart)
    for fold in visited.page.locator("summary").all():
        if fold.is_visible():
            fold.click()
    assert visited.messages == []
    assert {url.partition(":")[0] for url in visited.requests} <= {"file", "data"}
    assert [url for url in visited.requests if url.startswith("file:")] == [f"file://{quickstart}"]


def test_the_page_answers_in_a_readers_order_and_briefly(quickstart: Path, visit: Visitor) -> None:
    visited = visit(quickstart)
    headings = shown(visited.page, "h2")
    assert [text.split()[0] for text in headings] == ["What", "Can", "Where", "Why?", "How"]
    height = visited.page.evaluate("document.documentElement.scrollHeight")
    assert height <= PIXELS_MAX
    chart = visited.page.locator("#found .chart").bounding_box()
    assert chart["y"] < 900
    visited.shot("quickstart")


@pytest.mark.parametrize("name", ["quickstart", "wide"])
def test_the_page_is_small(name: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(name)
    assert path.stat().st_size <= BYTES_MAX


def test_a_filter_narrows_every_section_and_stays_in_the_address(quickstart: Path, visit: Visitor) -> None:
    visited = visit(quickstart)
    page = visited.page
    every = len(points_of(visited))
    page.select_option('#filters [data-axis="workload"]', "A")
    assert [text.split()[0] for text in points_of(visited)] == ["A", "A", "A"]
    assert len(shown(page, ".cloud i")) == 18
    assert "only-workload=A" in page.url
    again = visit(quickstart, "#" + page.url.partition("#")[2])
    assert points_of(again) == points_of(visited)
    page.click("#filters button")
    assert len(points_of(visited)) == every
    assert "only-" not in page.url


def test_a_click_or_a_key_sorts(quickstart: Path, visit: Visitor) -> None:
    page = visit(quickstart).page
    button = page.locator(".forest th:nth-child(4) button").first
    cells = ".forest:not(#pair-table) td.ratio"
    for how in ("ascending", "descending"):
        if how == "ascending":
            button.click()
        else:
            button.focus()
            page.keyboard.press("Enter")
        ratios = [float(text.split("x")[0]) for text in shown(page, cells)]
        assert ratios == sorted(ratios, reverse=how == "descending")
        assert page.locator(".forest th:nth-child(4)").first.get_attribute("aria-sort") == how


def test_any_pair_can_be_compared_in_any_metric(quickstart: Path, visit: Visitor) -> None:
    page = visit(quickstart, "#pairs?a=RocksDB&b=LevelDB&m=read.latency.p99&only-workload=A").page
    assert page.locator("#pair-a option:checked").inner_text() == "RocksDB"
    assert page.locator("#pair-m option:checked").inner_text() == "Read latency p99 (measure)"
    one = [float(text.split("x")[0]) for text in shown(page, "#pair-table td.ratio")]
    page.select_option("#pair-a", label="LevelDB")
    page.select_option("#pair-b", label="RocksDB")
    other = [float(text.split("x")[0]) for text in shown(page, "#pair-table td.ratio")]
    assert len(one) == 3
    assert [a * b for a, b in zip(one, other, strict=True)] == pytest.approx([1] * 3, rel=0.01)
    assert "geometric mean over" in page.inner_text("#pair-mean")
    assert "not adjusted" in page.inner_text("#pairs")
    assert "m=read.latency.p99" in page.url


def test_a_link_opens_a_point_with_its_runs_and_counters(quickstart: Path, visit: Visitor) -> None:
    page = visit(quickstart, "#p23").page
    point = page.locator("#p23")
    assert point.get_attribute("open") is not None
    assert point.locator(".runs a").count() == 3
    point.locator(".counters table").wait_for()
    assert point.locator(".counters tbody tr").count() > 60
    point.locator("input").fill("counter_7_")
    assert shown(page, "#p23 .counters tbody th") == ["engine.counter_7_bytes"]
    box = point.bounding_box()
    assert 0 <= box["y"] < 900


def test_long_lists_show_their_beginning_and_expand(wide: Path, visit: Visitor) -> None:
    visited = visit(wide)
    assert len(shown(visited.page, ".forest:not(#pair-table) tbody tr")) == 12
    visited.page.locator("#forest ~ .more").first.click()
    assert len(shown(visited.page, ".forest:not(#pair-table) tbody tr")) == 61
    assert visited.messages == []
    visited.shot("wide")


def test_a_series_is_drawn_and_its_values_can_be_read(quickstart: Path, visit: Visitor) -> None:
    page = visit(quickstart, "#time?series=memory.rss").page
    assert page.locator("#series-plot path").count() == 6
    assert "Memory rss" in page.inner_text("#series-plot")
    page.locator("#series-plot svg").hover(position={"x": 200, "y": 100})
    assert re.search(r"(RocksDB|LevelDB), repetition \d, .* MiB", page.inner_text("#series-value"))


def test_the_dark_scheme_is_dark(quickstart: Path, visit: Visitor) -> None:
    visited = visit(quickstart, dark=True)
    ground = visited.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", ground))) < 40
    visited.shot("dark")


def test_a_phone_shows_intervals_and_verdicts_without_scrolling_the_page(
    quickstart: Path, visit: Visitor
) -> None:
    visited = visit(quickstart, width=PHONE)
    page = visited.page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    for part in ("td.ratio", "td:last-child .verdict", "td.picture"):
        box = page.locator(f".forest:not(#pair-table) tbody tr >> {part}").first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE
    wider = page.locator(".scroll.wide:visible").count()
    assert wider
    assert page.locator(".sideways:visible").count() == wider
    visited.shot("phone")


def test_it_prints_on_few_pages(quickstart: Path, visit: Visitor, tmp_path: Path) -> None:
    paper = tmp_path / "report.pdf"
    visit(quickstart).page.pdf(path=str(paper), prefer_css_page_size=True)
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) <= PAGES_MAX


def test_without_scripts_the_essentials_stand(quickstart: Path, visit: Visitor) -> None:
    page = visit(quickstart, script=False).page
    assert page.locator(".forest:visible tbody tr").count() == 13
    assert not page.locator("#filters").is_visible()
    assert page.locator("details.point:visible").count() == 24


def test_the_keyboard_reaches_the_findings_first(quickstart: Path, visit: Visitor) -> None:
    page = visit(quickstart).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url("**/report.html#found")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(quickstart: Path, visit: Visitor, axe: str, dark: bool) -> None:
    page = visit(quickstart, "#p0", dark=dark).page
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    serious = [
        (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0]["failureSummary"][:300])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]
    assert not serious, json.dumps(serious, indent=1)
