"""What `kvdyno selftest` does and prints."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kvdyno import pipeline
from kvdyno.errors import EngineError, UsageError
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.noise import HostNoise
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.versions import build_remedy
from kvdyno.model.words import unknown
from kvdyno.pipeline import selftest as parts
from kvdyno.selftest import agreement
from kvdyno.selftest.generators import Check
from kvdyno.selftest.noise import COMPARISONS_LEAST, COVERAGE_LEAST, FALSE_ALARMS_MOST, Score, scores

from .app import console, print_json
from .pages.shapes import silent
from .progress import Forecast, SweepDisplay

_EXPERIMENT = "selftest"
#: The experiment whose engine that does nothing shows what the driver costs.
_DRIVER, _NOTHING = "driver-overhead", "noop"

#: What each gauge is, by its name, and how its value is written.
_GAUGES: Mapping[str, tuple[str, str]] = {
    "disk.read_4k_p50_us": ("4 KiB reads, one at a time: median", "{:,.0f} us"),
    "disk.read_4k_p99_us": ("99th percentile", "{:,.0f} us"),
    "disk.read_4k_depth16_per_second": ("4 KiB reads, 16 at a time", "{:,.0f} a second"),
    "disk.read_mib_per_second": ("sequential reads", "{:,.0f} MiB/s"),
    "disk.write_mib_per_second": ("sequential writes", "{:,.0f} MiB/s"),
    "disk.fsync_p50_us": ("4 KiB written and synced: median", "{:,.0f} us"),
    "disk.fsync_p99_us": ("99th percentile", "{:,.0f} us"),
    "memory.copy_mib_per_second": ("memory, copied by one thread", "{:,.0f} MiB/s"),
    "cpu.loop_ms": ("fixed CPU loop", "{:.2f} ms"),
}


@dataclass(frozen=True)
class Tools:
    """Tools to stand beside, if `wanted`: of which engine, and where they are (None: on PATH, or none).

    Each takes turns with the driver `pairs` times.
    """

    engine: str
    db_bench: Path | None
    ycsb: Path | None
    wanted: bool
    pairs: int


def run(
    here: Project, *, runner: RunnerName, repeat: int | None, tools: Tools, force: bool, json: bool
) -> None:
    """Everything in turn. Raises BusyError on a busy machine, EngineError if a test fails."""
    if repeat is not None and repeat < parts.GROUP:
        raise UsageError(
            f"--repeat: expected {parts.GROUP} or more, which are compared together, found {repeat}"
        )
    out = silent() if json else console
    twins = pipeline.Request(experiment=_EXPERIMENT, runner=runner, repeat=repeat)
    alone = pipeline.Request(experiment=_DRIVER, runner=runner, engines=(_NOTHING,))
    engines, whole = pipeline.make_plan(here, twins)
    _, idle = pipeline.make_plan(here, alone)
    rival = _tools_engine(engines, tools)
    environment = parts.demand_quiet(here)
    checks = parts.check_generators(whole.points[0].engine)
    gauges, flaws = parts.gauge_host(here)
    driver = parts.driver_costs(idle, _swept(here, idle, force=force, out=out))
    compared = _tools(here, rival, tools, say=out.print) if rival else ()
    records = _swept(here, whole, force=force, out=out)
    counted = parts.check_histograms(here, records)
    found = parts.measure_noise(
        here, whole, records=records, environment=environment, gauges=gauges, driver=driver
    )
    if json:
        print_json(_document(checks, counted, found, compared, flaws=flaws))
    else:
        _page(checks, counted, found, compared, flaws=flaws)
    _demand_sound(checks, counted, found, compared)


def _swept(here: Project, whole: Plan, *, force: bool, out: Console) -> tuple[Record, ...]:
    """The records of a plan: those that are stored, unless `force`, and the rest measured now."""
    how = pipeline.SweepSettings(force=force)
    rest = pipeline.remaining(whole, pipeline.reusable(here, whole, how=how))
    with SweepDisplay(out, Forecast(rest.runs)) as display:
        return pipeline.sweep(here, whole, how=how, observer=display).records


def _tools_engine(engines: Mapping[str, Engine], asked: Tools) -> Engine | None:
    """The engine that tools run on; None if none is wanted. Raises EngineError if it is not built."""
    if not asked.wanted:
        return None
    if asked.engine not in engines:
        raise EngineError(unknown("engine", asked.engine, sorted(engines)), where="--engine")
    return engines[asked.engine]


def _db_bench(engine: Engine, asked: Tools) -> Path | None:
    """The one named, else that of the engine's own build; a distribution's is on PATH."""
    if asked.db_bench:
        return asked.db_bench
    if engine.built_version:
        own = engine.binary.parent / "db_bench"
        return own if own.is_file() else None
    on_path = shutil.which("db_bench")
    return Path(on_path) if on_path else None


def _tools(
    here: Project, engine: Engine, asked: Tools, *, say: Callable[[str], None]
) -> tuple[parts.Agreement, ...]:
    """The driver beside each tool that is there."""
    tools: list[Callable[[Path], agreement.Side]] = []
    bench = _db_bench(engine, asked)
    if bench is None:
        say(
            f"no db_bench of {asked.engine}'s build here: the driver's rates were not compared with another "
            f"tool's; remedy: {_db_bench_remedy(engine)}"
        )
    else:
        tools.append(lambda store: agreement.DbBench(bench, store=store))
    if (ycsb := asked.ycsb) is not None:
        name = engine.description.engine.name
        tools.append(lambda store: agreement.UpstreamYcsb(ycsb, engine=name, store=store))
    rows = (
        parts.compare_tools(here, engine=engine, tool=tool, repetitions=asked.pairs, say=say)
        for tool in tools
    )
    return tuple(chain.from_iterable(rows))


def _db_bench_remedy(engine: Engine) -> str:
    if engine.built_version:
        return build_remedy(engine.description.engine.name, engine.built_version) + " --tools"
    return "apt-get install rocksdb-tools"


def _page(
    checks: Sequence[Check],
    counted: parts.HistogramCheck,
    found: HostNoise,
    compared: Sequence[parts.Agreement],
    *,
    flaws: Sequence[str],
) -> None:
    failed = [check for check in checks if not check.holds(checks=len(checks))]
    console.print(f"\ngenerators: {len(checks) - len(failed)} of {len(checks)} laws hold")
    for check in failed:
        console.print(
            f"  {check.name}: χ² {check.statistic:.0f} over {check.freedom} cells, p = {check.p:.1g}"
        )
    console.print(f"histograms: {counted.compared:,} numbers read again, {len(counted.different)} differ")
    _gauge_table(found, flaws)
    _driver_table(found)
    _score_table(scores(found.twins))
    _effect_table(found)
    if compared:
        _agreement_table(compared)


def _gauge_table(found: HostNoise, flaws: Sequence[str]) -> None:
    table = Table("this host", "", box=None, title_justify="left")
    table.title = "\nDisk, memory and CPU"
    for name, (what, form) in _GAUGES.items():
        value = found.gauges.get(name)
        table.add_row(what, "not measured" if value is None else form.format(value))
    console.print(table)
    for flaw in flaws:
        console.print(f"  {flaw}")


def _driver_table(found: HostNoise) -> None:
    table = Table("workload", "threads", "CPU time", "lowest to highest", "n", box=None, title_justify="left")
    table.title = "\nThe driver alone, per operation"
    for cost in found.driver:
        reach = f"{cost.lowest_ns:.0f} to {cost.highest_ns:.0f} ns"
        table.add_row(cost.workload, str(cost.threads), f"{cost.median_ns:.0f} ns", reach, str(cost.runs))
    console.print(table)


def _score_table(found: Sequence[Score]) -> None:
    table = Table("metric", "comparisons", "intervals hold 1", "false alarms", box=None, title_justify="left")
    table.title = f"\nTwins, compared over {parts.GROUP} repetitions as contenders would be"
    for score in found:
        shares = (f"{score.coverage:.1%}", f"{score.false_alarm_rate:.1%}")
        table.add_row(score.metric, str(score.comparisons), *shares)
    console.print(table)


def _effect_table(found: HostNoise) -> None:
    table = Table("engine", "workload", "metric", "3 repetitions", "5", "10", box=None, title_justify="left")
    table.title = "\nSmallest difference that would be found here, four times in five"
    for entry in found.of("throughput"):
        effects = [parts.smallest_effect(entry, repetitions=n) for n in (3, 5, 10)]
        workload = str(entry.axes.get("workload", ""))
        table.add_row(entry.engine, workload, entry.metric, *(f"{effect:.1%}" for effect in effects))
    console.print(table)


def _agreement_table(compared: Sequence[parts.Agreement]) -> None:
    table = Table(
        "step", "tool", "kvdyno over it", "95 %", "n", "within 10 %", box=None, title_justify="left"
    )
    table.title = "\nThe driver beside other tools"
    for row in compared:
        interval = f"{row.low:.3f} to {row.high:.3f}"
        agrees = "yes" if row.agrees else "not shown"
        table.add_row(row.step, f"{row.tool} {row.version}", f"{row.ratio:.3f}", interval, str(row.n), agrees)
    console.print(table)


def _document(
    checks: Sequence[Check],
    counted: parts.HistogramCheck,
    found: HostNoise,
    compared: Sequence[parts.Agreement],
    *,
    flaws: Sequence[str],
) -> dict[str, object]:
    return {
        "generators": [asdict(check) | {"holds": check.holds(checks=len(checks))} for check in checks],
        "histograms": {"compared": counted.compared, "different": [asdict(d) for d in counted.different]},
        "scores": [
            asdict(s) | {"coverage": s.coverage, "false_alarm_rate": s.false_alarm_rate, "sound": s.sound}
            for s in scores(found.twins)
        ],
        "noise": found.model_dump(),
        "flaws": list(flaws),
        "tools": [asdict(row) for row in compared],
    }


def _demand_sound(
    checks: Sequence[Check],
    counted: parts.HistogramCheck,
    found: HostNoise,
    compared: Sequence[parts.Agreement],
) -> None:
    """Raises EngineError if this dynamometer does not measure what it claims to measure."""
    flaws = [f"{c.name} does not follow its law" for c in checks if not c.holds(checks=len(checks))]
    if counted.different:
        flaws.append(f"{len(counted.different)} numbers differ from their histograms")
    for score in scores(found.twins):
        if score.metric == "throughput" and score.comparisons >= COMPARISONS_LEAST and not score.sound:
            flaws.append(
                f"{score.metric}: expected intervals that hold the truth in {COVERAGE_LEAST:.0%} of cases, "
                f"false alarms in {FALSE_ALARMS_MOST:.0%} at most; found {score.coverage:.1%} and "
                f"{score.false_alarm_rate:.1%}"
            )
    flaws += [
        f"{row.step} differs from {row.tool}'s" for row in compared if row.low > 1.1 or row.high < 1 / 1.1
    ]
    if flaws:
        raise EngineError(
            "; ".join(flaws), where="kvdyno selftest", remedy="measure nothing until the cause is known"
        )
