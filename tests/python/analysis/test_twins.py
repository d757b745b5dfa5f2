"""Twins: intervals that cover, noise that is found again, and what reports say of it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from fakes_records import Fake, fake_sweep

from kvdyno.analysis.frame import tidy
from kvdyno.analysis.twins import (
    TwinTables,
    noise_floors,
    noise_notes,
    side_by_side,
    smallest_effect,
    twin_tables,
)
from kvdyno.model.noise import HostNoise, TwinNoise
from kvdyno.model.record import Metric, Record
from kvdyno.selftest.noise import groups_of, scores, twin_noise

_NOISE = 0.05


def _twins(folder: Path, *, repetitions: int, bias: float = 0.0) -> list[Record]:
    """RocksDB and a copy of it: rates with log-normal noise, a disturbance that each repetition shares."""
    rng = np.random.default_rng(5)
    sweep = fake_sweep(
        Fake(folder, repetitions=repetitions, workloads=("P", "C"), sizes=(64 << 20,), files=False)
    )
    mine = [record for record in sweep.records if record.point.engine == "rocksdb"]
    shared = {record.repetition: rng.normal(0, 0.2) for record in mine}
    found = []
    for label in ("a", "b"):
        for record in mine:
            rate = math.exp(10 + shared[record.repetition] + rng.normal(bias * (label == "b"), _NOISE))
            found.append(_relabelled(record, label=label, rate=rate))
    return found


def _relabelled(record: Record, *, label: str, rate: float) -> Record:
    assert record.outcome is not None
    phases = tuple(
        phase.model_copy(update={"metrics": {"throughput": Metric(value=rate, unit="op/s")}})
        for phase in record.outcome.phases
    )
    point = record.point.model_copy(update={"label": label, "identity": f"{record.point.identity}-{label}"})
    outcome = record.outcome.model_copy(update={"phases": phases})
    return record.model_copy(
        update={"point": point, "outcome": outcome, "run_id": f"{record.run_id}-{label}"}
    )


def _tables(records: list[Record]) -> TwinTables:
    repetitions = sorted({record.repetition for record in records})
    return twin_tables(records, twins=[("a", "b")], groups=groups_of(repetitions, size=3), margin=0.05)


def test_intervals_of_twins_cover_and_few_are_called_different(tmp_path: Path) -> None:
    tables = _tables(_twins(tmp_path, repetitions=150))
    (score,) = scores(twin_noise(tables.pairs, tables.comparisons, axes=tables.axes))
    assert score.comparisons == 100
    assert 0.9 < score.coverage <= 1
    assert score.false_alarm_rate <= 0.05


def test_noise_is_found_again(tmp_path: Path) -> None:
    records = _twins(tmp_path, repetitions=300)
    tables = twin_tables(records, twins=[("a", "b")], groups=[(1, 2, 3)], margin=0.05)
    entries = twin_noise(tables.pairs, tables.comparisons, axes=tables.axes)
    assert [entry.axes["workload"] for entry in entries] == ["P", "C"]
    assert [entry.pairs for entry in entries] == [300, 300]
    for entry in entries:
        assert entry.sd_log == pytest.approx(math.sqrt(2) * _NOISE, rel=0.1)


def test_a_real_difference_is_not_covered(tmp_path: Path) -> None:
    tables = _tables(_twins(tmp_path, repetitions=30, bias=0.3))
    (score,) = scores(twin_noise(tables.pairs, tables.comparisons, axes=tables.axes))
    assert score.coverage < 0.5
    assert not score.sound


def test_groups_leave_no_repetition_half_used() -> None:
    assert groups_of([4, 1, 2, 3, 7], size=2) == ((1, 2), (3, 4))
    assert groups_of([1, 2], size=3) == ()


def _entry(*, sd_log: float, workload: str = "P") -> TwinNoise:
    return TwinNoise(
        engine="rocksdb",
        axes={"workload": workload},
        phase="run",
        metric="throughput",
        unit="op/s",
        pairs=60,
        sd_log=sd_log,
        comparisons=20,
        covered=19,
        false_alarms=1,
    )


def test_the_smallest_effect_is_found_four_times_in_five() -> None:
    entry = _entry(sd_log=0.07)
    assert smallest_effect(entry, repetitions=1) is None
    rng = np.random.default_rng(6)
    for repetitions in (5, 10):
        effect = smallest_effect(entry, repetitions=repetitions)
        assert effect is not None
        found = 0
        for _ in range(400):
            logs = rng.normal(math.log1p(effect), 0.07, size=repetitions)
            table = side_by_side({"get": (np.exp(logs).tolist(), [1.0] * repetitions)}, margin=0.05)
            found += bool(table["low"].iloc[0] > 1)
        # The sum of quantiles is a little cautious: at five repetitions it finds up to 85 %.
        assert 0.74 < found / 400 < 0.9


def _host(*entries: TwinNoise) -> HostNoise:
    return HostNoise(
        host_id="host-5d2c",
        measured_at="2026-11-22T08:00:00Z",
        commit=None,
        profile="quick",
        repetitions=3,
        facts={},
        twins=entries,
    )


def test_reports_say_which_differences_cannot_be_seen(tmp_path: Path) -> None:
    frame = tidy(_twins(tmp_path, repetitions=5))
    host = _host(_entry(sd_log=0.02), _entry(sd_log=0.05, workload="C"))
    (floor,) = noise_floors(frame, noise={("host-5d2c", "local"): host}, metric="throughput")
    assert floor.repetitions == 5
    assert floor.effects == pytest.approx({"P": 0.034, "C": 0.087}, rel=0.01)
    (note,) = noise_notes([floor], metric="throughput")
    assert note.kind == "noise"
    assert "below 3.4% at P, 8.7% at C cannot be seen on host host-5d2c with 5 repetitions" in note.message
    assert "2026-11-22" in note.message


def test_reports_say_that_a_hosts_noise_is_not_known(tmp_path: Path) -> None:
    frame = tidy(_twins(tmp_path, repetitions=2))
    (floor,) = noise_floors(frame, noise={("host-5d2c", "local"): None}, metric="throughput")
    assert (floor.measured_at, floor.effects) == ("", {})
    (note,) = noise_notes([floor], metric="throughput")
    assert "noise of host host-5d2c is not known" in note.message
    assert note.remedy == "kvdyno selftest, on a quiet machine"


def test_runners_have_noise_of_their_own(tmp_path: Path) -> None:
    frame = tidy(_twins(tmp_path, repetitions=5))
    host = _host(_entry(sd_log=0.02), _entry(sd_log=0.05, workload="C"))
    floors = noise_floors(
        frame, noise={("host-5d2c", "local"): host, ("host-5d2c", "docker"): None}, metric="throughput"
    )
    assert [(floor.runner, bool(floor.effects)) for floor in floors] == [("local", True), ("docker", False)]
    unknown, known = noise_notes(floors, metric="throughput")
    assert "the noise of host host-5d2c (runner docker) is not known" in unknown.message
    assert unknown.remedy == "kvdyno selftest --runner docker, on a quiet machine"
    assert "cannot be seen on host host-5d2c with 5 repetitions" in known.message


def test_tools_that_agree_are_within_the_margin() -> None:
    table = side_by_side(
        {"fill": ([101.0, 99, 100, 102], [100.0, 100, 100, 100]), "get": ([60.0, 61, 62, 59], [100.0] * 4)},
        margin=0.1,
    )
    assert table["within"].tolist() == [True, False]
    assert table["ratio"].tolist() == pytest.approx([1.005, 0.605], rel=0.01)
