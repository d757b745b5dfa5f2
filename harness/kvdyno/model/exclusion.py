"""A host that a person excluded: its records stay as they are, and count nowhere.

`kvdyno exclude` leaves results/hosts/<host>/excluded.json; all that chooses records for an analysis reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .engine import Frozen
from .results import HostOutlier


class HostNode(Frozen):
    """What a cluster calls a host: the name that its scheduler takes. No record has it."""

    schema_version: Literal["kvdyno.node/1"] = "kvdyno.node/1"
    host_id: str
    node: str


class Exclusion(Frozen):
    """Which host, when (ISO 8601, UTC) and why. `node` is None where no job has run there.

    `outliers` are the gauges by which it was slower than other hosts when it was excluded, by sweep.
    """

    schema_version: Literal["kvdyno.excluded/1"] = "kvdyno.excluded/1"
    host_id: str
    node: str | None = None
    excluded_at: str
    because: str
    outliers: Mapping[str, tuple[HostOutlier, ...]]

    def __str__(self) -> str:
        """A sentence without an end: "host 1a2b (node n1) was excluded on 2026-11-25: slow disk"."""
        node = f" (node {self.node})" if self.node else ""
        return f"host {self.host_id}{node} was excluded on {self.excluded_at[:10]}: {self.because}"


@dataclass(frozen=True)
class LeftOut:
    """An excluded host, and how many of the runs in question it measured."""

    exclusion: Exclusion
    runs: int

    def __str__(self) -> str:
        """A sentence without an end: who was excluded, and what does not count."""
        runs = "its run does" if self.runs == 1 else f"its {self.runs} runs do"
        return f"{self.exclusion}; {runs} not count"
