"""What metrics mean, in words. A metric that is not listed is shown by its name and unit alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvdyno.model.experiment import DerivedMetric
from plots.units import word_text

_MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"throughput",
        "Completed operations over the seconds of the phase, or of all phases a span covers",
    ),
    (
        r"throughput\.time_to_90",
        "Time from the phase's beginning until the rate first reached 90 % of its final rate",
    ),
    (r"operations", "Completed operations, successful or not found"),
    (r"seconds", "Duration of the phase, or of all phases that a span covers"),
    (r"(?P<a>\w+)\.operations", "Completed operations of kind {a}"),
    (r"(?P<a>\w+)\.not_found", "Operations of kind {a} whose key does not exist"),
    (r"(?P<a>\w+)\.failed", "Operations of kind {a} that failed"),
    (r"(scan|reversescan)\.rows", "Rows that scans returned"),
    (r"multiread\.rows", "Rows that multi-gets found"),
    (r"background\.operations", "Writes beside the mix, at their own rate"),
    (r"background\.bytes\.written", "Keys plus values that were written beside the mix"),
    (r"background\.write_rate", "Bytes written beside the mix over the seconds of the phase"),
    (
        r"background\.latency\.(?P<b>.+)",
        "Latency of writes beside the mix, {b}, from their intended starts",
    ),
    (
        r"(?P<a>\w+)\.latency\.(?P<b>.+)",
        "Latency of {a}, {b}: from the call (closed loop) or from the intended start (open loop)",
    ),
    (r"(?P<a>\w+)\.service\.(?P<b>.+)", "Latency of {a}, {b}, from the call, under an open-loop load"),
    (r"bytes\.(?P<a>written|read)", "Keys plus values that the application {a}"),
    (r"io\.rchar|io\.wchar", "Bytes through system calls (/proc/self/io)"),
    (r"io\.syscr|io\.syscw", "System calls that read or write (/proc/self/io)"),
    (r"io\.read_bytes|io\.write_bytes", "Bytes at the storage device (/proc/self/io)"),
    (
        r"io\.cancelled_write_bytes",
        "Bytes deleted before they were written back",
    ),
    (r"stall\.per_write", "What writers waited in stalls, by the engine's clock, over writes"),
    (r"cpu\.per_operation", "User and system time of all threads over operations"),
    (r"cpu\.(?P<a>user|system)", "CPU time of all threads, {a}"),
    (r"faults\.(?P<a>minor|major)", "Page faults, {a}: without or with reading from the disk"),
    (r"switches\.(?P<a>\w+)", "Context switches, {a}"),
    (r"memory\.rss", "Resident memory at the end of the phase"),
    (r"memory\.peak_rss", "Largest resident memory since the start"),
    (r"cgroup\.memory\.(?P<a>\w+)", "Memory of the run's cgroup: {a}"),
    (r"cgroup\.io\.(?P<a>\w+)", "Input and output of the run's cgroup: {a}"),
    (r"write_amplification\.gross", "Bytes written to the device over bytes that the application wrote"),
    (
        r"write_amplification\.net",
        "Bytes written to the device, less cancelled ones, over bytes that the application wrote",
    ),
    (r"write_amplification\.calls", "Bytes written by system calls over bytes that the application wrote"),
    (r"read_amplification\.disk", "Bytes read from the device over bytes that the application read"),
    (r"read_amplification\.bytes", "Bytes read by system calls over bytes that the application read"),
    (r"read_amplification\.calls", "Read system calls over reads and scans"),
    (
        r"space_amplification",
        "Disk space of the store's files over the keys and values that can still be read",
    ),
    (r"debt", "Bytes that the engine would still rewrite at leisure by its own rules, at the phase's end"),
    (r"debt\.begin", "Bytes that the engine would still rewrite by its own rules, at the phase's beginning"),
    (r"debt\.change", "Debt at the phase's end less debt at its beginning"),
    (r"open\.seconds", "Time to open the store"),
    (r"recovery\.first_answer_s", "Time from opening a killed store to its first correct answer"),
    (
        r"recovery\.full_speed_s",
        "Time from opening a killed store until the mix has 90 % of its rate before the kill",
    ),
    (r"recovery\.rate_before", "Rate in the last third of the measured phase before the kill"),
    (r"recovery\.log_bytes", "Length of the engine's log at the kill"),
    (
        r"recovery\.(?P<a>read|write)_bytes",
        "Bytes at the storage device from opening a killed store to its first answer: {a}",
    ),
    (r"recovery\.checked_rows", "Rows with acknowledged writes that were compared after the kill"),
    (r"recovery\.overwritten_rows", "Rows that the mix wrote after the kill before they could be compared"),
    (r"recovery\.lost_rows", "Compared rows that lack an acknowledged write"),
    (r"component\.(?P<a>\w+)\.timed", "Timed gets of the phase that {a} answered, one in 64"),
    (r"component\.(?P<a>\w+)\.(?P<b>p\d+)_us", "Latency of the phase's gets that {a} answered, {b}"),
    (r"arrivals\.missed", "Operations that an open loop intended and that never started"),
    (r"disk\.used", "Disk space of the store's files at the end of the phase"),
    (r"engine\.(?P<a>delay|stop)_micros", "Duration of stalls of kind {a}, whether or not a write came"),
    (
        r"engine\.(?P<a>delay|stop)_(?P<b>memtable|level0|pending|other)_micros",
        "Duration of stalls of kind {a} with the cause {b}",
    ),
    (r"engine\.(?P<a>delay|stop)s", "Stalls of kind {a} that began"),
    (
        r"engine\.(?P<a>delay|stop)s_(?P<b>memtable|level0|pending|other)",
        "Stalls of kind {a} that began, with the cause {b}",
    ),
    (r"engine\.longest_stall_micros", "Longest stall since the store was opened"),
    (r"engine\.(?P<a>.+)", "The engine's own counter {a}"),
)


_ABBREVIATIONS = {"cpu": "CPU", "io": "I/O"}

_STALL = re.compile(r"engine\.((?:delay|stop)s?)(?:_(memtable|level0|pending|other))?(?:_micros)?")


@dataclass(frozen=True)
class Definition:
    """A metric's name, unit and meaning ("" if the glossary lacks it)."""

    metric: str
    unit: str
    meaning: str


def define(
    metrics: Iterable[tuple[str, str]], *, own: Iterable[DerivedMetric] = ()
) -> tuple[Definition, ...]:
    """Definitions of (metric, unit) pairs, sorted by name; `own` are the experiment's."""
    derived = {metric.id: _derivation(metric) for metric in own}
    return tuple(
        Definition(name, unit, derived.get(name) or _meaning(name)) for name, unit in sorted(set(metrics))
    )


def _derivation(metric: DerivedMetric) -> str:
    """ "Gets that memory answered: (a + b) / (a + b + c)"."""
    sides = [" + ".join(side) for side in (metric.sum, metric.over) if side]
    sides += [metric.over_axis] if metric.over_axis else []
    sides += [f"log10({metric.over_log})"] if metric.over_log else []
    formula = " / ".join(f"({side})" if " + " in side and len(sides) > 1 else side for side in sides)
    return f"{metric.meaning}: {formula}" if metric.meaning else formula


def metric_title(metric: str) -> str:
    """A metric's name as a heading or an axis: "write_amplification.net" → "Write amplification net"; of
    stalls "engine.delay_level0_micros" → "Delay, level 0": the unit separates durations from counts.
    """
    words = _stall_text(metric) or _spelled(metric)
    first, blank, rest = words.partition(" ")
    return _ABBREVIATIONS.get(first, first[:1].upper() + first[1:]) + blank + rest


_METHODS = {
    "log t": "t on logarithms, of the geometric mean",
    "log t over loads": "t on logarithms of loads' means, of the geometric mean",
    "t": "t, of the mean",
    "t over loads": "t on loads' means, of the mean",
    "BCa": "bootstrap of the median",
    "percentile": "bootstrap of the median",
}
_RATIO_METHODS = {
    "log t": "t on logarithms",
    "log t over loads": "t on logarithms of loads' means",
    "t": "t on differences",
    "t over loads": "t on differences of loads' means",
    "Welch log t": "Welch's t on logarithms where no runs pair up",
    "Welch log t over loads": "Welch's t on logarithms of loads' means where no runs pair up",
    "Welch t": "Welch's t on differences where no runs pair up",
    "Welch t over loads": "Welch's t on differences of loads' means where no runs pair up",
}


def interval_words(methods: Iterable[object]) -> str:
    """What intervals are, by the `method` of estimates: "95 % intervals (t on logarithms, of the geometric
    mean)".
    """
    return _named_intervals(methods, _METHODS)


def ratio_interval_words(methods: Iterable[object]) -> str:
    """What intervals of ratios are, by the `method` of ratios: "95 % intervals (t on logarithms)"."""
    return _named_intervals(methods, _RATIO_METHODS)


def column_of(name: str) -> str:
    """Experiments say "engine" for what tables call by its label."""
    return "label" if name == "engine" else name


def _named_intervals(methods: Iterable[object], words: Mapping[str, str]) -> str:
    known = dict.fromkeys(words[method] for method in methods if isinstance(method, str) and method)
    return f"95 % intervals ({' or '.join(known)})" if known else "no interval"


def common_title(metrics: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """What metrics share, as a heading, and what is left of each: cgroup.memory.{usage, peak} →
    "Cgroup memory" and ("usage", "peak"); of stalls "Stalls" and ("delay, level 0", "stop, memtable").
    """
    stalls = tuple(map(_stall_text, metrics))
    if len(metrics) > 1 and all(stalls):
        return "Stalls", stalls
    words = [metric.split(".") for metric in metrics]
    shared = 0
    while all(len(w) > shared + 1 and w[: shared + 1] == words[0][: shared + 1] for w in words):
        shared += 1
    rest = tuple(_spelled(".".join(w[shared:])) for w in words)
    return metric_title(".".join(words[0][:shared])), rest


def _spelled(name: str) -> str:
    words = re.sub(r"_(micros|us|s)$", "", name)  # units stand elsewhere
    words = re.sub(r"\.(?=\D)", "_", words)  # the point in "p99.9" stays
    return word_text(words)


def _stall_text(metric: str) -> str:
    """ "engine.stops_memtable" → "stops, memtable"; "" if it is no metric of stalls."""
    match = _STALL.fullmatch(metric)
    return ", ".join(map(word_text, filter(None, match.groups()))) if match else ""


def _meaning(name: str) -> str:
    for pattern, text in _MEANINGS:
        match = re.fullmatch(pattern, name)
        if match:
            return text.format(**{key: word_text(value) for key, value in match.groupdict().items()})
    return ""
