"""A figure inside the page follows its scheme and width; the file beside the page stays as it is."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import plots
from kvdyno.report.pictures import embedded
from plots import Binding, style


class Markup(HTMLParser):
    """Ids, references, tags and texts of markup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: set[str] = set()
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "aria-label":
                self.labels.append(value or "")
            self.targets |= set(re.findall(r"url\(#([^)]+)\)", value or ""))
            if name == "href":
                self.targets.add((value or "").removeprefix("#"))

    handle_startendtag = handle_starttag


@pytest.fixture
def svg(tmp_path: Path) -> Path:
    rows = [{"x": x, "label": label, "value": v} for x in "ab" for label, v in (("RocksDB", 2.0), ("Q", 3.0))]
    table = pd.DataFrame(rows).assign(low=1.0, high=4.0, n=3, status="ok", unit="ratio", part="stop, level 0")
    binding = Binding(
        title="Zebra & <co>", x="x", series=("label",), label="Ratio", unit="ratio", caption="Jam. " * 60
    )
    return plots.save(plots.kinds()["stacked"].draw(table, binding), tmp_path / "f").svg


def test_every_reference_inside_a_picture_is_its_own(svg: Path) -> None:
    one, other = (Markup(embedded(svg, name=name, alt="")) for name in ("picture-a", "picture-b"))
    assert one.targets <= set(one.ids)
    assert len(one.ids) == len(set(one.ids)) > 10
    assert not set(one.ids) & set(other.ids)
    assert all(name.startswith("picture-a") for name in one.ids)


def test_what_a_picture_shows_is_described_and_cannot_become_markup(svg: Path) -> None:
    alt = '<script>"&x'
    markup = Markup(embedded(svg, name="p", alt=alt))
    assert markup.labels == [alt]
    assert "script" not in markup.tags


def test_ink_and_ground_follow_the_scheme_and_print_is_light(svg: Path) -> None:
    text = embedded(svg, name="p", alt="")
    drawn = text[text.index("<svg") :].lower()
    for name, (light, dark) in style.tones().items():
        assert light.lower() not in drawn
        if f"var(--{name})" in drawn:
            assert "#p{" in text
            assert f"--{name}:{light};" in text.split("@media")[0]
            assert f"--{name}:{dark};" in text.split("@media screen and (prefers-color-scheme:dark)")[1]
    assert {"var(--ink)", "var(--quiet)", "var(--paper)", "var(--stop-level-0)"} <= set(
        re.findall(r"var\([^)]*\)", drawn)
    )


def test_contenders_colours_are_the_same_in_both_schemes() -> None:
    changed = {colour.lower() for pair in style.tones().values() for colour in pair}
    assert not changed & {colour.lower() for colour in style.COLOURS}


def test_a_picture_scales_with_the_page_and_scrolls_where_that_is_too_narrow(svg: Path) -> None:
    text = embedded(svg, name="p", alt="")
    assert "width:100%" in text
    assert re.search(r"#p svg\{[^}]*min-width:558px", text)
    assert "#p .pan{overflow-x:auto}" in text
    assert "@media screen and (max-width:558px){#p .hint{display:block}}" in text
    opening = re.search(r"<svg[^>]*>", text)
    assert opening
    assert not re.search(r"\s(?:width|height)=", opening[0])


def view_box(text: str) -> list[float]:
    """Left, top, width and height of the first picture in the text."""
    found = re.search(r'viewBox="([^"]+)"', text)
    assert found
    return [float(number) for number in found[1].split()]


def test_title_and_caption_are_left_to_the_page_and_all_letters_stay(svg: Path) -> None:
    text = embedded(svg, name="p", alt="")
    whole, left = view_box(svg.read_text()), view_box(text)
    assert left[1] == 19, "the title's height"
    assert left[1] + left[3] < whole[3] - 25, "the caption had several lines"
    assert "Zebra" not in text
    assert "Jam." not in text


def test_a_picture_is_smaller_than_its_file_which_stays(svg: Path) -> None:
    before = svg.read_bytes()
    assert len(embedded(svg, name="picture-throughput", alt="")) < 0.7 * len(before)
    assert svg.read_bytes() == before


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"f\.svg"):
        embedded(tmp_path / "f.svg", name="p", alt="")
