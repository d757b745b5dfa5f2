"""Tables with a row per point: medians of some metrics, latencies, durations, memory against the cap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvdyno.model.results import Analysis
from plots.units import quantity

from .spots import Spot, Spots
from .words import metric_title

#: Spans cover other phases (docs/formats.md).
SPANS = ("run", "build")
_LEVELS = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)
_STALLS = (
    *("stall.per_write", "engine.delays", "engine.delay_micros", "engine.stops", "engine.stop_micros"),
    "engine.longest_stall_micros",
)


@dataclass(frozen=True)
class Cell:
    """A value as text, and as the number that a table sorts by."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """A point's cells; `words` are further names of the row: phase, operation."""

    spot: Spot
    words: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Listing:
    """A table. Headers of `words`, then of cells; engine and point come before them."""

    words: tuple[str, ...]
    headers: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Segment:
    """A part of a bar: its name, text, and length in percent of the longest bar."""

    name: str
    text: str
    share: float


@dataclass(frozen=True)
class Bar:
    """A point's bar of several parts; `text` is it in words."""

    spot: Spot
    segments: tuple[Segment, ...]
    text: str
    value: float


class Medians:
    """The medians of an analysis, by point, phase and metric."""

    def __init__(self, analysis: Analysis, spots: Spots) -> None:
        table = analysis.estimates
        axes = ["label", *analysis.axis_names]
        first = table.drop_duplicates(axes)
        numbers = table.groupby(axes, dropna=False, sort=False).ngroup()
        anchors = [spots.of(row).anchor for row in first.to_dict("records")]
        cells = zip(numbers, table["phase"], table["metric"], table["median"], table["unit"], strict=True)
        self._found = {
            (anchors[at], str(phase), str(metric)): (float(value), str(unit))
            for at, phase, metric, value, unit in cells
        }
        judged = table.loc[table["headline"], "phase"]
        self._headline = {
            anchors[at]: str(phase) for at, phase in zip(numbers[table["headline"]], judged, strict=True)
        }
        self.phases = tuple(dict.fromkeys(table["phase"]))
        self.metrics = tuple(dict.fromkeys(table["metric"]))

    def get(self, spot: Spot, metric: str, phase: str | None = None) -> tuple[float, str] | None:
        """Median and unit in a phase, or in the one that the point is judged by."""
        return self._found.get((spot.anchor, phase or self.headline_phase(spot), metric))

    def headline_phase(self, spot: Spot) -> str:
        """The phase that a point is judged by; "" if it has none."""
        return self._headline.get(spot.anchor, "")

    def measured_phase(self, spot: Spot) -> str:
        """The phase of the operations alone where there is one."""
        own = (spot.anchor, "measure", "seconds") in self._found
        return "measure" if own else self.headline_phase(spot)


def of_metrics(medians: Medians, spots: Spots, metrics: Iterable[str]) -> Listing | None:
    """Medians in the phases that points are judged by; None if no point has any of the metrics."""
    return of_columns(medians, spots, [(metric_title(m), m, None) for m in metrics])


def of_columns(
    medians: Medians, spots: Spots, columns: Sequence[tuple[str, str, str | None]]
) -> Listing | None:
    """Medians of (header, metric, phase). Columns and points without any value are left out."""
    found = {
        (spot.anchor, header): value
        for spot in spots.all
        for header, metric, phase in columns
        if (value := medians.get(spot, metric, phase)) is not None
    }
    headers = tuple(h for h, _, _ in columns if any(header == h for _, header in found))
    rows = [
        Row(spot, (), tuple(_cell(found.get((spot.anchor, header))) for header in headers))
        for spot in spots.all
        if any((spot.anchor, header) in found for header in headers)
    ]
    return Listing((), headers, tuple(rows)) if rows else None


def latencies(analysis: Analysis, spots: Spots) -> Listing | None:
    """Percentiles of the merged histograms by operation, of measured phases; None without histograms."""
    table = analysis.percentiles
    if (table["phase"] == "measure").any():
        table = table[table["phase"] == "measure"]
    rows = []
    axes = ["label", *analysis.axis_names]
    for _, group in table.groupby([*axes, "phase", "operation"], sort=False, dropna=False):
        values = dict(zip(group["percentile"], group["value"], strict=True))
        first = group.iloc[0]
        cells = [_cell((values[level], "ns") if level in values else None) for level in _LEVELS]
        count = Cell(quantity(float(first["count"]), ""), float(first["count"]))
        rows.append(Row(spots.of(first), (str(first["operation"]),), (*cells, count)))
    names = ("p50", "p90", "p99", "p99.9", "p99.99", "max", "operations")
    return Listing(("operation",), names, tuple(rows)) if rows else None


def stalls(medians: Medians, spots: Spots) -> Listing | None:
    """Stalls of the points that had any; None where no engine stalled or counts stalls."""
    seen = [m for m in _STALLS if any((medians.get(s, m) or (0.0, ""))[0] for s in spots.all)]
    found = of_metrics(medians, spots, seen)
    if found is None:
        return None
    rows = tuple(row for row in found.rows if any(cell.value for cell in row.cells))
    return Listing((), found.headers, rows)


def phases_beside(medians: Medians, spots: Spots) -> Listing | None:
    """The measured phase beside the whole run: its rate, the rate with the drain, the drain and the debts."""
    return of_columns(
        medians,
        spots,
        [
            ("rate, measured", "throughput", "measure"),
            ("rate, drain included", "throughput", "run"),
            ("rate, load", "throughput", "load"),
            ("rate, settling included", "throughput", "build"),
            ("work left when measuring ended", "debt", "measure"),
            ("drain took", "seconds", "drain"),
            ("work left after the drain", "debt", "drain"),
        ],
    )


def durations(medians: Medians, spots: Spots) -> tuple[Bar, ...]:
    """What the phases of each point's run took, in median, side by side."""
    phases = [phase for phase in medians.phases if phase not in SPANS]
    found: list[tuple[Spot, list[tuple[str, float]]]] = []
    for spot in spots.all:
        taken = [(phase, medians.get(spot, "seconds", phase)) for phase in phases]
        found.append((spot, [(phase, value[0]) for phase, value in taken if value]))
    longest = max((sum(seconds for _, seconds in parts) for _, parts in found), default=0.0)
    return tuple(_bar(spot, parts, longest, "s") for spot, parts in found if parts) if longest else ()


def memory(analysis: Analysis, medians: Medians, spots: Spots) -> tuple[Bar, ...]:
    """The parts of each point's memory against the cap, or against the largest where caps differ."""
    parts = {"engine": "cgroup.memory.anonymous", "page cache": "cgroup.memory.page_cache"}
    found: list[tuple[Spot, list[tuple[str, float]]]] = []
    for spot in spots.all:
        phase = medians.measured_phase(spot)
        values = {name: medians.get(spot, metric, phase) for name, metric in parts.items()}
        found.append((spot, [(name, value[0]) for name, value in values.items() if value]))
    caps = {c.cap_bytes for c in analysis.confinements if c.capped}
    whole = max((sum(size for _, size in sizes) for _, sizes in found), default=0.0)
    whole = max(whole, *caps) if len(caps) == 1 else whole
    return tuple(_bar(spot, sizes, whole, "byte") for spot, sizes in found if sizes) if whole else ()


def _bar(spot: Spot, parts: Sequence[tuple[str, float]], whole: float, unit: str) -> Bar:
    segments = [Segment(name, quantity(value, unit), 100 * value / whole) for name, value in parts]
    total = sum(value for _, value in parts)
    text = ", ".join(f"{segment.name} {segment.text}" for segment in segments)
    return Bar(spot, tuple(segments), text, total)


def segment_names(bars: Iterable[Bar]) -> Mapping[str, int]:
    """The parts that bars have, numbered: their place chooses their shade."""
    names = dict.fromkeys(segment.name for bar in bars for segment in bar.segments)
    return {name: place for place, name in enumerate(names)}


def _cell(value: tuple[float, str] | None) -> Cell:
    if value is None:
        return Cell("–")
    number, unit = value
    return Cell(
        quantity(number, "" if unit == "count" and abs(number) < 1e3 else unit) if number else "0", number
    )
