"""Every contender over every other, and what else a page shows of runs beside estimates."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fakes_records import SIZES, Fake, Losses, fake_sweep

from kvdyno.analysis import analyse
from kvdyno.model.results import Analysis


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("runs")
    lost: Losses = {("leveldb", "C", SIZES[0], 1): "timeout"}
    fake = Fake(
        folder=folder, repetitions=3, workloads=("A", "C"), sizes=SIZES[:2], files=False, statuses=lost
    )
    sweep = fake_sweep(fake)
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)


def test_both_directions_of_a_pair_are_inverse(analysis: Analysis) -> None:
    pairs = analysis.pairs[analysis.pairs["metric"] == "throughput"]
    keys = ["workload", "dataset"]
    one = pairs[pairs["baseline"] == "RocksDB"].set_index(keys)
    other = pairs[pairs["baseline"] == "LevelDB"].set_index(keys)
    assert len(one) == len(other) == 4
    assert (one["ratio"] * other["ratio"]).tolist() == pytest.approx([1.0] * 4)
    assert (one["low"] * other["high"]).tolist() == pytest.approx([1.0] * 4)


def test_pairs_agree_with_the_experiments_own_ratios(analysis: Analysis) -> None:
    keep = analysis.ratios["headline"] & (analysis.ratios["metric"] == "throughput")
    own = analysis.ratios[keep]["ratio"].tolist()
    pairs = analysis.pairs[
        (analysis.pairs["metric"] == "throughput") & (analysis.pairs["baseline"] == "RocksDB")
    ]
    assert pairs["ratio"].tolist() == pytest.approx(own)


def test_pairs_have_the_metrics_that_readers_ask_for_in_one_phase_each_and_no_verdict(
    analysis: Analysis,
) -> None:
    phases = analysis.pairs.groupby("metric")["phase"].agg(set)
    assert phases["throughput"] == {"run"}
    assert phases["read.latency.p99"] == {"measure"}
    assert "bytes.written" not in phases
    assert all(len(found) == 1 for found in phases)
    assert "verdict" not in analysis.pairs
    assert "p_adjusted" not in analysis.pairs_overall
    overall = analysis.pairs_overall.set_index(["label", "baseline", "metric"])
    assert overall.loc[("LevelDB", "RocksDB", "throughput"), "points"] == 4


def test_runs_are_listed_however_they_ended(analysis: Analysis) -> None:
    runs = analysis.runs
    assert len(runs) == 2 * 2 * 2 * 3
    (lost,) = runs[runs["status"] != "ok"].to_dict("records")
    assert (lost["point"], lost["repetition"], lost["status"]) == ("LevelDB C 64 MiB", 1, "timeout")
    assert lost["folder"].endswith(lost["run_id"])
    assert lost["started_at"] < lost["ended_at"]


def test_contenders_keep_the_plans_order_when_the_first_point_of_one_is_missing(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=2, workloads=("A", "C"), files=False))
    first = sweep.records[0].point.identity
    records = [r for r in sweep.records if r.point.identity != first]
    found = analyse(sweep.experiment, sweep.plan, records, run_dirs={})
    assert [c.label for c in found.contenders] == ["RocksDB", "LevelDB"]
    assert set(found.runs["folder"]) == {""}


def test_a_workload_has_the_properties_that_its_runs_share(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=1, workloads=("A",), sizes=SIZES[:2], files=False))
    records = []
    for record in sweep.records:
        asked = {**record.point.properties, "readproportion": "0.5"}
        point = record.point.model_copy(update={"properties": asked})
        records.append(record.model_copy(update={"point": point}))
    found = analyse(sweep.experiment, sweep.plan, records, run_dirs={})
    assert found.workloads == {"A": {"readproportion": "0.5"}}


def test_cautions_name_all_points_that_they_concern(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=1, files=False))
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    (single,) = (c for c in found.cautions if c.kind == "repetitions")
    assert set(single.points) == set(found.runs["point"])
    assert len(single.points) == 24
    assert dataclasses.replace(single, points=()) != single
