"""Call profiles of real drivers, and what refuses to be profiled."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.engines import describe

from kvdyno import catalog, profiling
from kvdyno.errors import EngineError, HostError
from kvdyno.model.calls import CallDifference, CallProfile, short_name
from kvdyno.model.engine import Engine
from kvdyno.model.point import Point
from kvdyno.profiling import FixedRun
from kvdyno.report.flames import flame_graph

REPOSITORY = Path(__file__).parents[3]
BINARIES = Path(os.environ.get("KVDYNO_BUILD", REPOSITORY / "build")) / "bin"


def engine(name: str) -> Engine:
    binary = BINARIES / f"kvdyno-{name}"
    assert binary.is_file(), f"{name} is not built: run `make build` first"
    return catalog.local_engine(binary, adapters=REPOSITORY / "engines" / "adapters")


def point(name: str, **properties: str) -> Point:
    return Point(
        slug=f"{name}.p",
        identity=name,
        engine=engine(name),
        preset="default",
        axes={"engine": name},
        properties={"fieldlength": "100", "updateproportion": "1", "readproportion": "0", **properties},
        phases=("measure",),
        dataset=None,
        cap_bytes=0,
        timeout_seconds=60,
        expected_seconds=1,
        expected_disk_bytes=0,
    )


def counted(name: str, scratch: Path, **properties: str) -> CallProfile:
    at = point(name, **properties)
    return profiling.count_calls(at.engine.binary, profiling.fixed_run(at), scratch=scratch)


def test_a_driver_executes_the_same_instructions_each_time(tmp_path: Path) -> None:
    one, other = (counted("noop", tmp_path / each) for each in ("one", "other"))
    assert one.total == pytest.approx(other.total, rel=0.01)
    assert 50 < one.total < 20_000
    assert all(stack[0].startswith("kvdyno::Client::Work") for stack in one.stacks)


def test_the_function_that_an_engine_adds_is_found_and_drawn(tmp_path: Path) -> None:
    calls = CallDifference(counted("noop", tmp_path / "noop"), counted("memory", tmp_path / "memory"))
    assert calls.head.total > calls.base.total
    assert calls.functions()[0].change > 0
    added = {each.function for each in calls.functions() if each.base == 0}
    picture = flame_graph(calls, title="a < b")
    assert "a &lt; b" in picture
    assert any(short_name(name)[:8] in picture for name in added)
    assert "<script" not in picture


def test_longer_values_cost_more(tmp_path: Path) -> None:
    short = counted("memory", tmp_path / "short")
    long = counted("memory", tmp_path / "long", fieldlength="4000")
    assert long.total > short.total


def test_the_fixed_run_keeps_options_and_replaces_sizes() -> None:
    fixed = profiling.fixed_run(point("memory", threadcount="8", recordcount="9000000"))
    assert (fixed.properties["threadcount"], fixed.properties["recordcount"]) == ("1", "2000")
    assert fixed.properties["updateproportion"] == "1"
    assert fixed.of(fixed.longer)["operationcount"] == str(fixed.shorter + fixed.counted)


def test_what_is_no_driver_of_this_machine_is_refused(tmp_path: Path) -> None:
    at = point("memory")
    with pytest.raises(EngineError, match="a driver of this project"):
        profiling.fixed_run(replace(at, engine=replace(at.engine, image="sha256:0")))
    with pytest.raises(EngineError, match="measures a load"):
        profiling.fixed_run(replace(at, phases=("load", "settle")))
    foreign = replace(at.engine, description=describe("foreign", properties=()))
    with pytest.raises(EngineError, match="a driver of this project"):
        profiling.fixed_run(replace(at, engine=foreign))
    script = tmp_path / "kvdyno-script"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(EngineError, match="kvdyno::Client::Work, found none"):
        profiling.count_calls(script, FixedRun({}, 1, 2), scratch=tmp_path)


def test_a_driver_that_fails_is_shown_with_the_end_of_its_output(tmp_path: Path) -> None:
    at = point("memory", nosuch="1")
    with pytest.raises(EngineError, match=r"fails under valgrind; (.|\n)*nosuch"):
        profiling.count_calls(at.engine.binary, profiling.fixed_run(at), scratch=tmp_path)


def test_without_valgrind_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvdyno.profiling.callgrind._VALGRIND", "no-such-valgrind")
    assert not profiling.available()
    with pytest.raises(HostError, match="apt-get install valgrind"):
        counted("memory", tmp_path)


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("std::map<int, std::less<int> >::at(int const&) const", "std::map<>::at() const"),
        ("a::operator<(b<c>, d)", "a::operator<()"),
        ("std::function<int (int)>::operator()(int) const", "std::function<>::operator()() const"),
        ("memcpy", "memcpy"),
    ],
)
def test_names_are_shown_without_arguments(function: str, short: str) -> None:
    assert short_name(function) == short
