"""One attempt at a point: a driver in a cage, and whatever it leaves turned into a record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kvdyno.model.experiment import DeviceLimits, Recovery
from kvdyno.model.point import Point
from kvdyno.model.record import (
    Failure,
    Outcome,
    Record,
    RunStatus,
)
from kvdyno.model.units import distinct_sizes

from .cache_policy import warmed
from .cage import BINDS_ALONE, Places, Task
from .disk import evict_file, free_bytes, sparse_files
from .draft import Draft
from .driver import LOG, PROPERTIES, Driver, NativeDriver, write_properties
from .environment import others_cpus_busy, read_cpu
from .external import ExternalDriver
from .held import RateMeter
from .kernel import device_below, read_machine
from .killed import ACKNOWLEDGED, KILLED, not_killed, renewed_caches, reopening_properties, was_killed
from .run_status import Signs, judge, read_tail
from .throttle import throttle_for
from .watch import Ending, Progress, run_in_cage

_PAGE_SLACK_BYTES = 1 << 20
# The harness itself and kernel threads take part of it.
_OTHERS_CPUS_BUSY_MAX = 0.15


def attempt(
    draft: Draft, *, store: Path, progress: Callable[[Progress], None], own_disk: bool = False
) -> Record:
    """Run the draft's point on the store at `store`; how it ends is the record's status.

    `own_disk`: nothing but the store is on its disk. Raises HostError if this machine cannot do it at all,
    OSError if the run's folder cannot be written.
    """
    point = draft.run.point
    if point.engine.image:
        draft.details["image"] = point.engine.image
    else:
        # What the harness read of the program (its checksum) would be memory outside the cap.
        with contextlib.suppress(FileNotFoundError):
            evict_file(point.engine.binary)
    draft.gauges, flaws = draft.setting.gauges.take(store)
    draft.warnings += flaws
    stage = _Stage(draft, store=store, progress=progress, own_disk=own_disk)
    if point.recovery:
        return _kill_and_reopen(stage, point.recovery)
    driver: Driver = ExternalDriver(point) if point.engine.external else NativeDriver(point)
    return _finished(stage, stage.drive(driver, output=draft.run_dir, properties=draft.run.properties))


@dataclass(frozen=True)
class _Driven:
    """A driver's process that has ended: how, what it left, and what a record keeps of it."""

    ending: Ending
    outcome: Outcome | None
    status: RunStatus
    failure: Failure | None
    details: Mapping[str, Any]


@dataclass(frozen=True)
class _Stage:
    """Where the processes of one attempt run, one after the other, each in a cage of its own."""

    draft: Draft
    store: Path
    progress: Callable[[Progress], None]
    own_disk: bool

    def drive(self, driver: Driver, *, output: Path, properties: Mapping[str, str]) -> _Driven:
        """Run a driver to its end; its files go to `output`."""
        draft, point = self.draft, self.draft.run.point
        write_properties(output / PROPERTIES, properties)
        throttle = throttle_for(self.store, point.device, alone=self.own_disk)
        counters = partial(read_machine, device=device_below(self.store))
        with draft.warden.cage(cap_bytes=point.cap_bytes, throttle=throttle) as cage:
            draft.place = cage.place
            task = Task(
                engine=point.engine,
                argv=_argv(point, driver, store=self.store),
                store=self.store,
                output=output,
                log=output / LOG,
                timeout_seconds=point.timeout_seconds,
                cpus=draft.setting.cpus,
            )
            meter = RateMeter(point.device or DeviceLimits(), counters if self.own_disk else cage.usage)

            def tick(pids: Sequence[int]) -> None:
                driver.tick(pids)
                meter.tick()

            before = read_cpu()
            ending = run_in_cage(task, cage=cage, progress=self.progress, tick=tick, machine=counters)
            others = others_cpus_busy(before, read_cpu(), apart=ending.cpu_seconds_apart)
            held = meter.finish()
        details = _details(ending, others)
        if point.device:
            binds = BINDS_ALONE if self.own_disk else draft.warden.device_binds
            details |= {"device_binds": binds, "device_held": held}
        _warn(draft, ending, others)
        outcome, flaw = driver.collect(output, ending=ending)
        signs = Signs(
            ending=ending,
            outcome=outcome,
            outcome_flaw=flaw,
            log_tail=read_tail(output / LOG),
            cap_bytes=point.cap_bytes,
            timeout_seconds=point.timeout_seconds,
            free_bytes=free_bytes(self.store),
        )
        return _Driven(ending, outcome, *judge(signs), details)


def _finished(stage: _Stage, driven: _Driven) -> Record:
    """The record of an attempt whose last process this was."""
    stage.draft.details |= driven.details
    return stage.draft.finish(driven.status, failure=driven.failure, outcome=driven.outcome)


def _kill_and_reopen(stage: _Stage, recovery: Recovery) -> Record:
    """Two processes on one store: the first is killed, the second opens what it left."""
    draft, point = stage.draft, stage.draft.run.point
    folder = draft.run_dir / KILLED
    folder.mkdir()
    try:
        first = stage.drive(NativeDriver(point), output=folder, properties=draft.run.properties)
        if not was_killed(first.ending):
            status, failure = not_killed(first.status, first.failure)
            return _finished(stage, replace(first, status=status, failure=failure))
        draft.details["killed"] = {**first.details, **renewed_caches(stage.store, point.cache)}
        driver = NativeDriver(point, reopens=KILLED)
        properties = reopening_properties(draft.run.properties, recovery)
        return _finished(stage, stage.drive(driver, output=draft.run_dir, properties=properties))
    finally:
        (folder / ACKNOWLEDGED).unlink(missing_ok=True)


def _argv(point: Point, driver: Driver, *, store: Path) -> Callable[[Places], list[str]]:
    """The driver's command line, behind a reader of the store if that is to be warm."""
    if point.cache != "warm":
        return driver.argv
    sparse = sparse_files(store)
    return lambda places: warmed(places.store, driver.argv(places), sparse=sparse)


def _details(ending: Ending, others: float | None) -> dict[str, Any]:
    """What the cage saw of a process."""
    return {
        "seconds": ending.seconds,
        "peak_bytes": ending.peak_bytes,
        "oom_kills": ending.oom_kills,
        "others_cpus_busy": others,
        "phases": [account.as_details() for account in ending.accounts],
    }


def _warn(draft: Draft, ending: Ending, others: float | None) -> None:
    """Doubt a cap that did not bind, and a machine that was not the run's own; each doubt once."""
    found = []
    if others is not None and others > _OTHERS_CPUS_BUSY_MAX:
        found.append(f"others kept {others:g} CPUs busy during the run")
    cap = draft.run.point.cap_bytes
    swap = draft.environment.facts.get("memory.swap_bytes")
    if cap and swap and draft.warden.capped and not ending.limits_swap:
        found.append("swap is not limited here: the run may have swapped its way past the cap")
    if not draft.warden.capped:
        found.append("ran without a memory cap (--uncapped)")
    elif cap and ending.peak_bytes is not None and ending.peak_bytes > cap + _PAGE_SLACK_BYTES:
        peak, least = distinct_sizes(ending.peak_bytes, cap)
        found.append(f"memory peaked at {peak}: the cap of {least} did not bind")
    draft.warnings += [warning for warning in found if warning not in draft.warnings]
