"""A history: what each revision made of a point, a summary a line, in files that live in git."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from .engine import Frozen

HISTORY_SCHEMA = "kvdyno.history/1"


class Track(NamedTuple):
    """What entries are about that may be compared: all of an entry but its revision and values.

    Times on two hosts are never compared, so the host belongs to it.
    """

    host: str
    subject: str
    suite: str
    point: str
    metric: str
    phase: str
    unit: str


class Entry(Frozen):
    """The runs of one revision at one point, in one metric.

    `at`: when the last of them ended (ISO 8601, UTC). `revision`: a commit, or a library's version.
    `subject`: what changes from revision to revision, such as an engine's label. `suite`: the experiment and
    its profile. `value` is the median of `n` runs, with its interval at 95 % where n allows one. `ratio` is
    that to the anchor, paired in the same sweep: `anchor` names what stayed the same, "" if nothing did.
    `source`: the sweeps, or the file that was imported.
    """

    schema_version: Literal["kvdyno.history/1"] = "kvdyno.history/1"
    at: str
    host: str
    revision: str
    subject: str
    suite: str
    point: str
    metric: str
    phase: str = ""
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 1
    anchor: str = ""
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    source: str = ""

    @property
    def track(self) -> Track:
        """What it may be compared within."""
        return Track(self.host, self.subject, self.suite, self.point, self.metric, self.phase, self.unit)


@dataclass(frozen=True)
class Standing:
    """A track's entries in order, and how far the latest is from the one before and from the first.

    `step` and `drift` are ratios of the latest to those; of its ratio to the anchor where both have one to
    the same anchor (`anchored`), else of the values. None where there is nothing before. `apart`: the
    intervals of the latest and the one before do not touch.
    """

    track: Track
    entries: tuple[Entry, ...]
    step: float | None
    drift: float | None
    apart: bool
    anchored: bool

    @property
    def latest(self) -> Entry:
        """The last entry."""
        return self.entries[-1]


@dataclass(frozen=True)
class Change:
    """The first revision of a track from which on it is another. `ratio`: the mean from there to the next
    change over the mean back to the one before; None where that was 0.
    """

    track: Track
    revision: str
    ratio: float | None
