"""A search's experiments, and what their records show of candidates."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvdyno.errors import UsageError
from kvdyno.model.axes import VOLUME_MIN, WORKLOAD
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import Phases
from kvdyno.model.metrics import metrics_of
from kvdyno.model.options import parse_value, scale_value
from kvdyno.model.record import Record
from kvdyno.model.search import (
    Objective,
    Options,
    Try,
    better_ratio,
)
from kvdyno.model.words import unknown

from .strategies import front_of

DEFAULT, CANDIDATE, TWIN = "default", "candidate", "default-again"
#: How many candidates the confirmation compares.
CHOSEN = 3
#: Where a metric is looked for first: in spans, whose time includes work left for later.
_PHASES = ("run", "build", "measure", "load")
#: An engine and one of its presets.
EnginePreset = tuple[str, str]
_NET = "write_amplification.net"
_SHORT = ("p50", "p90", "p99", "p99.9", "max", "mean")


def objectives_of(words: Sequence[str], *, engine: Engine) -> tuple[Objective, ...]:
    """The objectives in words: a metric, "read.p99" for "read.latency.p99", or "write_amplification" for its
    net one. More throughput is better, and less of everything else. Raises UsageError with the nearest one.
    """
    offer = metrics_of(engine)
    known = [name for name in (offer.phases if offer else ()) if _can_be_improved(name)]
    found = []
    for word in words:
        operation, _, statistic = word.partition(".")
        metric = f"{operation}.latency.{statistic}" if statistic in _SHORT else word
        metric = _NET if metric == "write_amplification" else metric
        if metric not in known:
            raise UsageError(unknown("objective", word, known), where="--objective")
        found.append(Objective(metric, higher=metric == "throughput"))
    return tuple(dict.fromkeys(found))


def _can_be_improved(metric: str) -> bool:
    first = metric.split(".")[0]
    return (
        metric in ("throughput", "memory.peak_rss", "cpu.per_operation", "stall.per_write", "disk.used")
        or ".latency." in metric
        or first.endswith("_amplification")
    )


def experiment_of(
    *,
    title: str,
    engine: str,
    preset: str,
    candidates: Mapping[str, Options],
    spans: Mapping[str, str],
    shared: Mapping[str, Any],
    axis: str = WORKLOAD,
    twin: bool = False,
    rivals: Mapping[str, EnginePreset] | None = None,
) -> dict[str, Any]:
    """Candidates by label beside the default, as an experiment's document. `spans` has the axis' values,
    which are workloads, and what each is judged by. With `twin`, a second default. `rivals` are other
    engines by label, with each of which all are compared.
    """
    others = {label: {"engine": name, "preset": its} for label, (name, its) in (rivals or {}).items()}
    own: dict[str, Any] = {"engine": engine, "preset": preset}
    again = [own | {"label": TWIN, "twin_of": DEFAULT}] if twin else []
    return {
        "title": title,
        "engines": [
            own | {"label": DEFAULT},
            *again,
            *(own | {"label": label, "options": dict(options)} for label, options in candidates.items()),
            *(its | {"label": label} for label, its in others.items()),
        ],
        "baseline": DEFAULT,
        **shared,
        "grid": {axis: list(spans), **shared["grid"]},
        "figures": throughput_figures(spans, axis=axis),
        "tables": [
            {
                "id": f"over-rival-{number}-{span}",
                "title": f"Throughput over that of {label}",
                "phase": span,
                "rows": axis,
                "columns": "engine",
                "ratio_to": label,
                "where": {axis: values},
            }
            for number, label in enumerate(others, 1)
            for span, values in _by_span(spans).items()
        ],
    }


def throughput_figures(spans: Mapping[str, str], *, axis: str = WORKLOAD) -> list[dict[str, Any]]:
    """Throughput of each engine, a figure for each span that values of the axis are judged by."""
    return [
        {
            "id": f"throughput-{span}",
            "kind": "bars",
            "title": "Throughput",
            "metric": "throughput",
            "phase": span,
            "x": axis,
            "where": {axis: values},
        }
        for span, values in _by_span(spans).items()
    ]


def _by_span(spans: Mapping[str, str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for value, span in spans.items():
        values.setdefault(span, []).append(value)
    return values


def shortened(phases: Phases, *, share: float) -> dict[str, Any]:
    """The ends of the measured phase at a share of it, as an experiment's `phases.measure`."""
    counts = {"operations": phases.measure_operations, "bytes": phases.measure_bytes}
    found: dict[str, Any] = {name: max(1, round(share * n)) for name, n in counts.items() if n}
    if phases.measure_seconds:
        found["seconds"] = share * phases.measure_seconds
    if phases.measure_volume:
        found["volume"] = max(VOLUME_MIN, share * phases.measure_volume)
    return found


def in_force(engine: Engine, preset: str, options: Options, *, scale: float) -> Mapping[str, object]:
    """The values that the driver gets at a profile's scale: equal ones make candidates equal."""
    found: dict[str, object] = {}
    for option in engine.description.options:
        text = {**engine.presets[preset].options, **options}.get(option.name)
        value = parse_value(option, option.default if text is None else text)
        found[option.name] = value if text is None else scale_value(option, value, scale=scale)
    return found


def tried(
    number: int,
    options: Options,
    records: Sequence[Record],
    *,
    objectives: Sequence[Objective],
    axis: str = WORKLOAD,
) -> Try:
    """What the records of a candidate and the default beside it show at the values of the axis."""
    seconds = seconds_of(records)
    failed = [r for r in records if r.status != "ok" and r.point.label == CANDIDATE]
    if failed:
        first = failed[0]
        why = first.failure.reason.splitlines()[0] if first.failure else ""
        failure = f"{first.point.axes.get(axis)}: {first.status.replace('_', ' ')}: {why}"
        return Try(number, options, None, failure, seconds)
    gains = [_gains(records, objective, axis=axis) for objective in objectives]
    lacking = [o.metric for o, gain in zip(objectives, gains, strict=True) if not gain]
    if lacking:
        return Try(number, options, None, f"no value of {', '.join(lacking)}", seconds)
    whole = sorted(set.intersection(*(set(gain) for gain in gains)))
    each = tuple(tuple(gain[repetition] for gain in gains) for repetition in whole)
    means = tuple(math.fsum(column) / len(column) for column in zip(*each, strict=True))
    return Try(number, options, means, "", seconds, each=each)


def _gains(records: Sequence[Record], objective: Objective, *, axis: str) -> Mapping[int, float]:
    """For each repetition the mean logarithm over workloads, each candidate's value over the default's."""
    values: dict[tuple[int, object], dict[str, float]] = {}
    for record in records:
        value = _metric(record, objective.metric)
        if value is not None and value > 0:
            place = (record.repetition, record.point.axes.get(axis))
            values.setdefault(place, {})[record.point.label] = value
    logs: dict[int, list[float]] = {}
    for (repetition, _), pair in values.items():
        if len(pair) == len((CANDIDATE, DEFAULT)):
            ratio = pair[CANDIDATE] / pair[DEFAULT]
            logs.setdefault(repetition, []).append(better_ratio(ratio, higher=objective.higher))
    return {repetition: sum(found) / len(found) for repetition, found in logs.items()}


def _metric(record: Record, metric: str) -> float | None:
    phases = record.outcome.phases if record.outcome else ()
    having = [phase for phase in phases if metric in phase.metrics]
    best = min(having, key=lambda phase: phase_rank(phase.name), default=None)
    return best.metrics[metric].value if best else None


def phase_rank(phase: str) -> int:
    """The place of a phase among those where a metric is looked for; phases of other drivers come last."""
    return _PHASES.index(phase) if phase in _PHASES else len(_PHASES)


def seconds_of(records: Sequence[Record]) -> float:
    """How long the sweeps that left these records took for them: from their beginning, which a sweep's id
    holds, to the last record's end, so that loads count. Known from records alone, so a search that was
    killed has spent what it spent.
    """
    ends: dict[str, str] = {}
    for record in records:
        ends[record.sweep_id] = max(record.ended_at, ends.get(record.sweep_id, ""))
    begun = {each: dt.datetime.strptime(each.split("-")[0], "%Y%m%dT%H%M%S") for each in ends}
    return sum(
        max(0.0, (_moment(end) - begun[each].replace(tzinfo=dt.UTC)).total_seconds())
        for each, end in ends.items()
    )


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def chosen(trail: Sequence[Try]) -> Mapping[str, Try]:
    """The tries that the confirmation measures again, by label: of one objective those that promise most, of
    several the first of the front of what tries promise.
    """
    believed = [each for each in trail if each.believed]
    if any(len(each.believed or ()) > 1 for each in believed):
        front = {one.number for one in front_of([replace(each, gains=each.believed) for each in believed])}
        believed = [each for each in believed if each.number in front]
    best = sorted(believed, key=lambda each: each.believed or (), reverse=True)
    return {f"try-{each.number}": each for each in best[:CHOSEN]}
