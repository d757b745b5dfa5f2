"""How long a sweep will still take: what the plan expects of it, at the pace of what is done."""

from __future__ import annotations

from collections.abc import Sequence

from kvdyno.model.point import Run
from kvdyno.model.record import Record


class Forecast:
    """The work ahead, in expected seconds: runs, and the loads that they need first.

    `load_seconds` is what all loads together are expected to take, shared out by the datasets' sizes.
    """

    def __init__(self, todo: Sequence[Run], *, load_seconds: float) -> None:
        datasets = {run.point.dataset.identity: run.point.dataset for run in todo if run.point.dataset}
        whole = sum(dataset.bytes for dataset in datasets.values()) or 1
        self._runs = {(run.point.identity, run.repetition): run.point.expected_seconds for run in todo}
        self._loads = {name: load_seconds * d.bytes / whole for name, d in datasets.items()}
        self._expected = self._spent = 0.0

    def ended(self, record: Record, *, seconds: float) -> None:
        """A run or a load took `seconds`. A run says that its dataset needs no load any more."""
        expected = self._runs.pop((record.point.identity, record.repetition), None)
        if expected is None:
            expected = self._loads.pop(record.point.identity, 0.0)
        self._loads.pop(record.point.dataset or "", None)
        self._expected += expected
        self._spent += seconds

    def seconds_left(self, *, current: float) -> float:
        """Of the whole sweep, when what runs now has run for `current` seconds."""
        pace = self._spent / self._expected if self._expected else 1.0
        return max(0.0, pace * (sum(self._runs.values()) + sum(self._loads.values())) - current)
