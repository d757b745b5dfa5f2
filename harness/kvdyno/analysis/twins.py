"""Twins compared as a report compares contenders: two labels of one engine, between which nothing differs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kvdyno.model.noise import HostNoise, TwinNoise
from kvdyno.model.record import Record
from kvdyno.model.results import Caution, NoiseFloor

from .frame import BLOCK, axis_names, latest, mark_headline, point_columns, tidy
from .ratios import Pairing, Side, compared_rows, ratios_to
from .verdicts import LEVEL, POWER, quantile

#: What twins are compared by: metric and the phases to look for it in.
COMPARED = {
    "throughput": ("run", "build"),
    "cpu.per_operation": ("run", "build"),
    "write_amplification.gross": ("run", "build"),
    "space_amplification": ("run", "build"),
    "read.latency.p99": ("measure",),
    "update.latency.p99": ("measure",),
}
_SAME = ("undecided", "same", "equal")


@dataclass(frozen=True)
class TwinTables:
    """What twins' comparisons found.

    `pairs`: a row per repetition, point and metric: engine, axes, phase, metric, unit, log. `comparisons`: a
    row per group of repetitions, point and metric: the same keys, low, high, differs.
    """

    axes: tuple[str, ...]
    pairs: pd.DataFrame
    comparisons: pd.DataFrame


def twin_tables(
    records: Sequence[Record],
    *,
    twins: Sequence[tuple[str, str]],
    groups: Sequence[Sequence[int]],
    margin: float,
) -> TwinTables:
    """Compare the labels of each pair in every group of repetitions.

    A group's points of one metric are a family, as in a report with one contender beside its baseline.
    """
    axes = axis_names(records)
    frame = _compared(tidy(latest(records)))
    frame = mark_headline(frame, metric="throughput", phases=("run", "build"), by=point_columns(axes))
    pairs, comparisons = [], []
    for before, after in twins:
        mine = frame[frame["label"].isin([before, after])]
        pairs.append(_pairs(mine, before=before, after=after, axes=axes))
        for group in groups:
            some = mine[mine["repetition"].isin(group)]
            found = ratios_to(some, axes=axes, baselines=[before], metric="throughput", margin=margin).points
            comparisons.append(found.assign(differs=~found["verdict"].isin(_SAME)))
    keys = ["engine", *axes, "phase", "metric", "unit"]
    table = pd.concat(comparisons, ignore_index=True)
    table = table[(table["kind"] == "ratio") & table["low"].notna()]
    return TwinTables(
        axes,
        pd.concat(pairs, ignore_index=True),
        table[[*keys, "low", "high", "differs"]].reset_index(drop=True),
    )


def side_by_side(
    rates: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, margin: float
) -> pd.DataFrame:
    """Two tools' rates, in op/s, in turn: a row per step, with what a comparison is (Analysis.ratios)."""
    rows = []
    for step, (ours, theirs) in rates.items():
        turns = list(range(len(ours)))
        after, before = (Side(np.array(side, dtype=float), turns, turns) for side in (ours, theirs))
        rows.append((step, "op/s", *Pairing(after, before, paired=True).compared))
    return compared_rows(rows, columns=["step", "unit"], families=["step"], margin=margin)


def smallest_effect(noise: TwinNoise, *, repetitions: int) -> float | None:
    """The smallest difference, as a share, that so many repetitions would find four times in five.

    exp((t(0.975, n-1) + t(0.8, n-1)) · sd / √n) - 1: the paired t test solved for its effect (Julious,
    "Sample sizes for clinical trials with normal data", Statistics in Medicine 23, 2004). None from one
    repetition.
    """
    if repetitions < 2:
        return None
    freedom = np.array([repetitions - 1.0])
    reach = float(quantile(1 - LEVEL / 2, freedom)[0] + quantile(POWER, freedom)[0])
    return math.expm1(reach * noise.sd_log / math.sqrt(repetitions))


def noise_floors(
    frame: pd.DataFrame, *, noise: Mapping[tuple[str, str], HostNoise | None], metric: str
) -> tuple[NoiseFloor, ...]:
    """Which differences of `metric` the runs of each host can show.

    `frame` is a tidy one; `noise` maps each host and runner to what the last self-test found, None without
    one.
    """
    measured = frame[(frame["metric"] == metric) & (frame["status"] == "ok")]
    repetitions = int(measured.groupby("label")["repetition"].nunique().max()) if len(measured) else 0
    workloads = measured["workload"].dropna().unique() if "workload" in measured else [None]
    floors = []
    for (host, runner), found in noise.items():
        effects = {
            str(workload): effect
            for workload in workloads
            if found
            and (effect := worst_effect(found, metric=metric, workload=workload, repetitions=repetitions))
        }
        floors.append(NoiseFloor(host, runner, found.measured_at if found else "", repetitions, effects))
    return tuple(floors)


def noise_notes(floors: Sequence[NoiseFloor], *, metric: str) -> list[Caution]:
    """What a reader must know of the hosts' noise: which differences of `metric` the runs cannot show."""
    notes = []
    unknown = [floor for floor in floors if not floor.measured_at]
    for command in dict.fromkeys(floor.command for floor in unknown):
        hosts = ", ".join(floor.place for floor in unknown if floor.command == command)
        message = f"the noise of host {hosts} is not known: small differences may be its own"
        notes.append(Caution("noise", message, f"{command}, on a quiet machine"))
    for floor in floors:
        if floor.effects:
            listed = ", ".join(f"{effect:.1%} at {workload}" for workload, effect in floor.effects.items())
            message = (
                f"differences of {metric} below {listed} cannot be seen on host {floor.place} with "
                f"{floor.repetitions} repetitions (self-test of {floor.measured_at[:10]})"
            )
            notes.append(Caution("noise", message, "more repetitions see smaller differences"))
    return notes


def worst_effect(host: HostNoise, *, metric: str, workload: object, repetitions: int) -> float | None:
    """The largest of the smallest effects over the engines of a self-test, for a workload that it measured.

    For other workloads, over all that it measured. None if it lacks the metric.
    """
    entries = host.of(metric)
    same = [entry for entry in entries if entry.axes.get("workload") == workload]
    effects = [smallest_effect(entry, repetitions=repetitions) for entry in same or entries]
    return max((effect for effect in effects if effect is not None), default=None)


def _compared(frame: pd.DataFrame) -> pd.DataFrame:
    """For each metric, the first phase in which it was measured at a point."""
    kept = [
        frame[(frame["metric"] == metric) & (frame["phase"] == phase)]
        for metric, phases in COMPARED.items()
        for phase in phases
    ]
    return pd.concat(kept, ignore_index=True)


def _pairs(frame: pd.DataFrame, *, before: str, after: str, axes: Sequence[str]) -> pd.DataFrame:
    """The logarithm of each repetition's ratio; a metric that is 0 has none."""
    keys = ["engine", *axes, "phase", "metric", "unit", *BLOCK]
    positive = frame[frame["value"] > 0]
    sides = [positive[positive["label"] == label].set_index(keys)["value"] for label in (before, after)]
    logs = (np.log(sides[1]) - np.log(sides[0])).dropna()
    found: pd.DataFrame = logs.rename("log").reset_index()
    return found.drop(columns=list(BLOCK))
