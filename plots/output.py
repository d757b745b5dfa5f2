"""A figure as files: PDF for papers, SVG for the screen, PNG for everything else.

Equal figures give equal bytes: no dates, no random ids, fonts embedded from matplotlib's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

_PNG_DPI = 160
_FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "png": {"metadata": {"Software": None}, "dpi": _PNG_DPI},
}


@dataclass(frozen=True)
class FigureFiles:
    """Where one figure is."""

    pdf: Path
    svg: Path
    png: Path


def save(figure: Figure, stem: Path) -> FigureFiles:
    """Write `<stem>.pdf`, `.svg` and `.png`; each appears whole or not at all. Raises OSError."""
    return FigureFiles(**{suffix: _write(figure, stem, suffix) for suffix in _FORMATS})


def save_pdf(figure: Figure, stem: Path) -> Path:
    """Write `<stem>.pdf` alone, as `save` does. Raises OSError."""
    return _write(figure, stem, "pdf")


def _write(figure: Figure, stem: Path, suffix: str) -> Path:
    path = stem.with_name(f"{stem.name}.{suffix}")
    whole = path.with_name(f".{path.name}.partial")
    with matplotlib.rc_context({"svg.hashsalt": "kvdyno", "svg.fonttype": "path", "pdf.fonttype": 42}):
        figure.savefig(whole, format=suffix, **_FORMATS[suffix])
    whole.replace(path)
    return path
