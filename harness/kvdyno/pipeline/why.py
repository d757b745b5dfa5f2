"""Why a gate called a point slower: the counters that changed most, and a call profile of both arms."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno import profiling, regress
from kvdyno.errors import EngineError
from kvdyno.model.calls import CallDifference
from kvdyno.model.metrics import COUNTER_PREFIX
from kvdyno.model.project import Project
from kvdyno.regress import CounterChange, Pair

from .gate import GatePoint
from .instructions import count_calls
from .locking import sweep_lock
from .regress import GateResult

#: What explaining a point takes at most, as a rule: four short runs under valgrind.
SECONDS_A_POINT = 60
_FOLDER = "why"
#: Metrics of the system that are counters, and those that are levels and so are not divided by operations.
_COUNTERS = (COUNTER_PREFIX, "io.", "cpu.user", "cpu.system", "faults.", "switches.", "cgroup.io.", "bytes.")
_LEVELS = ("memory.", "cgroup.memory.", "disk.used", "debt")


@dataclass(frozen=True)
class Reason:
    """What differs between the arms at a point that is worse.

    `counters` are those of `phase`, the largest change first; none if no `pairs` were compared. `calls` is
    None where no profile could be made, and `missing` is then why. `flames` is the picture of the calls.
    """

    point: str
    phase: str
    counters: tuple[CounterChange, ...]
    pairs: int
    calls: CallDifference | None = None
    missing: str = ""
    flames: Path | None = None


def explain(
    project: Project, found: GateResult, *, out: Path, say: Callable[[str], None] = lambda _: None
) -> tuple[Reason, ...]:
    """A reason for each point that is worse; their pictures go to `out`/why/, in place of earlier ones.

    Points whose HEAD fails have none. Raises BusyError if another sweep holds this machine, StoreError if a
    picture cannot be written.
    """
    folder = out / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    phases = {
        each.point: each.phase for each in reversed(found.verdicts) if each.regression and not each.failure
    }
    worse = [each for each in found.gate.points if each.name in phases]
    if not worse:
        return ()
    reasons = []
    with sweep_lock(project):
        for point in worse:
            say(f"looking for what changed at {point.name}")
            reasons.append(_reason(project, found, point, phase=phases[point.name], folder=folder))
    return tuple(reasons)


def _reason(project: Project, found: GateResult, point: GatePoint, *, phase: str, folder: Path) -> Reason:
    pairs = _pairs(found, point, phase=phase)
    counters = regress.changed_counters(pairs)
    compared = max(map(len, pairs.values()), default=0)
    try:
        calls = _calls(project, point)
    except EngineError as error:
        return Reason(point.name, phase, counters, compared, missing=str(error))
    if calls is None:
        missing = "valgrind is not installed: apt-get install valgrind"
        return Reason(point.name, phase, counters, compared, missing=missing)
    from kvdyno import report

    base, head = (arm.text for arm in found.gate.arms)
    title = f"{point.name}: HEAD {head} over BASE {base}"
    picture = report.write_flames(folder / f"{point.head.slug}.svg", calls, title=title)
    return Reason(point.name, phase, counters, compared, calls, flames=picture)


def _calls(project: Project, point: GatePoint) -> CallDifference | None:
    """The call profiles of both arms; None without valgrind."""
    if not profiling.available():
        return None
    return CallDifference(*(count_calls(project, arm) for arm in (point.base, point.head)))


def _pairs(found: GateResult, point: GatePoint, *, phase: str) -> Mapping[tuple[str, str], list[Pair]]:
    """The point's counters per operation and its levels, by name and unit, in every pair that has both and is
    compared.
    """
    values: dict[tuple[int, str], Mapping[tuple[str, str], float]] = {}
    for record in found.records:
        measured = record.phase(phase) if record.status == "ok" else None
        operations = measured.metrics.get("operations") if measured else None
        if measured is None or operations is None or not operations.value:
            continue
        values[record.repetition, record.point.identity] = {
            (name, each.unit if name.startswith(_LEVELS) else f"{each.unit}/op"): (
                each.value if name.startswith(_LEVELS) else each.value / operations.value
            )
            for name, each in measured.metrics.items()
            if name.startswith((*_COUNTERS, *_LEVELS))
        }
    pairs: defaultdict[tuple[str, str], list[Pair]] = defaultdict(list)
    for repetition in sorted({each for each, _ in values if (point.name, each) not in found.split}):
        base, head = (values.get((repetition, arm.identity), {}) for arm in (point.base, point.head))
        for name in base.keys() & head.keys():
            pairs[name].append(Pair(base[name], head[name]))
    return pairs
