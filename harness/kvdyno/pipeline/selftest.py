"""The self-test: generators, twins, histograms, other tools, disk, memory and the driver's own cost, and what
they reveal of this host.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import BusyError, EngineError
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import Experiment
from kvdyno.model.noise import DriverCost, HostNoise, TwinNoise
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Environment, Record
from kvdyno.runner import Surveyor, take_host_gauges
from kvdyno.selftest import agreement, generators, histograms, noise, overhead
from kvdyno.store import RunStore

from .locking import sweep_lock
from .noise import store_noise

#: More than this many CPUs kept busy by others, and what a self-test finds is the others' noise.
BUSY_CPUS_MAX = 0.1
#: Repetitions of a comparison, as the quick profile has them.
GROUP = 3
#: A driver that differs more from another tool of the same build measures something else.
TOOLS_AGREE_WITHIN = 0.1
_MARGIN = 0.05


@dataclass(frozen=True)
class HistogramCheck:
    """How many numbers were compared with the logs, and those that differ."""

    compared: int
    different: tuple[histograms.Disagreement, ...]


@dataclass(frozen=True)
class Agreement:
    """The driver beside another tool: geometric mean of the paired ratios (driver over tool), its 95 %
    interval, and whether its 90 % interval lies within 10 %.
    """

    tool: str
    version: str
    step: str
    n: int
    ratio: float
    low: float
    high: float
    agrees: bool


def demand_quiet(project: Project) -> Environment:
    """The machine's facts. Raises BusyError if others use it."""
    environment = Surveyor(project).survey()
    busy = environment.facts.get("load.cpus_busy")
    if isinstance(busy, (int, float)) and busy > BUSY_CPUS_MAX:
        raise BusyError(
            f"other processes keep {busy:g} CPUs busy, expected at most {BUSY_CPUS_MAX:g}: twins would "
            "differ by their work",
            remedy="stop them, or wait until they have ended",
        )
    return environment


def check_generators(engine: Engine) -> tuple[generators.Check, ...]:
    """The draws of an engine's driver against their laws. Raises EngineError if it cannot be asked."""
    return generators.check_generators(engine.binary, image=engine.image)


def gauge_host(project: Project) -> tuple[Mapping[str, float | None], Sequence[str]]:
    """What disk and memory do, and why some is None: take_host_gauges. Raises BusyError beside a sweep."""
    with sweep_lock(project):
        return take_host_gauges(project.data)


def driver_costs(whole: Plan, records: Sequence[Record]) -> tuple[DriverCost, ...]:
    """What the driver costs, from runs on the engine that does nothing. Raises EngineError without."""
    found = overhead.driver_costs(records)
    if not found:
        raise EngineError(
            f"expected runs that end well, found none of {len(records)}",
            where=whole.experiment.name,
            remedy="see the failed runs: kvdyno show",
        )
    return found


def check_histograms(project: Project, records: Sequence[Record]) -> HistogramCheck:
    """Counts and quantiles of records against their logs, as another library reads them."""
    from kvdyno.analysis.histograms import read_log

    store = RunStore(project.runs)
    different: list[histograms.Disagreement] = []
    compared = 0
    for record in records:
        if record.status == "ok" and "histograms" in record.files:
            log = read_log(store.run_dir(record) / record.files["histograms"])
            compared += histograms.compared(record)
            different += histograms.disagreements(record, log)
    return HistogramCheck(compared, tuple(different))


def measure_noise(
    project: Project,
    whole: Plan,
    *,
    records: Sequence[Record],
    environment: Environment,
    gauges: Mapping[str, float | None],
    driver: tuple[DriverCost, ...],
) -> HostNoise:
    """What the twins of a plan reveal of this host, stored beside `gauges` and `driver` (see store_noise).

    Raises StoreError if it cannot be written, EngineError if no twins ended well.
    """
    from kvdyno.analysis.twins import twin_tables

    ok = [record for record in records if record.status == "ok"]
    repetitions = sorted({record.repetition for record in ok})
    groups = noise.groups_of(repetitions, size=GROUP)
    if not ok or not groups:
        raise EngineError(
            f"expected at least {GROUP} repetitions of twins, found {len(repetitions)}",
            where=whole.experiment.name,
            remedy="see the failed runs",
        )
    tables = twin_tables(ok, twins=_twins(whole.experiment), groups=groups, margin=_MARGIN)
    found = HostNoise(
        host_id=environment.host_id,
        runner=whole.points[0].engine.runner,
        measured_at=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        commit=_text(environment.facts.get("kvdyno.commit")),
        profile=whole.experiment.profile.name,
        repetitions=GROUP,
        facts=environment.facts,
        images={str(p.axes["engine"]): p.engine.image for p in whole.points if p.engine.image},
        gauges=gauges,
        driver=driver,
        twins=noise.twin_noise(tables.pairs, tables.comparisons, axes=tables.axes),
    )
    store_noise(project, found)
    return found


def smallest_effect(entry: TwinNoise, *, repetitions: int) -> float | None:
    """See analysis.twins."""
    from kvdyno.analysis import twins

    return twins.smallest_effect(entry, repetitions=repetitions)


def compare_tools(
    project: Project,
    *,
    engine: Engine,
    tool: Callable[[Path], agreement.Side],
    repetitions: int,
    say: Callable[[str], None],
) -> tuple[Agreement, ...]:
    """The driver and another tool, which `tool` makes for a store's folder, in turn.

    Raises EngineError if they load different versions of the engine, BusyError beside a sweep.
    """
    from kvdyno.analysis.twins import side_by_side

    name = engine.description.engine.name
    work = project.data / "work" / "agreement"
    rates: dict[str, tuple[list[float], list[float]]] = {}
    with sweep_lock(project), contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, work, ignore_errors=True)
        for number in range(1, repetitions + 1):
            ours_in, theirs_in, output = _emptied(work, "ours", "theirs", "output")
            ours = agreement.Driver(engine.binary, engine=name, store=ours_in, output=output)
            theirs = tool(theirs_in)
            say(f"{theirs.tool} and kvdyno-{name}, {number} of {repetitions}")
            for step in theirs.steps:
                pair = rates.setdefault(step, ([], []))
                for index, side in list(enumerate((ours, theirs)))[:: (-1) ** number]:
                    pair[index].append(side.rate(step))
                _demand_same_version(ours, theirs, engine=name)
    table = side_by_side(rates, margin=TOOLS_AGREE_WITHIN)
    return tuple(
        Agreement(
            tool=theirs.tool,
            version=ours.version,
            step=step,
            n=repetitions,
            ratio=float(row["ratio"]),
            low=float(row["low"]),
            high=float(row["high"]),
            agrees=bool(row["within"]),
        )
        for step, (_, row) in zip(rates, table.iterrows(), strict=True)
    )


def _emptied(work: Path, *names: str) -> tuple[Path, ...]:
    """Fresh folders below `work`."""
    shutil.rmtree(work, ignore_errors=True)
    folders = tuple(work / name for name in names)
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


def _demand_same_version(ours: agreement.Side, theirs: agreement.Side, *, engine: str) -> None:
    if not agreement.same_version(theirs.version, ours.version):
        raise EngineError(
            f"expected {engine} {ours.version}, as kvdyno loads it, found {theirs.version}",
            where=theirs.tool,
            remedy="name a db_bench of that build: --db-bench",
        )


def _twins(experiment: Experiment) -> list[tuple[str, str]]:
    return [(choice.twin_of, choice.label) for choice in experiment.engines if choice.twin_of]


def _text(fact: object) -> str | None:
    return fact if isinstance(fact, str) else None
