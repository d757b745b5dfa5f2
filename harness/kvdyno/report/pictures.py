"""A figure's SVG as part of the page: its text and ground follow the page's scheme, and print is light.

The picture is inline, so that the page's scheme reaches it in every browser. The file beside the page stays
as it is, for papers.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from xml.etree import ElementTree as Xml

from plots.style import CAPTION_ID, TITLE_ID, tones

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
#: Pixels of the page that a point of the file takes, at least and at most: letters of 8 points stay legible.
_SMALLEST, _LARGEST = 1.25, 1.7
_LONG_NUMBER = re.compile(r"-?\d*\.\d{3,}")
_COMMAND = re.compile(r" ?([A-Za-z]) ?")
_WORDS = re.compile(rf"({TITLE_ID}|{CAPTION_ID})-(\d+)")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def embedded(svg: Path, *, name: str, alt: str) -> str:
    """Markup that shows the picture; `name` is its own on the page, `alt` describes what it shows.

    It is as wide as the page allows. Where that is too narrow to be legible, it scrolls, with a hint. Title
    and caption are left out: the page has them as text. Ids inside the picture begin with `name`. Raises
    OSError if the file cannot be read.
    """
    root = Xml.fromstring(svg.read_bytes())
    width = float(root.attrib["width"].removesuffix("pt"))
    _without_words(root)
    _own_ids(root, name)
    used: dict[str, tuple[str, str]] = {}
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        _shorten(element)
        _follow_scheme(element, used)
    root.attrib = {
        "viewBox": root.attrib["viewBox"], "role": "img", "aria-label": alt,
        "style": "stroke-linejoin:round;stroke-linecap:butt",
    }  # fmt: skip
    return (
        f'<div class="picture" id="{escape(name)}"><style>{_rules(name, width, used)}</style>'
        f'<p class="hint" aria-hidden="true">Scroll sideways for the whole figure.</p>'
        f'<div class="pan" tabindex="0">{Xml.tostring(root, encoding="unicode")}</div></div>'
    )


def _without_words(root: Xml.Element) -> None:
    """Take out metadata, the style sheet (it would hold for the whole page), title and caption; the picture
    begins below its title and ends above its caption.
    """
    low, top, width, height = map(float, root.attrib["viewBox"].split())
    for parent in list(root.iter()):
        for child in list(parent):
            words = _WORDS.fullmatch(child.get("id", ""))
            if words:
                root.extend(child.iter(f"{_SVG}defs"))  # letters that other texts use, too
                height -= float(words[2])
                top += float(words[2]) if words[1] == TITLE_ID else 0
            if words or child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    root.set("viewBox", f"{low:g} {top:g} {width:g} {height:g}")


def _own_ids(root: Xml.Element, prefix: str) -> None:
    """Ids that something refers to become the prefix and a number; the others go."""
    known: dict[str, str] = {}

    def own(name: str) -> str:
        return known.setdefault(name, f"{prefix}-{len(known):x}")

    for element in root.iter():
        if _LINK in element.attrib:
            element.set("href", "#" + own(element.attrib.pop(_LINK).removeprefix("#")))
        for name, value in element.attrib.items():
            element.set(name, _REFERENCE.sub(lambda found: f"url(#{own(found[1])})", value))
    for element in root.iter():
        name = element.attrib.pop("id", "")
        if name in known:
            element.set("id", known[name])


def _shorten(element: Xml.Element) -> None:
    """Coordinates to a hundredth of a point, small factors to four digits, no blanks that mean nothing."""
    for name in ("d", "x", "y", "width", "height", "transform"):
        if name in element.attrib:
            text = _LONG_NUMBER.sub(_rounded, element.attrib[name])
            element.set(name, _shorter_path(text) if name == "d" else " ".join(text.split()))
    for name in ("text", "tail"):
        if not (getattr(element, name) or "").strip():
            setattr(element, name, None)


def _shorter_path(text: str) -> str:
    """A path without commands that repeat the one before, and without the blanks beside commands."""
    kept, last = [], ""
    for token in text.split():
        if token.isalpha() and token == last and token != "M":
            continue
        last = token if token.isalpha() else last
        kept.append(token)
    return _COMMAND.sub(r"\1", " ".join(kept))


def _rounded(found: re.Match[str]) -> str:
    value = float(found[0])
    digits = 6 if abs(value) < 0.1 else 4 if abs(value) < 1 else 2
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _follow_scheme(element: Xml.Element, used: dict[str, tuple[str, str]]) -> None:
    """Colours that differ between schemes become variables; `used` gets their names and both values."""
    # A variable means nothing in an attribute of its own.
    loose = {name: element.attrib.pop(name) for name in ("fill", "stroke") if name in element.attrib}
    style = "".join(f"{name}:{value};" for name, value in loose.items()) + element.get("style", "")
    for name, values in tones().items():
        changed = re.sub(values[0], f"var(--{name})", style, flags=re.IGNORECASE)
        if changed != style:
            style, used[name] = changed, values
    if style:
        element.set("style", style.replace("; ", ";").replace(": ", ":"))


def _rules(name: str, width: float, used: dict[str, tuple[str, str]]) -> str:
    """The style rules of one picture: its colours in both schemes, its widths, when it scrolls."""
    smallest, largest = round(width * _SMALLEST), round(width * _LARGEST)
    light = "".join(f"--{name}:{values[0]};" for name, values in used.items())
    dark = "".join(f"--{name}:{values[1]};" for name, values in used.items())
    own = f"#{name}"
    return (
        f"{own}{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{{own}{{{dark}}}}}"
        f"{own} .pan{{overflow-x:auto}}"
        f"{own} svg{{display:block;width:100%;min-width:{smallest}px;max-width:{largest}px;height:auto}}"
        f"{own} .hint{{display:none;margin:0;font-size:.8rem}}"
        f"@media screen and (max-width:{smallest}px){{{own} .hint{{display:block}}}}"
        f"@media print{{{own} svg{{min-width:0}}}}"
    )
