"""What a reader must know before trusting the numbers: conditions that differ, and points that wobble.

Results of different runners, hosts, caps or builds are compared only with a caution about it; runners
that an experiment names itself need none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

import pandas as pd

from kvdyno.model.axes import DEVICE, FULL_SPEED
from kvdyno.model.experiment import DEFAULT_CACHE, AxisValue
from kvdyno.model.record import LASTING_FACTS, Record
from kvdyno.model.results import Caution
from kvdyno.model.units import distinct_sizes

from .estimate import TOO_WIDE
from .frame import axes_of, label_of
from .steady import FEWEST

_OPTIMISED = frozenset({"release", "relwithdebinfo", "minsizerel"})
_NAMED_AT_MOST = 4
_BUSY_CPUS = 0.1
_READ_AHEAD_KIB = 1024
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def conditions(records: Sequence[Record], *, runner_named: Collection[str] = ()) -> list[Caution]:
    """Cautions about how the runs were made: uncapped, of several kinds, or by unfit builds.

    `runner_named` are labels of engines whose runner their experiment names: it means to compare runners.
    """
    return [
        *_uncapped(records),
        *_mixed_runners([record for record in records if label_of(record) not in runner_named]),
        *_mixed_devices(records),
        *_differing("cache policies", _cache_policies(records)),
        *_mixed(records),
        *_builds(records),
        *_busy(records),
        *_read_ahead(records),
        *_imitated(records),
        *_overloaded(records),
        *_from_runs(records),
    ]


def several_identities(points: Sequence[str], *, side: str) -> list[Caution]:
    """A caution if one side of a comparison holds several builds, profiles or settings of a point."""
    if not points:
        return []
    message = (
        f"{side}: several builds, profiles or settings of {some(points)}; the newest of each is compared"
    )
    return [Caution("mixed", message, "name a sweep instead of an engine")]


def wobbling(estimates: pd.DataFrame, steadiness: pd.DataFrame, *, metric: str) -> list[Caution]:
    """Cautions about points whose headline metric is too spread, single, or not from a steady state.

    `estimates` needs a column `point` with a readable name; so does `steadiness`.
    """
    headline = estimates[(estimates["metric"] == metric) & estimates["headline"]]
    found = []
    wide = headline[headline["too_wide"]]
    if len(wide):
        worst = float(wide["width"].max())
        found.append(
            Caution(
                "spread",
                f"the interval of {metric} is wider than ± {TOO_WIDE:.0%} of the median "
                f"(up to ± {worst:.0%}) at {some(wide['point'])}",
                "quieten the machine or raise the number of repetitions",
                tuple(wide["point"]),
            )
        )
    single = headline[headline["n"] == 1]
    if len(single):
        found.append(
            Caution(
                "repetitions",
                f"one repetition, so no interval, at {some(single['point'])}",
                "run at least three repetitions",
                tuple(single["point"]),
            )
        )
    return found + _unsteady(steadiness)


def unpaired(apart: pd.DataFrame, *, ambiguous: Sequence[str]) -> list[Caution]:
    """Cautions about ratios that are not between runs of one repetition; `apart` needs a column `point`."""
    found = []
    if len(apart):
        found.append(
            Caution(
                "unpaired",
                f"engines were measured in different sweeps, at different times, so no runs pair up at "
                f"{some(apart['point'])}",
                "run the whole experiment again in one sweep (--force)",
                tuple(dict.fromkeys(apart["point"])),
            )
        )
    found += [
        Caution(
            "ambiguous",
            f"{label} has several points where another engine has one: ratios are to their geometric mean",
            "compare with an engine that has no option of its own among the axes",
        )
        for label in ambiguous
    ]
    return found


def _unsteady(steadiness: pd.DataFrame) -> list[Caution]:
    """Points of which at least half of the judged runs had not settled, or of which none was judged."""
    short = steadiness.groupby("point", sort=False).filter(lambda runs: (runs["state"] == "too short").all())
    found = []
    if len(short):
        most = int(short["intervals"].max())
        message = (
            f"steadiness was not judged: {most} interval{'s' if most != 1 else ''} or fewer "
            f"at {some(short['point'])}"
        )
        remedy = f"measure for {FEWEST} intervals of the series or more"
        found.append(Caution("unsteady", message, remedy, tuple(dict.fromkeys(short["point"]))))
    judged = steadiness[steadiness["state"] != "too short"]
    unsettled = judged.assign(bad=judged["state"] != "steady").groupby("point", sort=False)["bad"].mean()
    bad = unsettled[unsettled >= 0.5].index
    if len(bad):
        listed = some(f"{point} ({_first_finding(judged, point)})" for point in bad)
        message = f"the rate was not steady in half of the runs or more at {listed}"
        remedy = "lengthen warm-up and measurement; nothing was trimmed"
        found.append(Caution("unsteady", message, remedy, tuple(bad)))
    return found


def _first_finding(steadiness: pd.DataFrame, point: object) -> str:
    """What was found in the point's first run that was not steady."""
    runs = steadiness[(steadiness["point"] == point) & (steadiness["finding"] != "")]
    return str(runs["finding"].iloc[0])


def _uncapped(records: Sequence[Record]) -> list[Caution]:
    free = [r for r in records if not r.runner.capped]
    if not free:
        return []
    message = f"{len(free)} of {len(records)} runs had no memory cap: engines could use the whole machine"
    return [Caution("uncapped", message, "run without --uncapped; `kvdyno doctor` shows what caps need")]


def _busy(records: Sequence[Record]) -> list[Caution]:
    """A caution if other processes kept CPUs busy just before runs."""
    loads = [load for r in records if isinstance(load := _fact(r, "load.cpus_busy"), (int, float))]
    busy = [load for load in loads if load > _BUSY_CPUS]
    if not busy:
        return []
    message = (
        f"other processes kept more than {_BUSY_CPUS:g} CPU busy before {len(busy)} of {len(records)} runs "
        f"(up to {max(busy):.2g})"
    )
    return [Caution("busy", message, "stop them, or read the differences with care")]


def _read_ahead(records: Sequence[Record]) -> list[Caution]:
    """A caution if a device reads far ahead: then one page fault moves more than it asks for."""
    found = {_fact(r, "disk.read_ahead_kb"): _fact(r, "disk.device") for r in records}
    far = {kib: device for kib, device in found.items() if isinstance(kib, int) and kib > _READ_AHEAD_KIB}
    return [
        Caution(
            "readahead",
            f"device readahead of {kib} KiB: one page fault or buffered read may read that much; engines "
            "here ask for random access when opening tables",
            f"blockdev --setra 256 /dev/{device or '<device>'}",
        )
        for kib, device in far.items()
    ]


def _imitated(records: Sequence[Record]) -> list[Caution]:
    """A caution if a device's name promises more than its rates."""
    rates = {r.point.device.name: r.point.device.text for r in records if r.point.device}
    if not rates:
        return []
    listed = ", ".join(f"{name} ({text})" for name, text in rates.items())
    message = (
        f"the machine's own disk stands in for other devices, held to their rates: {listed}; what else such "
        "devices do, as seeks, is not imitated"
    )
    return [Caution("device", message)]


def _overloaded(records: Sequence[Record]) -> list[Caution]:
    """A caution if intended operations of an open loop never started."""
    missed = []
    for record in records:
        phases = record.outcome.phases if record.outcome else ()
        counts = [p.metrics["arrivals.missed"].value for p in phases if "arrivals.missed" in p.metrics]
        missed += [max(counts)] if any(counts) else []
    if not missed:
        return []
    message = (
        f"the engine was slower than the target rate in {len(missed)} of {len(records)} runs: up to "
        f"{max(missed):,.0f} operations never started, and latency percentiles are lower bounds"
    )
    return [Caution("arrivals", message, "lower the target rate until nothing is missed")]


def _fact(record: Record, name: str) -> object:
    """A fact of the record's environment by its dotted name; None where it is unknown."""
    value: object = record.environment.facts
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _mixed_runners(records: Sequence[Record]) -> list[Caution]:
    return _differing("runners", (record.runner.name for record in records))


def _mixed_devices(records: Sequence[Record]) -> list[Caution]:
    """Cautions about one device with several rates; the axis's own devices are meant to differ."""
    named: dict[AxisValue, list[Record]] = {}
    for record in records:
        named.setdefault(record.point.axes.get(DEVICE, FULL_SPEED), []).append(record)
    return [caution for same in named.values() for caution in _differing("limits of the disk", _rates(same))]


def _rates(records: Sequence[Record]) -> list[str]:
    return [record.point.device.text if record.point.device else "none" for record in records]


def _cache_policies(records: Sequence[Record]) -> list[str]:
    """The cache policies of runs that started from a snapshot: an empty store has nothing to cache."""
    return [r.runner.details.get("cache_policy", DEFAULT_CACHE) for r in records if r.point.dataset]


def _mixed(records: Sequence[Record]) -> list[Caution]:
    kinds: tuple[tuple[str, Callable[[Record], object]], ...] = (
        ("CPU sets", lambda r: r.runner.cpus),
        ("capped and uncapped runs", lambda r: r.runner.capped),
    )
    facts: list[tuple[str, Callable[[Record], object]]]
    facts = [(name, partial(_fact, name=name)) for name in LASTING_FACTS]
    found = _differing("memory caps", distinct_sizes(*sorted({r.point.cap_bytes for r in records})))
    found += _hosts(records)
    for what, key in kinds:
        found += _differing(what, map(key, records))
    by_host: dict[str, list[Record]] = {}
    for record in records:
        by_host.setdefault(record.environment.host_id, []).append(record)
    for what, key in facts:
        within = (caution for of_host in by_host.values() for caution in _differing(what, map(key, of_host)))
        found += dict.fromkeys(within)
    for label, builds in _builds_of(records).items():
        if len(builds) > 1:
            message = f"{label} ran from {len(builds)} different binaries"
            found.append(Caution("mixed", message, "run its points again with one build"))
    return found


def _hosts(records: Sequence[Record]) -> list[Caution]:
    """A grave caution if contenders of one repetition ran on several hosts; else a note that several took
    part: ratios are found within a host, levels are not.
    """
    hosts = sorted({record.environment.host_id for record in records})
    of_block: dict[object, set[str]] = {}
    for record in records:
        axes = sorted((name, str(value)) for name, value in axes_of(record).items())
        block = (record.sweep_id, record.repetition, *axes)
        of_block.setdefault(block, set()).add(record.environment.host_id)
    if any(len(each) > 1 for each in of_block.values()):
        return _differing("hosts", hosts)
    if len(hosts) <= 1:
        return []
    message = (
        f"{len(hosts)} hosts took part ({', '.join(hosts)}): ratios are within a host, but a point's own "
        "values mix what differs between hosts"
    )
    return [Caution("hosts", message, "read the ratios, or measure on one host")]


def _differing(what: str, values: Iterable[object]) -> list[Caution]:
    """A caution if there are several values."""
    distinct = sorted({str(value) for value in values})
    if len(distinct) <= 1:
        return []
    message = f"runs under different {what} are compared: {', '.join(distinct)}"
    return [Caution("mixed", message, "run all points again under one set of conditions")]


def _builds_of(records: Sequence[Record]) -> dict[str, set[str]]:
    builds: dict[str, set[str]] = {}
    for record in records:
        builds.setdefault(label_of(record), set()).add(record.point.binary_sha256)
    return builds


def _builds(records: Sequence[Record]) -> list[Caution]:
    unfit: dict[str, str] = {}
    for record in records:
        build = record.outcome.build if record.outcome else None
        if build and build.sanitizer:
            unfit[label_of(record)] = f"with the {build.sanitizer} sanitizer"
        elif build and build.type and build.type.lower() not in _OPTIMISED:
            unfit[label_of(record)] = f"as {build.type}"
        elif record.outcome and record.outcome.engine.slowed:
            unfit[label_of(record)] = "to be slower on purpose"
    return [
        Caution("build", f"{label} was built {how}: its speed means nothing", "build it plainly, as Release")
        for label, how in unfit.items()
    ]


def _from_runs(records: Sequence[Record]) -> list[Caution]:
    """What the runner warned of, each text once with the number of runs; texts that differ in numbers alone
    are one, with ranges.
    """
    alike: dict[tuple[str, ...], list[list[str]]] = {}
    for record in records:
        for text in dict.fromkeys(record.warnings):
            if not record.runner.capped and "--uncapped" in text:
                continue  # `_uncapped` reports it already
            alike.setdefault(tuple(_NUMBER.split(text)), []).append(_NUMBER.findall(text))
    return [
        Caution("run", f"{_with_ranges(words, numbers)} ({len(numbers)} of {len(records)} runs)")
        for words, numbers in alike.items()
    ]


def _with_ranges(words: Sequence[str], numbers: Sequence[Sequence[str]]) -> str:
    """The text that has these numbers between its words, from the least to the greatest where they differ."""
    text = words[0]
    for column, word in zip(zip(*numbers, strict=True), words[1:], strict=True):
        least, most = min(column, key=float), max(column, key=float)
        text += (least if float(least) == float(most) else f"{least} to {most}") + word
    return text


def some(names: Iterable[str]) -> str:
    """The first few of the names, and how many more there are."""
    unique = list(dict.fromkeys(names))
    more = len(unique) - _NAMED_AT_MOST
    return ", ".join(unique[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
