"""Claims along an axis, and claims about some point: made-up sweeps whose truth is known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fakes_records import SCALE, SIZES, Fake, Sweep, fake_sweep, true_rate

from kvdyno.analysis import analyse
from kvdyno.analysis.claims import judge_claims
from kvdyno.analysis.evidence import Evidence
from kvdyno.analysis.levels import mean_of
from kvdyno.model.experiment import ClaimSpec
from kvdyno.model.record import Record
from kvdyno.model.results import ClaimResult

PAPER = tuple(int(size / SCALE) for size in SIZES)
_ALIKE = true_rate("rocksdb", "A", SIZES[0]) / true_rate("rocksdb", "A", SIZES[2])
#: What the smallest data have over the largest, by workload: gets of the largest are made twice as slow.
TRUE = {"A": _ALIKE, "C": 2 * _ALIKE}
SHRINKS = ClaimSpec(
    id="c", text="", engine="rocksdb", along={"dataset": (PAPER[0], PAPER[2])}, where={"workload": ("A", "C")}
)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("runs")
    return slowed(
        fake_sweep(Fake(folder=folder, repetitions=5, workloads=("A", "C"), noise=0.02, files=False))
    )


def slowed(sweep: Sweep) -> Sweep:
    """The sweep with half the throughput of C at the largest data."""
    return dataclasses.replace(sweep, records=tuple(map(_slowed, sweep.records)))


def _slowed(record: Record) -> Record:
    if (record.point.axes["workload"], record.point.axes["dataset"]) != ("C", SIZES[2]) or not record.outcome:
        return record
    phases = []
    for phase in record.outcome.phases:
        rate = phase.metrics["throughput"]
        metrics = {**phase.metrics, "throughput": rate.model_copy(update={"value": rate.value / 2})}
        phases.append(phase.model_copy(update={"metrics": metrics}))
    outcome = record.outcome.model_copy(update={"phases": tuple(phases)})
    return record.model_copy(update={"outcome": outcome})


def judged(sweep: Sweep, *claims: ClaimSpec) -> list[ClaimResult]:
    experiment = sweep.experiment.model_copy(update={"claims": claims})
    return list(analyse(experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs).claims)


def bounded(at_least: float, **change: object) -> ClaimSpec:
    return SHRINKS.model_copy(update={"at_least": at_least, **change})


def test_a_ratio_along_an_axis_is_that_of_one_engine(sweep: Sweep) -> None:
    (claim,) = judged(sweep, bounded(0.9 * min(TRUE.values())))
    assert claim.verdict == "supported"
    assert claim.unit == "ratio"
    assert [point.axes for point in claim.points] == [{"workload": "A"}, {"workload": "C"}]
    for point in claim.points:
        assert point.value == pytest.approx(TRUE[str(point.axes["workload"])], rel=0.08)
        assert point.n == 5
        assert point.low is not None
    assert claim.expected.startswith("rocksdb, dataset 64 MiB / 1 GiB: throughput of run ≥ ")


def _aged(record: Record) -> Record:
    """The record at C with an age, as runs on loaded data have; that at A without, as loads are."""
    if record.point.axes["workload"] != "C":
        return record
    point = record.point.model_copy(update={"axes": {**record.point.axes, "age": 1}})
    return record.model_copy(update={"point": point})


def test_a_point_has_only_the_axes_that_its_runs_have(sweep: Sweep) -> None:
    aged = dataclasses.replace(sweep, records=tuple(map(_aged, sweep.records)))
    (claim,) = judged(aged, bounded(0.9 * min(TRUE.values())))
    assert [dict(point.axes) for point in claim.points] == [{"workload": "A"}, {"workload": "C", "age": 1}]


def test_every_point_must_hold_or_some_point(sweep: Sweep) -> None:
    between = (min(TRUE.values()) * max(TRUE.values())) ** 0.5
    assert between > 1.1 * min(TRUE.values()), "the two workloads differ by more than the noise"
    (every,) = judged(sweep, bounded(between))
    assert (every.verdict, every.why) == (
        "contradicted",
        "the value lies outside the bounds at 1 of 2 points",
    )
    (some,) = judged(sweep, bounded(between, holds_at="some"))
    assert (some.verdict, some.why) == ("supported", "the value lies inside the bounds at 1 of 2 points")
    (none,) = judged(sweep, bounded(1.5 * max(TRUE.values()), holds_at="some"))
    assert none.verdict == "contradicted"


def test_a_value_that_was_not_measured_leaves_a_claim_undecided(sweep: Sweep) -> None:
    kept = [
        r for r in sweep.records if (r.point.axes["workload"], r.point.axes["dataset"]) != ("C", SIZES[2])
    ]
    partial = dataclasses.replace(sweep, records=tuple(kept))
    (every,) = judged(partial, bounded(0.9 * min(TRUE.values())))
    assert every.verdict == "undecided"
    (none,) = judged(partial, bounded(1.5 * max(TRUE.values()), holds_at="some"))
    assert none.verdict == "undecided", "the point that is missing might be the one"


def test_lost_runs_at_either_value_are_a_doubt(tmp_path: Path) -> None:
    for size in (SIZES[0], SIZES[2]):
        fake = Fake(folder=tmp_path, repetitions=5, workloads=("A", "C"), noise=0.02, files=False,
                    statuses={("rocksdb", "A", size, 2): "timeout"})  # fmt: skip
        (claim,) = judged(slowed(fake_sweep(fake)), bounded(0.9 * min(TRUE.values())))
        assert (claim.verdict, bool(claim.points[0].doubt)) == ("undecided", True)


def test_a_claim_about_some_point_is_supported_falsely_in_one_of_twenty_at_most() -> None:
    """Four points that lie on the bound: choosing the best of them must not support."""
    rng = np.random.default_rng(3)
    spec = ClaimSpec(id="c", text="", engine="e", metric="m", at_least=1.0, holds_at="some")
    false = 0
    for _ in range(300):
        means = [mean_of(rng.normal(0, 0.05, 5)) for _ in range(4)]
        table = pd.DataFrame(
            {
                "label": "e", "engine": "e", "phase": "run", "metric": "m", "unit": "op/s", "axis": range(4),
                "n": 5, "median": 1.0, "low": 0.9, "high": 1.1, "smallest": 1.0,
                "mean": [m.value for m in means], "error": [m.error for m in means], "freedom": 4.0,
            }
        )  # fmt: skip
        evidence = Evidence(table, table.iloc[:0], planned=4, doubts=lambda place: None)
        (result,) = judge_claims([spec], evidence=[evidence], axes=["axis"])
        false += result.verdict == "supported"
    assert false / 300 <= 0.05
