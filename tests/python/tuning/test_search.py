"""A whole search on a simulated engine: budget, failures, resumption, confirmation, preset, bad input."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.projects import make_project

from kvdyno import pipeline
from kvdyno.catalog import discover
from kvdyno.errors import Interrupted, KvdynoError, SpecError, UsageError
from kvdyno.model.project import Project
from kvdyno.model.search import SearchFound
from kvdyno.spec import load_space

from .surfaces import ENGINE, TUNING, Simulation, add_engine, no_report, number, silent

SEARCH = sys.modules["kvdyno.pipeline.search"]
BENCH = sys.modules["kvdyno.pipeline.search_bench"]
ASKED = pipeline.SearchRequest(
    engine=ENGINE,
    workloads=("a",),
    objectives=("throughput", "read.p99"),
    budget_seconds=1e6,
    tries=8,
    unseen=("c",),
    dataset="8GiB",
)


def filters_pay(properties: Mapping[str, str], _workload: str) -> float | None:
    """Filters make everything faster, by a factor of 2 at 20 bits; caches above 64 MiB are too much."""
    if number(properties, "cache_size", 0) > 64 << 20:
        return None
    return 50_000 * (1 + number(properties, "filter_bits", 0) / 20)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = make_project(tmp_path)
    add_engine(project)
    return project


def search(
    project: Project, simulation: Simulation, monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> SearchFound:
    monkeypatch.setattr(BENCH, "sweep", simulation)
    monkeypatch.setattr(SEARCH, "write_report", no_report)
    asked = replace(ASKED, **changes)
    return pipeline.search(project, asked, how=pipeline.SweepSettings(), watch=silent)


def test_a_search_finds_better_options_and_writes_them_as_an_experiment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch)
    assert found.winner
    assert found.preset
    assert int(found.winner.options["filter_bits"]) > 5
    assert {row.workload: row.unseen for row in found.winner.rows} == {"a": False, "c": True}
    request = pipeline.Request(str(found.preset))
    _, whole = pipeline.make_plan(project, request)
    assert [choice.label for choice in whole.experiment.engines] == ["default", "tuned"]
    page, trail = pipeline.write_search(found)
    assert f"try {found.winner.number} is better than the default" in page.read_text()
    assert len(trail.read_text().splitlines()) == 9


def test_running_out_of_memory_is_a_result_that_the_search_keeps(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch, strategy="random", tries=20)
    failed = [one for one in found.tries if one.gains is None]
    assert failed
    assert "out of memory" in failed[0].failure
    assert not {one.number for one in failed} & set(found.front)
    assert failed[0].failure in pipeline.write_search(found)[0].read_text()


def test_a_search_that_was_stopped_goes_on_where_it_was(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search(project, Simulation(filters_pay), monkeypatch)
    stopping = Simulation(filters_pay, stop_after=7)
    with pytest.raises(Interrupted):
        search(project, stopping, monkeypatch)
    kept = dict(stopping.records)
    stopping.stop_after = None
    again = search(project, stopping, monkeypatch)
    assert [one.options for one in again.tries] == [one.options for one in whole.tries]
    assert all(stopping.records[key] is record for key, record in kept.items())


def test_the_search_stops_early_enough_for_the_confirmation(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(project, Simulation(filters_pay), monkeypatch, tries=None, budget_seconds=400.0)
    assert len(found.tries) > 1
    assert sum(one.seconds for one in found.tries) < found.budget_seconds
    assert found.confirmed


def test_noise_alone_changes_no_option(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Simulation(lambda _properties, _workload: 50_000.0, noise=0.05)
    found = search(project, flat, monkeypatch, tries=12)
    assert found.winner is None
    assert found.preset is None
    assert "which stays" in pipeline.write_search(found)[0].read_text()
    best = max(found.confirmed, key=lambda each: each.searched)
    assert best.curse
    assert best.curse > 1, "the best of several noisy tries promised more than it kept"


BAD = {
    "engine": ({"engine": "leveldbb"}, "did you mean 'leveldb'"),
    "objective": ({"objectives": ("troughput",)}, "did you mean 'throughput'"),
    "workload": ({"workloads": ("z",)}, "unknown workload 'z'"),
    "strategy": ({"strategy": "tpee"}, "did you mean 'tpe'"),
    "profile": ({"profile": "qick"}, "did you mean 'quick'"),
    "preset": ({"preset": "tuned"}, "unknown preset 'tuned'"),
    "budget": ({"budget_seconds": 1.0}, "expected a budget for one try and the confirmation"),
    "option": ({"ranges": {"filter_bit": "1..2"}}, "did you mean 'filter_bits'"),
    "range": ({"ranges": {"filter_bits": "1..99"}}, "filter_bits: expected at most 64, found 99"),
    "falling": ({"ranges": {"filter_bits": "9..3"}}, "expected a range that rises, found 9 to 3"),
    "memory": ({"cap": "128MiB"}, "take 256 MiB"),
    "nothing": (
        {"ranges": {"filter_bits": "0,0", "write_buffer_size": "256MiB,256MiB", "mapped_files": "1000"}},
        "expected candidates that differ from the default",
    ),
    "cap": ({"cap": "much"}, "expected a size"),
}


@pytest.mark.parametrize(("changes", "expected"), BAD.values(), ids=BAD)
def test_bad_input_is_found_before_anything_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch, changes: Mapping[str, object], expected: str
) -> None:
    simulation = Simulation(filters_pay)
    with pytest.raises(KvdynoError) as error:
        search(project, simulation, monkeypatch, **changes)
    assert expected in str(error.value)
    assert simulation.sweeps == 0


def test_a_preset_that_no_longer_fits_the_engine_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = search(project, Simulation(filters_pay), monkeypatch).preset
    assert preset
    preset.write_text(preset.read_text().replace("filter_bits", "filter_bitz"))
    with pytest.raises(SpecError, match="did you mean 'filter_bits'"):
        pipeline.make_plan(project, pipeline.Request(str(preset)))


FILES = {
    "unknown option": (TUNING.replace("filter_bits", "filter_bitz"), "did you mean 'filter_bits'"),
    "outside": (TUNING.replace("to: 20", "to: 99"), "expected at most 64, found 99"),
    "condition": (
        TUNING.replace("only_if: {mapped_files", "only_if: {map_files"),
        "did you mean 'mapped_files'",
    ),
    "both": (TUNING.replace("{values: [0, 1000]}", "{values: [0], from: 1, to: 2}"), "`from` and `to`, or"),
}


@pytest.mark.parametrize(("text", "expected"), FILES.values(), ids=FILES)
def test_a_wrong_space_is_refused_with_file_and_line(tmp_path: Path, text: str, expected: str) -> None:
    project = make_project(tmp_path)
    add_engine(project, tuning=text)
    with pytest.raises(SpecError) as error:
        load_space(discover(project)[ENGINE], project=project, cap_bytes=16 << 30)
    assert expected in str(error.value)
    assert "tuning.yaml:" in str(error.value)


def test_an_engine_without_a_space_has_the_one_it_describes(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    add_engine(project, tuning=None)
    space = load_space(discover(project)[ENGINE], project=project, cap_bytes=16 << 30)
    ranges = {each.name: (each.low, each.high) for each in space.dimensions}
    assert ranges["filter_bits"] == (0, 64)
    assert ranges["cache_size"] == (64 << 10, 16 << 30)


def test_an_unknown_range_spelling_is_a_usage_error(project: Project) -> None:
    engine = discover(project)[ENGINE]
    with pytest.raises(UsageError, match="expected a size"):
        load_space(engine, project=project, cap_bytes=16 << 30, ranges={"cache_size": "small..large"})
