"""Histories: from entries to tracks with steps and drift, and to and from the files of other tools."""

from .foreign import Format, export_text, import_text
from .tracks import ordered, standings

__all__ = ["Format", "export_text", "import_text", "ordered", "standings"]
