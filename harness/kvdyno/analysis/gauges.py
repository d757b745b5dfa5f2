"""What the machine did to runs: gauges off their normal, steps, disturbances, counts of writes that disagree.

Each caution names its points and repetitions. Thresholds are documented in docs/formats.md ("Cautions from
gauges and counters").
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvdyno.model.record import Record
from kvdyno.model.results import Caution
from kvdyno.model.units import human_bytes

from .drift import Step, steps
from .facts import point_name
from .frame import axes_of, label_of
from .judges import JUDGES, NORMAL_RECORDS, Judge

STEAL_SHARE = 0.01
OUTSIDE_PRESSURE_SHARE = 0.05
#: Counts of written bytes that differ by more than this factor, and by more than the slack, disagree.
DISAGREE = 1.25
SLACK_BYTES = 16 << 20

_NAMED_AT_MOST = 4
_STEP_REMEDY = (
    "find out what changed on the host; the same `kvdyno run` again measures split blocks again; a point's "
    "own median mixes both: read the ratios"
)
_SPANS = ("run", "build")

# What an engine itself counts as written: files, then logs. A log may be overwritten in the cache before the
# kernel writes it, as the chunk store's ring is, so that its bytes reach the process's count or not.
_ENGINE_WRITES: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("engine.flush_write_bytes", "engine.compact_write_bytes"), ("engine.wal_bytes",)),
    (("engine.table_write_bytes",), ("engine.log_write_bytes",)),
    (("engine.flush_bytes", "engine.rebalance_bytes"), ("engine.ring_bytes",)),
)


def machine_cautions(records: Sequence[Record], *, units: Mapping[str, str]) -> list[Caution]:
    """All cautions of this module; `units` are the axes that name a point (facts.point_name)."""
    names = _Names(units)
    return [
        *(caution for judge in JUDGES for caution in _off_normal(records, judge, names)),
        *(_stepped(step, names) for step in steps(records)),
        *_disturbed(records, names),
        *_disagreeing(records, names),
        *_not_held(records, names),
    ]


@dataclass(frozen=True)
class _Names:
    units: Mapping[str, str]

    def points(self, records: Iterable[Record]) -> tuple[str, ...]:
        """The names of all their points."""
        return tuple(dict.fromkeys(map(self._name, records)))

    def _name(self, record: Record) -> str:
        return point_name(label_of(record), axes_of(record), units=self.units)

    def places(self, records: Iterable[Record]) -> str:
        """Points with their repetitions: "RocksDB A (repetitions 1, 3) and 5 more"."""
        found: dict[str, list[int]] = {}
        for record in records:
            found.setdefault(self._name(record), []).append(record.repetition)
        named = [
            f"{name} (repetition{'s' if len(numbers) > 1 else ''} {', '.join(map(str, sorted(numbers)))})"
            for name, numbers in found.items()
        ]
        more = len(named) - _NAMED_AT_MOST
        return ", ".join(named[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _off_normal(records: Sequence[Record], judge: Judge, names: _Names) -> list[Caution]:
    """A caution for each host that has runs before which the gauge was off."""
    hosts: dict[str, list[tuple[Record, float]]] = {}
    for record in records:
        value = record.gauges.get(judge.gauge)
        if isinstance(value, (int, float)) and value > 0:
            hosts.setdefault(record.environment.host_id, []).append((record, float(value)))
    found = []
    for measured in hosts.values():
        values = [value for _, value in measured]
        normal = statistics.median(values)
        deviation = statistics.median(abs(value - normal) for value in values)
        off = [pair for pair in measured if judge.is_off(pair[1], normal=normal, deviation=deviation)]
        if len(measured) < NORMAL_RECORDS or not off:
            continue
        worst = max(off, key=lambda pair: abs(pair[1] - normal))[1]
        message = (
            f"before {names.places(record for record, _ in off)} {judge.what} up to "
            f"{worst:.3g} {judge.unit}, normal on this host is {normal:.3g} (median of {len(values)} runs)"
        )
        if judge.more_is_better:
            message = message.replace("up to", "down to")
        found.append(Caution("gauge", message, judge.remedy, names.points(record for record, _ in off)))
    return found


def _stepped(step: Step, names: _Names) -> Caution:
    """A caution that a gauge stepped, and which blocks it cut: contenders of one repetition and place."""
    blocks: dict[object, dict[bool, list[Record]]] = {}
    for place, record in enumerate(step.runs):
        block = (record.repetition, *sorted((name, str(value)) for name, value in axes_of(record).items()))
        blocks.setdefault(block, {}).setdefault(place >= step.place, []).append(record)
    split = [block for block in blocks.values() if len(block) > 1]
    first, judge = step.runs[step.place], step.judge
    message = (
        f"host {first.environment.host_id} changed during sweep {first.sweep_id}: from "
        f"{first.started_at[:19].replace('T', ' ')} UTC on (run {step.place + 1} of {len(step.runs)}) "
        f"{judge.what} {step.after:.3g} {judge.unit} instead of {step.before:.3g} (medians); "
        f"{len(split)} block{'s were' if len(split) != 1 else ' was'} split, and no run before is compared "
        "with one after"
    )
    concerned = [record for block in split for side in block.values() for record in side] or step.runs
    return Caution("drift", message, _STEP_REMEDY, names.points(concerned))


def _disturbed(records: Sequence[Record], names: _Names) -> list[Caution]:
    """Cautions about what the kernel counted while phases ran."""
    found = []
    for value_of, limit, text, remedy in _DISTURBANCES:
        values = [(record, value) for record in records if (value := value_of(record)) > limit]
        if values:
            worst = max(value for _, value in values)
            places = names.places(record for record, _ in values)
            points = names.points(record for record, _ in values)
            found.append(Caution("disturbed", f"{text.format(worst)} at {places}", remedy, points))
    return found


def _steal_share(record: Record) -> float:
    seconds = _total(record, "seconds") * (_number(record.environment.facts.get("cpu.logical")) or 1)
    return _total(record, "steal_seconds") / seconds if seconds else 0


def _outside(record: Record, resource: str) -> float:
    """The share of time in which some task waited, but none of the run's own; 0 if those were not counted."""
    own, everyone = f"own_pressure_{resource}_some_seconds", f"pressure_{resource}_some_seconds"
    counted = [phase for phase in _phases(record) if own in phase and everyone in phase]
    seconds = sum(_number(phase.get("seconds")) for phase in counted)
    waited = sum(_number(phase[everyone]) - _number(phase[own]) for phase in counted)
    return waited / seconds if seconds else 0


# What is looked at, from where on it disturbs, how it reads, the remedy.
_DISTURBANCES: Sequence[tuple[Callable[[Record], float], float, str, str]] = (
    (
        _steal_share,
        STEAL_SHARE,
        "the hypervisor took up to {:.1%} of the CPU time",
        "use a machine whose CPUs are not shared, or measure when its host is quiet",
    ),
    (
        lambda record: _total(record, "swap_ins"),
        0,
        "up to {:.0f} pages came back from swap",
        "swapoff -a for the sweep (and swapon -a afterwards)",
    ),
    (
        lambda record: _total(record, "throttlings"),
        0,
        "CPUs were slowed down for their temperature up to {:.0f} times",
        "cool the machine, or hold the frequency (--governor, --no-turbo)",
    ),
    (
        lambda record: _outside(record, "memory"),
        OUTSIDE_PRESSURE_SHARE,
        "other processes waited for memory during up to {:.0%} of the time",
        "end them: their reclaim takes CPU and disk from the run",
    ),
    (
        lambda record: _outside(record, "io"),
        OUTSIDE_PRESSURE_SHARE,
        "other processes waited for a disk during up to {:.0%} of the time",
        "end them, or keep the data on a disk of its own",
    ),
)


def _disagreeing(records: Sequence[Record], names: _Names) -> list[Caution]:
    """Cautions where the engine, its process and the disk count different amounts of written bytes."""
    found = []
    compared: tuple[tuple[Callable[[Record], tuple[float, float] | None], str, str], ...] = (
        (
            _engine_and_process,
            "the engine counts {} written, its process {}",
            "trust write amplification by the process: the engine's counters miss or repeat something",
        ),
        (
            _process_and_disk,
            "the process wrote {}, the disk {}",
            "others or the file system's journal wrote too, or much was never written back",
        ),
    )
    for counts_of, text, remedy in compared:
        off = [(record, counts) for record in records if (counts := counts_of(record))]
        if off:
            worst = max(off, key=lambda pair: abs(pair[1][0] - pair[1][1]))[1]
            sizes = text.format(*(human_bytes(round(count)) for count in worst))
            places = names.places(record for record, _ in off)
            points = names.points(record for record, _ in off)
            found.append(Caution("amplification", f"{sizes} (at worst) at {places}", remedy, points))
    return found


def _engine_and_process(record: Record) -> tuple[float, float] | None:
    """Both counts, if the process's is less than the engine's files, or more than its files and logs."""
    metrics = _span_metrics(record)
    process = metrics.get("io.write_bytes")
    for files, logs in _ENGINE_WRITES:
        if process is not None and all(name in metrics for name in files):
            least = sum(metrics[name] for name in files)
            most = least + sum(metrics.get(name, 0) for name in logs)
            engine = min(max(process, least), most)
            return (engine, process) if _apart(engine, process) else None
    return None


def _process_and_disk(record: Record) -> tuple[float, float] | None:
    """Both counts, if the disk's is outside what the process's allows.

    At least what the process dirtied, less what it cancelled and what is still dirty; at most that and what
    was dirty when it began.
    """
    metrics = _span_metrics(record)
    process = metrics.get("io.write_bytes")
    covered, before = _covered(record)
    if process is None or not covered or not all("disk_write_bytes" in each for each in covered):
        return None
    disk = sum(_number(each["disk_write_bytes"]) for each in covered)
    most = process + _number(before.get("dirty_bytes"))
    if disk > most:
        return (process, disk) if _apart(most, disk) else None
    if "dirty_bytes" not in covered[-1]:
        return None
    least = process - metrics.get("io.cancelled_write_bytes", 0) - _number(covered[-1]["dirty_bytes"])
    return (process, disk) if disk < least and _apart(disk, least) else None


def _apart(one: float, other: float) -> bool:
    low, high = sorted((one, other))
    return high > DISAGREE * low and high - low > SLACK_BYTES


def _not_held(records: Sequence[Record], names: _Names) -> list[Caution]:
    """Cautions about devices whose rates the kernel's counters show to be exceeded, a kind of rate each."""
    exceeded: dict[str, list[tuple[Record, float, float]]] = {}
    for record in records:
        held: Mapping[str, Any] = record.runner.details.get("device_held") or {}
        for name, seen in held.items():
            if not seen["held"]:
                exceeded.setdefault(name, []).append((record, seen["highest"], seen["limit"]))
    found = []
    for name, seen in exceeded.items():
        times = max(highest / limit for _, highest, limit in seen)
        places = names.places(record for record, _, _ in seen)
        message = f"the disk was not held to its rate: {name} reached {times:.2f} times its limit at {places}"
        remedy = "leave these points out, or measure them on a kernel with cgroup v2"
        points = names.points(record for record, _, _ in seen)
        found.append(Caution("device", message, remedy, points))
    return found


def _span_metrics(record: Record) -> dict[str, float]:
    if record.status != "ok":
        return {}
    span = next((found for name in _SPANS if (found := record.phase(name))), None)
    return {name: metric.value for name, metric in span.metrics.items()} if span else {}


def _covered(record: Record) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """What was counted in the phases of the span, and in the phase before the first of them."""
    span = next((found for name in _SPANS if (found := record.phase(name))), None)
    phases = _phases(record)
    places = [at for at, phase in enumerate(phases) if span and phase["phase"] in span.covers]
    if not span or len(places) != len(span.covers):
        return [], {}
    return [phases[at] for at in places], phases[places[0] - 1] if places[0] else {}


def _phases(record: Record) -> Sequence[Mapping[str, Any]]:
    phases: Sequence[Mapping[str, Any]] = record.runner.details.get("phases") or ()
    return phases


def _total(record: Record, name: str) -> float:
    return sum(_number(phase.get(name)) for phase in _phases(record))


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
