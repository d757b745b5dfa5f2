"""A record in the making: begun before the run, finished when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kvdyno.model.engine import RunnerName
from kvdyno.model.point import Run
from kvdyno.model.record import (
    Environment,
    Failure,
    Outcome,
    Record,
    RecordedPoint,
    RunnerFacts,
    RunStatus,
)
from kvdyno.model.units import distinct_sizes

from .cage import Warden
from .disk import free_bytes, needed_bytes
from .driver import LOG, OUTCOME, PROPERTIES
from .gauges import Gauge, Gauges
from .killed import KILLED

_KILLED_ROLES = {"log": LOG, "properties": PROPERTIES, "series": "series.csv", "events": "events.csv"}
_FILE_ROLES = {"log": LOG, "properties": PROPERTIES, "outcome": OUTCOME}


@dataclass(frozen=True)
class Setting:
    """What all attempts of a sweep share."""

    sweep_id: str
    wardens: Mapping[RunnerName, Warden]
    cpus: tuple[int, ...]
    gauges: Gauges


@dataclass
class Draft:
    """A record in the making; `details` and `warnings` fill on the way. `data` is where all stores are."""

    run: Run
    run_dir: Path
    data: Path
    order: int
    setting: Setting
    environment: Environment
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    place: str = ""
    gauges: Mapping[str, Gauge] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def warden(self) -> Warden:
        """What confines this run."""
        return self.setting.wardens[self.run.point.engine.runner]

    def finish(
        self, status: RunStatus, *, failure: Failure | None = None, outcome: Outcome | None = None
    ) -> Record:
        """The record, as of now."""
        warden = self.warden
        return Record(
            run_id=self.run_dir.name,
            sweep_id=self.setting.sweep_id,
            repetition=self.run.repetition,
            load=self.run.load,
            seed=self.run.seed,
            repetitions_planned=self.run.repetitions_planned,
            order=self.order,
            started_at=_text(self.started_at),
            ended_at=_text(datetime.now(UTC)),
            point=recorded_point(self.run),
            runner=RunnerFacts(
                name=warden.runner,
                capped=warden.capped,
                cgroup=self.place,
                cpus=",".join(map(str, self.setting.cpus)),
                details={"confinement": warden.kind, "why": warden.why, **warden.details, **self.details},
            ),
            environment=self.environment,
            gauges=self.gauges,
            status=status,
            failure=failure,
            outcome=outcome,
            files=_files(self.run_dir, outcome),
            warnings=tuple(self.warnings),
        )


def recorded_point(run: Run) -> RecordedPoint:
    """What a record keeps of a run's point, with the run's own seeds and dataset."""
    point = run.point
    return RecordedPoint(
        slug=point.slug,
        identity=point.identity,
        engine=point.engine.name,
        preset=point.preset,
        label=str(point.axes.get("engine", point.engine.name)),
        binary_sha256=point.engine.binary_sha256,
        axes=point.axes,
        properties=run.properties,
        phases=point.phases,
        dataset=run.dataset.identity if run.dataset else None,
        cap_bytes=point.cap_bytes,
        timeout_seconds=point.timeout_seconds,
        device=point.device,
    )


def refusal_for_lack_of_space(draft: Draft) -> Record | None:
    """The record of a run for which the disk has no room; None if it has."""
    needed = needed_bytes(draft.run.point.expected_disk_bytes)
    free = free_bytes(draft.data)
    if free >= needed:
        return None
    least, found = distinct_sizes(needed, free)
    reason = (
        f"{draft.data}: expected {least} free for this point, found {found}; "
        "remedy: free some, set KVDYNO_DATA to a larger disk, or run `kvdyno clean`"
    )
    return draft.finish("disk_full", failure=Failure(reason=reason))


def _files(run_dir: Path, outcome: Outcome | None) -> dict[str, str]:
    """Role to name, of the files that are there."""
    names = dict(_FILE_ROLES)
    if outcome and outcome.series:
        names["series"] = outcome.series.file
    if outcome and outcome.histograms:
        names["histograms"] = outcome.histograms
    if outcome and outcome.events:
        names["events"] = outcome.events
    names |= {f"killed_{role}": f"{KILLED}/{name}" for role, name in _KILLED_ROLES.items()}
    return {role: name for role, name in names.items() if (run_dir / name).is_file()}


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
