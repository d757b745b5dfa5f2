"""What a person sees: help that fits 80 columns, and the display of a sweep on a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.engines import engine
from rich.console import Console

from kvdyno import __version__
from kvdyno.cli.pages.records import record_page
from kvdyno.cli.pages.sweeps import summary_page
from kvdyno.cli.progress import Forecast, SweepDisplay
from kvdyno.model.point import Dataset, Point, Run
from kvdyno.model.record import Environment, Failure, Record, RecordedPoint, RunnerFacts
from kvdyno.model.results import Caution, FailedRun, Summary, SummaryRow
from kvdyno.runner import Progress

from .conftest import Checkout

COMMANDS = (
    *("plan", "run", "rerun", "report"),
    *("show", "compare", "describe", "export", "import", "sync", "engines", "publish", "derive"),
    "prose",
    *("selftest", "doctor", "clean"),
)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_and_teaches(checkout: Checkout, command: str) -> None:
    answer = checkout.kvdyno(*command.split(), "--help")
    assert answer.status == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    if command:
        assert f"Example: kvdyno {command}" in answer.out


def test_the_version_is_the_packages(checkout: Checkout) -> None:
    answer = checkout.kvdyno("--version")
    assert (answer.status, answer.out) == (0, f"kvdyno {__version__}\n")


def test_help_lists_commands_in_the_order_of_use(checkout: Checkout) -> None:
    page = checkout.kvdyno("--help").out
    places = [page.index(f"│ {command} ") for command in COMMANDS]
    assert places == sorted(places)


DATASET = Dataset(
    identity="d" * 64,
    slug="rocksdb.1GiB",
    properties={},
    bytes=1 << 30,
    records=1,
    expected_seconds=20,
)


def point(name: str) -> Point:
    return Point(
        slug=f"rocksdb.{name}",
        identity=name * 64,
        engine=engine("rocksdb"),
        preset="default",
        axes={},
        properties={},
        phases=("measure",),
        dataset=DATASET,
        cap_bytes=0,
        timeout_seconds=1,
        expected_seconds=10,
        expected_disk_bytes=0,
    )


def record(identity: str, *, dataset: str | None) -> Record:
    return Record(
        run_id="x",
        sweep_id="x",
        repetition=1,
        order=1,
        started_at="",
        ended_at="",
        point=RecordedPoint(
            slug="rocksdb.slug",
            identity=identity,
            engine="rocksdb",
            preset="default",
            label="rocksdb",
            binary_sha256="",
            axes={},
            properties={},
            phases=(),
            dataset=dataset,
            cap_bytes=0,
        ),
        runner=RunnerFacts(name="local", capped=True, cgroup="", cpus=""),
        environment=Environment(host_id="", facts={}),
        status="ok",
    )


RUNS = [Run(point(name), 1) for name in "abc"]
LOADED = record(DATASET.identity, dataset=None)


def ended(run: Run) -> Record:
    return record(run.point.identity, dataset=DATASET.identity)


def test_the_forecast_counts_loads_and_learns_the_pace() -> None:
    forecast = Forecast(RUNS)
    assert forecast.seconds_left(current=0) == 50
    forecast.ended(LOADED, seconds=10)
    assert forecast.seconds_left(current=0) == 15, "twice as fast as expected"
    forecast.ended(ended(RUNS[0]), seconds=5)
    assert forecast.seconds_left(current=4) == 6
    assert forecast.seconds_left(current=100) == 0


def test_the_forecast_drops_loads_that_turn_out_not_to_be_needed() -> None:
    forecast = Forecast(RUNS)
    forecast.ended(ended(RUNS[0]), seconds=10)
    assert forecast.seconds_left(current=0) == 20


def test_a_terminal_shows_point_repetition_phase_rate_and_time_left() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=80, markup=False, highlight=False)
    now = [0.0]
    display = SweepDisplay(console, Forecast(RUNS), clock=lambda: now[0])
    display.started(3, confined="cgroup v1: because", removed=["kvdyno-old"])
    display.run_started(RUNS[0], number=1)
    display.load_started(Run(replace(RUNS[0].point, slug="rocksdb.slug"), 1))
    now[0] = 20.0
    display.run_ended(LOADED)
    now[0] = 22.0
    display.progress(
        Progress(phase="measure", elapsed=1, fraction=0.5, operations=123456, rate=123456, unit="op/s")
    )
    console.print(display)
    assert screen.getvalue().splitlines() == [
        "removed what a killed sweep left: kvdyno-old",
        "3 runs to measure, confined by cgroup v1: because",
        "load  rocksdb.slug  20.0 s",
        "1/3  rocksdb.a r1",
        "measure   " + "━" * 24 + "  123,456 op/s  0:28 left",
    ]


def test_a_terminal_shows_loads_before_the_first_run() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=80, markup=False, highlight=False)
    now = [0.0]
    display = SweepDisplay(console, Forecast(RUNS), clock=lambda: now[0])
    console.print(display, end="")
    assert screen.getvalue() == ""
    display.load_started(Run(replace(RUNS[0].point, slug="rocksdb.load"), 1))
    now[0] = 3.0
    display.progress(Progress(phase="load", elapsed=1, fraction=None, operations=9, rate=9000, unit="op/s"))
    console.print(display)
    assert [" ".join(line.split()) for line in screen.getvalue().splitlines()] == [
        "load rocksdb.load",
        "load " + "━" * 24 + " 9,000 op/s 0:47 left",
    ]


def test_a_terminal_shows_how_far_a_snapshot_is_checked_before_anything_runs() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=80, markup=False, highlight=False)
    display = SweepDisplay(console, Forecast(RUNS), clock=lambda: 0.0)
    display.progress(
        Progress(phase="checking", elapsed=1, fraction=0.5, operations=512, rate=512, unit="MiB/s")
    )
    console.print(display)
    assert [" ".join(line.split()) for line in screen.getvalue().splitlines()] == [
        "load snapshots",
        "checking " + "━" * 24 + " 512 MiB/s 0:50 left",
    ]


def test_text_of_a_driver_cannot_command_the_terminal() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=80, markup=False, highlight=False)
    said = "\x1b]0;title\x07\x1b[2Jgone"
    failure = Failure(reason=said, log_tail=f"first\n{said}")
    failed = LOADED.model_copy(update={"status": "failed", "failure": failure, "warnings": (said,)})
    record_page(console, failed, Path("folder"))
    SweepDisplay(console, Forecast(RUNS)).run_ended(failed)
    assert screen.getvalue().count("gone") == 4
    assert "first\n" in screen.getvalue()
    assert not set(screen.getvalue()) & {"\x1b", "\x07"}


def test_the_live_display_goes_when_the_sweep_ends() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    with SweepDisplay(console, Forecast(RUNS)) as display:
        display.run_started(RUNS[0], number=1)
    console.print(display)
    assert screen.getvalue().count("\x1b[?25l") == screen.getvalue().count("\x1b[?25h") == 1, "the cursor"
    assert screen.getvalue().endswith("\r")


def test_a_summary_fits_80_columns_and_shows_once_what_is_always_the_same() -> None:
    row = SummaryRow(
        label="leveldb",
        axes={"workload": "e100", "distribution": "zipf-composite", "dataset": "1 GiB", "threads": "2"},
        value="48.2 kop/s",
        interval="44.1 kop/s to 54.7 kop/s",
        n=3,
        ratio="0.467x (0.412x to 0.503x)",
        verdict="undecided",
    )
    other = replace(row, label="rocksdb", axes={**row.axes, "workload": "p", "distribution": "zipf-simple"})
    summary = Summary(
        title="quickstart",
        metric="Throughput of phase run",
        columns=("engine", "workload", "distribution", "dataset", "threads"),
        rows=(row, other),
        overall=("leveldb: 1.05x the throughput of rocksdb: undecided",),
        verdicts=("supported: it is faster (the interval lies inside the bounds)",),
        cautions=(Caution("spread", "values [of a point] spread " + "widely " * 20, "repeat"),),
        failures=(
            FailedRun("id", "leveldb.a", "leveldb", {}, 2, "out_of_memory", "killed [by] the kernel", ""),
        ),
    )
    screen = io.StringIO()
    summary_page(Console(file=screen, width=80, markup=False, highlight=False), summary)
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "Throughput of phase run, dataset 1 GiB, threads 2, n 3" in lines
    (first,) = (line.split() for line in lines if line.startswith("leveldb e100"))
    assert " ".join(first) == "leveldb e100 zipf-composite 48.2 kop/s 0.467x (0.412x to 0.503x) undecided"
    assert "out of memory: leveldb.a r2: killed [by] the kernel" in [line.strip() for line in lines]
    assert "values [of a point]" in screen.getvalue()
