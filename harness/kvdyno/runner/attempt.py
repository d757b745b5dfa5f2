"""One attempt at a point: a driver in a cage, and whatever it leaves turned into a record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kvdyno.model.engine import RunnerName
from kvdyno.model.experiment import DeviceLimits
from kvdyno.model.point import Point, Run
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

from .cache_policy import warmed
from .cage import BINDS_ALONE, Places, Task, Warden
from .disk import evict_file, free_bytes, needed_bytes, sparse_files
from .driver import LOG, OUTCOME, PROPERTIES, Driver, NativeDriver, write_properties
from .environment import others_cpus_busy, read_cpu
from .external import ExternalDriver
from .gauges import Gauge, Gauges
from .held import RateMeter
from .kernel import device_below, read_machine
from .throttle import throttle_for
from .verdict import Evidence, judge, read_tail
from .watch import Ending, Progress, run_in_cage

_FILE_ROLES = {"log": LOG, "properties": PROPERTIES, "outcome": OUTCOME}
_PAGE_SLACK_BYTES = 1 << 20
# The harness itself and kernel threads take part of it.
_OTHERS_CPUS_BUSY_MAX = 0.15


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


def attempt(
    draft: Draft, *, store: Path, progress: Callable[[Progress], None], own_disk: bool = False
) -> Record:
    """Run the draft's point on the store at `store`; how it ends is the record's status.

    `own_disk`: nothing but the store is on its disk. Raises HostError if this machine cannot do it at all,
    OSError if the run's folder cannot be written.
    """
    point = draft.run.point
    driver: Driver = ExternalDriver(point) if point.engine.external else NativeDriver(point)
    if point.engine.image:
        draft.details["image"] = point.engine.image
    else:
        # What the harness read of the program (its checksum) would be memory outside the cap.
        with contextlib.suppress(FileNotFoundError):
            evict_file(point.engine.binary)
    write_properties(draft.run_dir / PROPERTIES, draft.run.properties)
    throttle = throttle_for(store, point.device, alone=own_disk)
    device = device_below(store)
    draft.gauges, flaws = draft.setting.gauges.take(store)
    draft.warnings += flaws
    with draft.warden.cage(cap_bytes=point.cap_bytes, throttle=throttle) as cage:
        draft.place = cage.place
        task = Task(
            engine=point.engine,
            argv=_argv(point, driver, store=store),
            store=store,
            output=draft.run_dir,
            log=draft.run_dir / LOG,
            timeout_seconds=point.timeout_seconds,
            cpus=draft.setting.cpus,
        )
        counters = partial(read_machine, device=device)
        meter = RateMeter(point.device or DeviceLimits(), counters if own_disk else cage.usage)

        def tick(pids: Sequence[int]) -> None:
            driver.tick(pids)
            meter.tick()

        before = read_cpu()
        ending = run_in_cage(task, cage=cage, progress=progress, tick=tick, machine=counters)
        others = others_cpus_busy(before, read_cpu(), apart=ending.cpu_seconds_apart)
        held = meter.finish()
    outcome, flaw = driver.collect(draft.run_dir, ending=ending)
    _note(draft, ending, others)
    if point.device:
        binds = BINDS_ALONE if own_disk else draft.warden.device_binds
        draft.details |= {"device_binds": binds, "device_held": held}
    status, failure = judge(
        Evidence(
            ending=ending,
            outcome=outcome,
            outcome_flaw=flaw,
            log_tail=read_tail(draft.run_dir / LOG),
            cap_bytes=point.cap_bytes,
            timeout_seconds=point.timeout_seconds,
            free_bytes=free_bytes(store),
        )
    )
    return draft.finish(status, failure=failure, outcome=outcome)


def _argv(point: Point, driver: Driver, *, store: Path) -> Callable[[Places], list[str]]:
    """The driver's command line, behind a reader of the store if that is to be warm."""
    if point.cache != "warm":
        return driver.argv
    sparse = sparse_files(store)
    return lambda places: warmed(places.store, driver.argv(places), sparse=sparse)


def _note(draft: Draft, ending: Ending, others: float | None) -> None:
    """Keep what the cage saw; doubt a cap that did not bind, and a machine that was not the run's own."""
    draft.details |= {
        "seconds": ending.seconds,
        "peak_bytes": ending.peak_bytes,
        "oom_kills": ending.oom_kills,
        "others_cpus_busy": others,
        "phases": [account.as_details() for account in ending.accounts],
    }
    if others is not None and others > _OTHERS_CPUS_BUSY_MAX:
        draft.warnings.append(f"others kept {others:g} CPUs busy during the run")
    cap = draft.run.point.cap_bytes
    swap = draft.environment.facts.get("memory.swap_bytes")
    if cap and swap and draft.warden.capped and not ending.limits_swap:
        draft.warnings.append("swap is not limited here: the run may have swapped its way past the cap")
    if not draft.warden.capped:
        draft.warnings.append("ran without a memory cap (--uncapped)")
    elif cap and ending.peak_bytes is not None and ending.peak_bytes > cap + _PAGE_SLACK_BYTES:
        peak, least = distinct_sizes(ending.peak_bytes, cap)
        draft.warnings.append(f"memory peaked at {peak}: the cap of {least} did not bind")


def _files(run_dir: Path, outcome: Outcome | None) -> dict[str, str]:
    """Role to name, of the files that are there."""
    names = dict(_FILE_ROLES)
    if outcome and outcome.series:
        names["series"] = outcome.series.file
    if outcome and outcome.histograms:
        names["histograms"] = outcome.histograms
    if outcome and outcome.events:
        names["events"] = outcome.events
    return {role: name for role, name in names.items() if (run_dir / name).is_file()}


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
