"""How the SVG of a figure becomes part of the page."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path


def embedded(svg: Path, *, id: str, alt: str) -> str:  # noqa: A002
    """Markup that shows the picture; `id` is the picture's own on the page, `alt` says what it shows.

    As an image its inner ids cannot clash with another picture's.
    """
    data = base64.b64encode(svg.read_bytes()).decode()
    return f'<img id="{escape(id)}" src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'
