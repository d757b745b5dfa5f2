"""Lasting steps of a host during a sweep: where they are, how rarely noise makes one, and what pairs up."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fakes_records import SIZES, Fake, Sweep, fake_sweep, with_step

from kvdyno.analysis import analyse, analyse_metrics, compare
from kvdyno.analysis.choice import choices
from kvdyno.analysis.drift import LEVEL, step_places, steps, stretches
from kvdyno.analysis.frame import tidy
from kvdyno.analysis.interaction import contrast
from kvdyno.analysis.judges import OF_THE_HOST
from kvdyno.analysis.ratios import within_stretches
from kvdyno.analysis.twins import twin_tables
from kvdyno.model.experiment import Against, ClaimSpec, FigureSpec
from kvdyno.model.origin import Questions
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis

REPETITIONS = 12
Noise = Callable[[np.random.Generator, int], np.ndarray]

#: Logarithms of a gauge that does not change.
NOISES: dict[str, Noise] = {
    "normal, 2 %": lambda rng, n: rng.normal(0, 0.02, n),
    "normal, 50 %": lambda rng, n: rng.normal(0, 0.5, n),
    "Student's t with two degrees of freedom": lambda rng, n: 0.1 * rng.standard_t(2, n),
    "Cauchy": lambda rng, n: 0.2 * rng.standard_cauchy(n).clip(-100, 100),
    "two levels at random": lambda rng, n: np.where(rng.random(n) < 0.3, 1.0, 0.0) + rng.normal(0, 0.02, n),
}


def series(*levels: tuple[float, int], seed: int = 3, noise: float = 0.01) -> np.ndarray:
    """So many runs of each level in turn, with noise."""
    flat = np.concatenate([np.full(count, level) for level, count in levels])
    return np.asarray(flat * np.random.default_rng(seed).lognormal(0, noise, len(flat)))


@pytest.mark.parametrize(
    ("levels", "places"),
    [
        ([(5.0, 20), (5.75, 20)], [20]),
        ([(5.75, 20), (5.0, 20)], [20]),
        ([(5.0, 8), (5.75, 8)], [8]),
        ([(5.0, 35), (5.75, 5)], [35]),
        ([(5.75, 6), (5.0, 500)], [6]),
        ([(5.0, 30), (6.0, 25), (5.0, 35)], [30, 55]),
        ([(5.0, 30), (6.0, 25), (7.2, 35), (5.0, 20)], [30, 55, 90]),
        ([(5.0, 200), (6.0, 10), (5.0, 200)], [200, 210]),
    ],
)
def test_lasting_steps_are_found_at_their_place(levels: list[tuple[float, int]], places: list[int]) -> None:
    assert step_places(series(*levels), factor=1.1) == places


@pytest.mark.parametrize(
    "levels",
    [
        [(5.0, 40)],
        [(5.0, 20), (5.3, 20)],  # within the factor
        [(5.0, 36), (5.75, 4)],  # too few after it
        [(5.0, 5), (5.75, 5)],  # chance separates so few runs in one of 126 cases
        [(5.0, 20), (9.0, 1), (5.0, 20)],
        [(5.0, 20), (9.0, 3), (5.0, 20)],
        [(5.0, 500), (9.0, 4), (5.0, 500)],
        [(5.0, 9)],
        [],
    ],
)
def test_odd_runs_bursts_and_little_changes_are_no_steps(levels: list[tuple[float, int]]) -> None:
    values = series(*levels) if levels else np.array([])
    assert step_places(values, factor=1.1) == []


def test_odd_runs_do_not_hide_a_step() -> None:
    values = series((80.0, 30), (240.0, 30))
    values[[4, 17]], values[[33, 51]] = 900.0, 60.0
    assert step_places(values, factor=2) == [30]


def test_equal_values_step_too() -> None:
    assert step_places(np.repeat([5.0, 5.75], 20), factor=1.1) == [20]


def test_a_slow_drift_is_split_where_its_halves_differ() -> None:
    found = step_places(np.linspace(5.0, 6.5, 200), factor=1.1)
    assert len(found) in (1, 2)
    medians = [np.median(np.linspace(5.0, 6.5, 200)[a:b]) for a, b in pairwise([0, *found, 200])]
    assert min(np.diff(np.log(medians))) > np.log(1.1)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize(("count", "sweeps"), [(12, 300), (20, 300), (60, 200), (300, 50)])
def test_noise_alone_splits_hardly_a_sweep(noise: Noise, count: int, sweeps: int) -> None:
    """All gauges of a sweep together split at most one sweep in a hundred; each has the strictest factor."""
    rng = np.random.default_rng(11)
    split = sum(
        any(step_places(np.exp(noise(rng, count)), factor=1.1) for _ in OF_THE_HOST) for _ in range(sweeps)
    )
    assert split <= max(1, LEVEL * sweeps), "seed 11"


def test_steps_are_seldom_missed_or_misplaced() -> None:
    found = [
        step_places(series((5.0, 20), (5.75, 20), seed=seed, noise=0.02), factor=1.1) for seed in range(200)
    ]
    assert sum(len(places) == 1 and abs(places[0] - 20) <= 1 for places in found) >= 190, "seeds 0 to 199"


def test_ten_thousand_runs_take_seconds() -> None:
    """Where a gauge scatters by more than its factor, every interval is looked at."""
    values = np.exp(np.random.default_rng(5).normal(0, 0.5, 10_000))
    begun = time.process_time()
    assert step_places(values, factor=1.1) == []
    assert time.process_time() - begun < 20


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """Two engines at one point, one after the other in each of twelve repetitions."""
    fake = Fake(folder=tmp_path, repetitions=REPETITIONS, workloads=("A",), sizes=SIZES[:1], files=False)
    return fake_sweep(fake)


def analysed(sweep: Sweep) -> Analysis:
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)


def throughput(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["metric"] == "throughput") & (table["phase"] == "run")]


def one_engine_first(sweep: Sweep) -> Sweep:
    """The same runs, but all of RocksDB before all of LevelDB."""
    first = sorted(sweep.records, key=lambda r: (r.point.engine != "rocksdb", r.order))
    times = [(record.order, record.started_at) for record in sweep.records]
    moved = [
        record.model_copy(update={"order": order, "started_at": when})
        for record, (order, when) in zip(first, times, strict=True)
    ]
    return dataclasses.replace(sweep, records=tuple(moved))


def test_runs_get_the_stretch_that_they_are_in(sweep: Sweep) -> None:
    stepped = with_step(sweep, at=13)
    shuffled = tuple(reversed(stepped.records))
    frame = tidy(shuffled)
    by_run = frame.drop_duplicates("run_id").set_index("run_id")["stretch"]
    assert [by_run[record.run_id] for record in stepped.records] == [0] * 13 + [1] * 11
    assert set(tidy(sweep.records)["stretch"]) == {0}


def test_runs_without_the_gauge_belong_to_the_stretch_around_them(sweep: Sweep) -> None:
    records = [
        record.model_copy(update={"gauges": {"cpu.loop_ms": None}}) if place in (3, 12, 20) else record
        for place, record in enumerate(with_step(sweep, at=12).records)
    ]
    numbers = stretches(records)
    assert [numbers[r.sweep_id, r.run_id] for r in records] == [0] * 13 + [1] * 11


def test_a_store_of_its_own_makes_no_step(sweep: Sweep) -> None:
    assert steps(with_step(sweep, at=12, gauge="store.read_4k_p50_us", after=50.0).records) == ()
    assert steps(with_step(sweep, at=12, gauge="disk.read_4k_p99_us", after=50.0).records) == ()
    (step,) = steps(with_step(sweep, at=12, gauge="disk.write_mib_per_second", after=2.0).records)
    assert (step.judge.gauge, step.place) == ("disk.write_mib_per_second", 12)
    assert (step.before, step.after) == pytest.approx((5.0, 2.0), rel=0.01)


def test_hosts_and_sweeps_step_by_themselves(sweep: Sweep) -> None:
    """Other runs are another host's, which does not step; another sweep has another level throughout."""
    there = [
        record.model_copy(update={"environment": record.environment.model_copy(update={"host_id": "b"})})
        for record in with_step(sweep, at=99).records
    ]
    later = [
        record.model_copy(update={"sweep_id": "sweep-2"})
        for record in with_step(sweep, at=0, after=9.0).records
    ]
    assert steps([*there, *later]) == ()
    found = steps([*there, *with_step(sweep, at=12).records, *later])
    assert [(step.runs[0].environment.host_id, step.runs[0].sweep_id) for step in found] == [
        ("host-5d2c", "sweep-1")
    ]


@pytest.mark.parametrize(("at", "pairs"), [(12, 12), (13, 11)])
def test_a_block_that_a_step_cuts_makes_no_pair(sweep: Sweep, at: int, pairs: int) -> None:
    """At 12 the step is between two repetitions, at 13 between the engines of one."""
    found = analysed(with_step(sweep, at=at))
    (row,) = throughput(found.ratios).to_dict("records")
    assert (row["n"], row["paired"]) == (pairs, True)
    assert set(throughput(found.pairs)["n"]) == {pairs}
    assert found.overall.query("metric == 'throughput'")["n"].tolist() == [pairs]
    assert throughput(found.estimates)["n"].tolist() == [REPETITIONS, REPETITIONS]


def test_engines_on_different_sides_have_no_ratio(sweep: Sweep) -> None:
    claims = (
        ClaimSpec(id="one", text="", engine="leveldb", relative_to="rocksdb", at_least=1.0),
        ClaimSpec(id="row", text="", along={"engine": ("leveldb", "rocksdb")}, at_least=1.0),
    )
    apart = one_engine_first(sweep)
    apart = dataclasses.replace(apart, experiment=sweep.experiment.model_copy(update={"claims": claims}))
    assert [claim.verdict for claim in analysed(apart).claims] == ["supported", "supported"]
    found = analysed(with_step(apart, at=REPETITIONS))
    for table in (found.ratios, found.overall, found.pairs, found.pairs_overall):
        assert table.empty
    for claim in found.claims:
        assert (claim.verdict, claim.why) == ("not measured", "no runs that may be compared cover it")
        assert "the sweep resumes, with blocks that a step of their host split" in claim.settle
    assert "unpaired" not in {caution.kind for caution in found.cautions}
    assert len(throughput(found.estimates)) == 2


def test_a_claim_over_points_of_which_one_is_split_stays_undecided(tmp_path: Path) -> None:
    """The second point's engines ran on different sides of the step, the first point's on one."""
    fake = Fake(folder=tmp_path, repetitions=REPETITIONS, workloads=("A",), sizes=SIZES[:2], files=False)
    sweep = fake_sweep(fake)

    def rank(record: Record) -> tuple[bool, bool, int]:
        small = record.point.axes["dataset"] == SIZES[0]
        return not small, record.point.engine == "leveldb", record.order

    times = [(record.order, record.started_at) for record in sweep.records]
    records = tuple(
        record.model_copy(update={"order": order, "started_at": when})
        for record, (order, when) in zip(sorted(sweep.records, key=rank), times, strict=True)
    )
    claim = ClaimSpec(id="c", text="", engine="leveldb", relative_to="rocksdb", at_least=0.1)
    experiment = sweep.experiment.model_copy(update={"claims": (claim,)})
    sweep = dataclasses.replace(sweep, records=records, experiment=experiment)
    assert analysed(sweep).claims[0].verdict == "supported"
    (result,) = analysed(with_step(sweep, at=3 * REPETITIONS)).claims
    assert (result.verdict, len(result.points)) == ("undecided", 1)
    assert result.why == "inside the bounds at 1 of 1 point, but 1 more have no runs that may be compared"


def test_two_engines_of_one_sweep_are_compared_within_its_stretches(sweep: Sweep) -> None:
    def compared(of: Sweep) -> list[tuple[bool, int]]:
        sides = [[r for r in of.records if r.point.engine == name] for name in ("rocksdb", "leveldb")]
        rows = throughput(compare(*sides).rows)
        return list(zip(rows["paired"], rows["n"], strict=True))

    assert compared(with_step(sweep, at=12)) == [(True, 12)]
    assert compared(with_step(sweep, at=13)) == [(True, 11)]
    assert compared(one_engine_first(sweep)) == [(True, 12)]
    assert compared(with_step(one_engine_first(sweep), at=REPETITIONS)) == []


def test_twins_pair_within_a_stretch(sweep: Sweep) -> None:
    same = [
        record.model_copy(update={"point": record.point.model_copy(update={"engine": "rocksdb"})})
        for record in with_step(sweep, at=13).records
    ]
    tables = twin_tables(same, twins=[("RocksDB", "LevelDB")], groups=[range(1, 13)], margin=0.05)
    assert set(tables.pairs.groupby("metric").size()) == {11}


def test_contrasts_come_from_one_stretch() -> None:
    rows = pd.DataFrame(
        [
            {"sweep_id": "s", "host": "h", "repetition": repetition, "load": repetition, "label": label}
            | {"value": value, "stretch": int((repetition, place) >= (3, 2))}
            for repetition in range(1, 7)
            for place, (label, value) in enumerate({"t": 8.0, "b": 4.0, "a": 3.0, "d": 2.0}.items())
        ]
    )
    found = contrast(rows, arms=("t", "b", "a", "d"))
    assert found is not None
    assert (found[0], found[3]) == (pytest.approx(8 / 4 / (3 / 2)), 5)


def test_the_cheapest_is_undecided_while_a_rival_is_on_the_other_side() -> None:
    """Three contenders; the third one's runs are after a step."""
    rows = []
    for label, cost in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        for repetition in range(1, 7):
            common = {"label": label, "engine": "e", "preset": label, "run_id": f"{label}{repetition}",
                      "sweep_id": "s", "host": "h", "stretch": 0, "repetition": repetition,
                      "load": repetition, "status": "ok", "headline": False}  # fmt: skip
            value = cost * (1 + 0.01 * repetition)
            rows += [
                {**common, "phase": "run", "metric": "throughput", "value": 1e6 / value, "unit": "op/s"},
                {**common, "phase": "sample", "metric": "query", "value": value * 1e6, "unit": "ns"},
            ]
    frame = pd.DataFrame(rows)
    figure = FigureSpec(
        id="f", kind="choice", metric="query", phase="sample",
        against=Against(metric="throughput", phase="run", mix="queries per update"),
    )  # fmt: skip
    assert choices(frame, [figure], axes=(), margin=0.05)["decided"].all()
    cut = frame.assign(stretch=(frame["label"] == "c").astype(int))
    found = choices(cut, [figure], axes=(), margin=0.05)
    assert set(found["label"]) == {"a"}
    assert set(found["rival"]) == {"b"}
    assert not found["decided"].any()
    alone = frame.assign(stretch=frame["label"].map({"a": 0, "b": 1, "c": 2}))
    assert choices(alone, [figure], axes=(), margin=0.05).empty


def test_independent_samples_come_from_the_stretch_with_the_most_runs_of_both() -> None:
    def runs(*stretch: int) -> pd.DataFrame:
        return pd.DataFrame({"sweep_id": "s", "host": "h", "stretch": stretch, "value": range(len(stretch))})

    sides = within_stretches(runs(0, 0, 0, 1, 1), runs(0, 1, 1, 1))
    assert [list(side["stretch"]) for side in sides] == [[1, 1], [1, 1, 1]]
    assert all(side.empty for side in within_stretches(runs(0, 0), runs(1, 1)))
    elsewhere = runs(1, 1).assign(host="other")
    assert [len(side) for side in within_stretches(runs(0, 0), elsewhere)] == [2, 2]


def test_the_caution_names_host_sweep_gauge_time_and_blocks(sweep: Sweep) -> None:
    found = analysed(with_step(sweep, at=13))
    (caution,) = [each for each in found.cautions if each.kind == "drift"]
    when = sweep.records[13].started_at[:19].replace("T", " ")
    assert caution.message == (
        f"host host-5d2c changed during sweep sweep-1: from {when} UTC on (run 14 of 24) a fixed CPU loop "
        "took 5.76 ms instead of 5 (medians); 1 block was split, and no run before is compared with one after"
    )
    assert "the same `kvdyno run` again measures split blocks again" in caution.remedy
    assert caution.points == ("RocksDB", "LevelDB")


def test_a_step_between_repetitions_is_named_and_splits_nothing(sweep: Sweep) -> None:
    (caution,) = [c for c in analysed(with_step(sweep, at=12)).cautions if c.kind == "drift"]
    assert "0 blocks were split" in caution.message
    assert "drift" not in {c.kind for c in analysed(with_step(sweep, at=99)).cautions}


def test_committed_metrics_keep_their_stretches_and_older_ones_have_one(sweep: Sweep) -> None:
    frame = analysed(with_step(sweep, at=13)).frame.drop(columns="headline")
    asked = Questions(baseline="RocksDB")
    again = analyse_metrics(frame, asked)
    assert [axis.name for axis in again.axes] == ["workload", "dataset"]
    assert throughput(again.ratios)["n"].tolist() == [11]
    older = analyse_metrics(frame.drop(columns=["stretch", "host"]), asked)
    assert throughput(older.ratios)["n"].tolist() == [12]
