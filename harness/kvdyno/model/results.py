"""What the analysis hands to the report: tables whose columns are fixed here, and small facts.

Tables are pandas DataFrames. A *contender* is an engine as an experiment calls it: its `label`. Every
table that speaks of points carries `label`, `engine`, `preset` and one column per axis of the grid
(`Analysis.axes`); what follows those columns is listed beside each field. Intervals are at 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import pandas as pd

from .engine import Durability
from .experiment import AxisValue, ClaimSpec, TableSpec
from .noise import selftest_command
from .record import RunStatus

SpecT = TypeVar("SpecT", TableSpec, ClaimSpec)
ClaimVerdict = Literal["supported", "contradicted", "undecided", "not measured"]
CautionKind = Literal[
    "uncapped",
    "mixed",
    "build",
    "library",
    "unpaired",
    "ambiguous",
    "spread",
    "unsteady",
    "busy",
    "readahead",
    "device",
    "gauge",
    "drift",
    "noise",
    "disturbed",
    "amplification",
    "repetitions",
    "extended",
    "loads",
    "hosts",
    "excluded",
    "durability",
    "arrivals",
    "missing",
    "run",
    "histogram",
    "series",
    "events",
]

#: Cautions of these kinds put the comparison itself in doubt; the others qualify single points.
GRAVE: frozenset[CautionKind] = frozenset({"uncapped", "mixed", "build", "library", "unpaired", "extended"})


@dataclass(frozen=True)
class Axis:
    """A column that distinguishes points. `unit` is "byte", "s" or "".

    `values` are at the profile's scale, as tables have them. `scaled` leads from a value of the experiment,
    at paper scale, to what engines made of it (their limits may differ).
    """

    name: str
    unit: str
    values: tuple[AxisValue, ...]
    scaled: Mapping[AxisValue, frozenset[AxisValue]]


@dataclass(frozen=True)
class HostOutlier:
    """A host whose gauge is worse than those of the others: its median, and the median of `hosts` hosts'.

    `what` and `unit` say in words what the gauge measures: "4 KiB reads took", "us".
    """

    host_id: str
    gauge: str
    what: str
    unit: str
    value: float
    normal: float
    hosts: int

    def __str__(self) -> str:
        """A sentence without an end: "on host 1a2b 4 KiB reads took 300 us, …"."""
        return (
            f"on host {self.host_id} {self.what} {self.value:.3g} {self.unit} before its runs, "
            f"normal is {self.normal:.3g} {self.unit} (median of {self.hosts} hosts)"
        )


@dataclass(frozen=True)
class Caution:
    """Something a reader must know before trusting a number, with what to do about it.

    `points` are the names of all points that it concerns (`Analysis.runs`), none where it concerns every one.
    """

    kind: CautionKind
    message: str
    remedy: str = ""
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoiseFloor:
    """What a host's last self-test by a runner lets a report see: by workload the smallest difference of the
    headline metric, as a share, that so many repetitions would find four times in five.

    `measured_at` is "" where the host has no such self-test.
    """

    host_id: str
    runner: str
    measured_at: str
    repetitions: int
    effects: Mapping[str, float]

    @property
    def place(self) -> str:
        """Host and runner, in words."""
        return self.host_id if self.runner == "local" else f"{self.host_id} (runner {self.runner})"

    @property
    def command(self) -> str:
        """What measures it."""
        return selftest_command(self.runner)


@dataclass(frozen=True)
class FailedRun:
    """A run that is a result of its own: it ended in something other than a measurement."""

    run_id: str
    point: str
    label: str
    axes: Mapping[str, AxisValue]
    repetition: int
    status: RunStatus
    reason: str
    log_tail: str


@dataclass(frozen=True)
class ClaimPoint:
    """A claim at one combination of axes: the value (or ratio), its interval and the verdict there.

    `doubt` is a reason why this point can neither support the claim nor contradict it, `remedy` what to do
    about that; "" if there is none. `p_inside` and `p_outside` test that the value is not inside, not outside
    of the bounds (None: not known). `needed` are the repetitions of a new sweep that would probably show the
    one or the other, among the claims of the report (0: more than the limit; None: not known).
    """

    axes: Mapping[str, AxisValue]
    value: float
    low: float | None
    high: float | None
    n: int
    verdict: ClaimVerdict
    doubt: str = ""
    remedy: str = ""
    p_inside: float | None = None
    p_outside: float | None = None
    needed: int | None = None


@dataclass(frozen=True)
class ClaimResult:
    """A claim's verdict over all points that it covers; `why` explains it in a sentence, `settle` states what
    would decide it ("" where it is decided). `expected` is what is bounded, with `bounds`. `published` is as
    in ClaimSpec.
    """

    id: str
    text: str
    source: str
    expected: str
    unit: str
    verdict: ClaimVerdict
    why: str
    points: tuple[ClaimPoint, ...]
    bounds: str = ""
    settle: str = ""
    published: str | None = None


@dataclass(frozen=True)
class Machine:
    """A host that runs came from: anonymous identity, facts of its first run, and how many runs."""

    host_id: str
    facts: Mapping[str, Any]
    runs: int


@dataclass(frozen=True)
class Confinement:
    """A way in which runs were confined, and how many of them. `runner` is "" where only the cap is known."""

    runner: str
    capped: bool
    cap_bytes: int
    cpus: str
    details: Mapping[str, Any]
    runs: int


@dataclass(frozen=True)
class Device:
    """A disk as runs saw it: its rates in words ("": the disk as it is), and which I/O they held."""

    name: str
    rates: str
    binds: str
    runs: int


@dataclass(frozen=True)
class Contender:
    """An engine as it ran: identity, build, its library, and the caveats that its adapter declares."""

    label: str
    engine: str
    preset: str
    version: str
    summary: str
    caveats: tuple[str, ...]
    build: str
    binary_sha256: str
    options: Mapping[str, str]
    durability: Durability | None
    library: str = ""


@dataclass(frozen=True)
class Analysis:
    """Everything that a report shows, computed. Made again from records at any time."""

    experiment: str
    profile: str
    axes: tuple[Axis, ...]
    contenders: tuple[Contender, ...]
    baseline: str
    #: What a point is judged by where nothing else is asked for.
    headline_metric: str
    #: The phases in which points are judged, one per point (columns `headline`): `run` where there is one.
    headline_phases: tuple[str, ...]
    #: Ratios up to 1 + this and down to its inverse are the same for all purposes.
    same_within: float

    #: One row per run, phase and metric: run_id, sweep_id, host, stretch (at how many
    #: places before it its host stepped in the sweep), repetition, load, status, phase, metric, value, unit.
    #: A run without measurements keeps one row, whose phase, metric and value are missing.
    frame: pd.DataFrame
    #: One row per point of the plan, measured or not.
    planned: pd.DataFrame
    #: One row per point, phase and metric: unit, n, median, low, high, smallest, largest, spread
    #: (largest / smallest), width (half the interval over the median), too_wide, method, mean (of logarithms
    #: where all values are positive), its standard error and the error's degrees of freedom, headline
    #: (whether the phase is the one that the point is judged by).
    estimates: pd.DataFrame
    #: One row per point, baseline, phase and metric: unit, paired (whether runs of one sweep could be
    #: compared within a repetition), headline, and what a comparison is:
    #: kind ("ratio", or "difference" where a value is 0 or negative), n, mean (of logarithms, or of
    #: differences), error, freedom, method (of the interval), ratio, difference (one of both is missing; a
    #: difference has the metric's unit), low, high (of either, 95 %, not adjusted), p, p_adjusted (Holm, over
    #: the points of the metric and phase, or of the headline), verdict (faster, slower, higher, lower, same,
    #: equal, undecided), within (whether the 90 % interval lies within the margin), needed (repetitions that
    #: would settle it; missing if decided, 0 for "more than the limit").
    ratios: pd.DataFrame
    #: Geometric mean of the ratios over all points of a contender that have one, each in its headline phase:
    #: label, baseline, metric, unit, points, and what a comparison is.
    overall: pd.DataFrame
    #: Every contender over every other, for exploring: rows as in `ratios`, of the metrics that readers ask
    #: for (pairs.py), one phase each. Nothing is adjusted for their number, so there is no verdict: no p,
    #: p_adjusted, verdict, within, needed, headline.
    pairs: pd.DataFrame
    #: The geometric means of `pairs` over the points of a contender, as `overall`, equally without verdict.
    pairs_overall: pd.DataFrame
    #: One row per run, however it ended, in the order of the plan: point (its name in cautions and failures),
    #: run_id, sweep_id, repetition, load, order (its place in the sweep), started_at, ended_at, status,
    #: folder (of its record; "" if it is not known).
    runs: pd.DataFrame
    #: One row per run with a series and judged phase: run_id, repetition, phase, state, finding (in words, ""
    #: if steady), size (of what was found, as a share of the mean), intervals.
    steadiness: pd.DataFrame
    #: Merged over repetitions, one row per point, phase, operation and percentile: value (ns), count, n.
    percentiles: pd.DataFrame
    #: Long form, one row per run, interval and column: run_id, repetition, phase, elapsed (s), column,
    #: value, unit.
    series: pd.DataFrame
    #: One row per figure with `against`, place and mix: label, engine and preset of the cheapest contender,
    #: figure (its id), mix (operations of the first kind for one of the second), rival (the next contender),
    #: value (what the rival's mix costs over the cheapest one's), low, high (of that), n, decided (whether
    #: all others are shown to cost more), unit, status.
    choices: pd.DataFrame
    #: One row per run and event: run_id, repetition, phase (in which it began), begin (s, as elapsed in the
    #: series), duration (s), ended, kind, state, cause, detail.
    events: pd.DataFrame
    #: Published numbers at points of the plan, one row per point, key and what is shown with it: key, cited
    #: (the document), source (the place in it), phase, baseline ("" for values), unit, published, over (the
    #: measured ratio over the published one), low, high (of that), n.
    published: pd.DataFrame

    claims: tuple[ClaimResult, ...]
    failures: tuple[FailedRun, ...]
    cautions: tuple[Caution, ...]
    noise: tuple[NoiseFloor, ...]
    #: What the driver was asked for at each value of the axis `workload`: the properties that all its runs
    #: share.
    workloads: Mapping[AxisValue, Mapping[str, str]]
    machines: tuple[Machine, ...]
    confinements: tuple[Confinement, ...]
    #: None where every run had the disk as it is.
    devices: tuple[Device, ...]
    runs_planned: int
    runs_recorded: int
    runs_ok: int
    started_at: str
    ended_at: str

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The grid's axes, without engine and preset."""
        return tuple(axis.name for axis in self.axes)

    @property
    def varying(self) -> tuple[Axis, ...]:
        """The axes that have more than one value: what a point's name needs."""
        return tuple(axis for axis in self.axes if len(axis.values) > 1)

    @property
    def fixed(self) -> tuple[Axis, ...]:
        """The axes that have one value everywhere."""
        return tuple(axis for axis in self.axes if len(axis.values) == 1)

    @property
    def excluded(self) -> tuple[str, ...]:
        """A sentence for each excluded host whose runs of the plan do not count."""
        return tuple(caution.message for caution in self.cautions if caution.kind == "excluded")

    @property
    def units(self) -> Mapping[str, str]:
        """Axis name to unit."""
        return {axis.name: axis.unit for axis in self.axes}

    def select(
        self,
        table: pd.DataFrame,
        *,
        where: Mapping[str, Sequence[AxisValue]],
        metric: str | None = None,
        phase: str | None = None,
    ) -> pd.DataFrame:
        """The rows of one of the tables that a specification means (`select_rows`)."""
        rows = select_rows(table, where=where, axes=self.axes)
        rows = rows if metric is None else rows[rows["metric"] == metric]
        return rows if phase is None else rows[rows["phase"] == phase]


@dataclass(frozen=True)
class Comparison:
    """Two sets of records, point by point: `after` over `before`.

    `rows`: label (or both labels), axes, phase, metric, unit, paired, n_before, n_after, before, after
    (medians), and what a comparison is (Analysis.ratios).
    """

    rows: pd.DataFrame
    axes: tuple[str, ...]
    matched: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    cautions: tuple[Caution, ...]


@dataclass(frozen=True)
class Earlier:
    """Other records of an analysis' points: a sweep, or a results folder, `name` as the reader named it.

    In `comparison` they are `before`, and the records of the analysis `after`. `started_at` and `ended_at`
    are theirs.
    """

    name: str
    comparison: Comparison
    started_at: str
    ended_at: str


@dataclass(frozen=True)
class SummaryRow:
    """One point in one line, texts ready to print: `value` with unit, `interval`, `ratio` to the baseline."""

    label: str
    axes: Mapping[str, str]
    value: str
    interval: str
    n: int
    ratio: str
    verdict: str


@dataclass(frozen=True)
class Summary:
    """What a command line prints when a sweep ends.

    `columns` are "engine" (a row's label) and the axes; `overall` is a sentence for each contender's mean
    over all points, `verdicts` one for each claim.
    """

    title: str
    metric: str
    columns: tuple[str, ...]
    rows: tuple[SummaryRow, ...]
    overall: tuple[str, ...]
    verdicts: tuple[str, ...]
    cautions: tuple[Caution, ...]
    failures: tuple[FailedRun, ...]


@dataclass(frozen=True)
class ClaimLine:
    """A claim at one point in texts ready to print; a claim without points has one line. `verdict` is the
    claim's, and stands with its first point.
    """

    claim: str
    point: str
    bounds: str
    measured: str
    n: str
    verdict: ClaimVerdict | Literal[""]


@dataclass(frozen=True)
class ReportPaths:
    """Where a report's files are, and a sentence for each figure and table that no record has values for."""

    html: Path
    figures: tuple[Path, ...] = field(default_factory=tuple)
    tables: tuple[Path, ...] = field(default_factory=tuple)
    left_out: tuple[str, ...] = ()


def resolve_label(name: str, table: pd.DataFrame) -> str:
    """The contender that `name` means in a table: a label, else an engine's name (its first contender).

    A name that occurs nowhere is returned as it is: it selects nothing.
    """
    if (table["label"] == name).any():
        return name
    same = table.loc[table["engine"] == name, "label"]
    return str(same.iloc[0]) if len(same) else name


def select_rows(
    table: pd.DataFrame, *, where: Mapping[str, Sequence[AxisValue]], axes: Sequence[Axis]
) -> pd.DataFrame:
    """The rows whose axes have one of the values given for them, at paper scale (`Axis.scaled`).

    "engine" matches labels and engines' names. A value that the experiment does not have matches nothing.
    """
    scaled = {axis.name: axis.scaled for axis in axes}
    keep = pd.Series(True, index=table.index)
    for axis, values in where.items():
        if axis == "engine":
            keep &= table["label"].isin(list(values)) | table["engine"].isin(list(values))
        elif axis in scaled:
            keep &= table[axis].isin([at for value in values for at in scaled[axis].get(value, ())])
        else:
            keep &= table[axis].isin(list(values)) if axis in table else False
    return table[keep]


def as_measured(spec: SpecT, axes: Sequence[Axis]) -> SpecT:
    """The specification with its values of axes as the metrics have them, not at paper scale."""
    scaled = {axis.name: axis.scaled for axis in axes}
    filters = {"where": spec.where} | ({"along": spec.along} if isinstance(spec, ClaimSpec) else {})
    update = {
        key: {
            axis: tuple(
                at
                for value in values
                # A step keeps a value that the profile lacks: it selects nothing, and is still a step.
                for at in sorted(scaled[axis].get(value, () if key == "where" else (value,)), key=str)
            )
            if axis in scaled
            else values
            for axis, values in chosen.items()
        }
        for key, chosen in filters.items()
    }
    return spec.model_copy(update=update)
