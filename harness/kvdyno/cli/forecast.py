"""How long a sweep will still take: what the plan expects of it, at the pace of what is done."""

from __future__ import annotations

from collections.abc import Sequence

from kvdyno.model.point import Run
from kvdyno.model.record import Record


class Forecast:
    """The work ahead, in expected seconds: runs, and the loads that they need first."""

    def __init__(self, todo: Sequence[Run]) -> None:
        datasets = {run.dataset.identity: run.dataset for run in todo if run.dataset}
        self._runs = {(run.point.identity, run.repetition): run.point.expected_seconds for run in todo}
        self._loads = {identity: dataset.expected_seconds for identity, dataset in datasets.items()}
        self._expected = self._spent = 0.0

    def ended(self, record: Record, *, seconds: float) -> None:
        """A run or a load took `seconds`. After a run, its dataset needs no load any more."""
        expected = self._runs.pop((record.point.identity, record.repetition), None)
        if expected is None:
            expected = self._loads.pop(record.point.identity, 0.0)
        self._loads.pop(record.point.dataset or "", None)
        self._expected += expected
        self._spent += seconds

    def seconds_left(self, *, current: float) -> float:
        """Seconds that the whole sweep still takes, when what runs now has run for `current` seconds."""
        pace = self._spent / self._expected if self._expected else 1.0
        return max(0.0, pace * (sum(self._runs.values()) + sum(self._loads.values())) - current)
