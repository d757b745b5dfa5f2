"""Histories: from entries to tracks with steps, drift and changes, and to and from other tools' files."""

from .changes import LEAST_ENTRIES, change_points
from .foreign import Format, export_text, import_text
from .tracks import ordered, standings

__all__ = [
    "LEAST_ENTRIES",
    "Format",
    "change_points",
    "export_text",
    "import_text",
    "ordered",
    "standings",
]
