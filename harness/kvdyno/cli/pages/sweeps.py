"""Pages of plans and sweeps: the experiments, what a plan would run, what a sweep found, where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from kvdyno.cluster import Makespan
from kvdyno.model.axes import AGE, VOLUME
from kvdyno.model.options import value_text
from kvdyno.model.point import Plan, Point
from kvdyno.model.results import ReportPaths, Summary, SummaryRow
from kvdyno.model.units import format_seconds, human_bytes
from kvdyno.pipeline import Reuse
from kvdyno.plan import Estimate
from kvdyno.spec import ExperimentSummary

from .shapes import counted, hanging, harmless, plain_table, relative

#: From this width on, intervals of the values themselves are shown beside those of the ratios.
_WIDE = 110


def experiments_text(known: Sequence[ExperimentSummary]) -> str:
    """The experiments that may be named, one a line."""
    if not known:
        return "no experiment is in experiments/"
    width = max(len(each.name) for each in known)
    lines = (f"  {each.name:<{width}}  {_title_or_problem(each)}" for each in known)
    return "\n".join(["expected an experiment, one of", *lines])


def _title_or_problem(experiment: ExperimentSummary) -> str:
    if experiment.problem is None:
        return experiment.title
    problem = experiment.problem.splitlines()[0].removeprefix(f"{experiment.path}:")
    return f"cannot be read: {experiment.path.name}:{problem}"


def plan_table(
    console: Console,
    plan: Plan,
    reuse: Reuse,
    *,
    rest: Estimate,
    price_per_hour: float | None = None,
    over: Makespan | None = None,
) -> None:
    """The points of a plan, then what the runs that are not stored cost, here and over hosts."""
    table = plain_table("point", ">runs", ">stored", ">a run takes")
    runs = Counter(run.point.identity for run in plan.runs)
    stored = Counter(run.point.identity for run in plan.runs if run.name in reuse.records)
    for point in plan.points:
        counts = (str(runs[point.identity]), str(stored[point.identity]))
        table.add_row(point.slug, *counts, format_seconds(point.expected_seconds))
    console.print(table)
    size = f"{counted(len(plan.points), 'point')}, {counted(len(plan.runs), 'run')}"
    console.print(f"\n{size}, {len(reuse.records)} stored already")
    _levels(console, plan)
    if memory := _memory(plan):
        console.print(f"memory: a run needs up to about {human_bytes(memory)}")
    if len(reuse.records) < len(plan.runs):
        _costs(console, rest, price_per_hour=price_per_hour, over=over)
    for note in (*_measured_again(reuse), *plan.notes):
        hanging(console, "note:", note, style="yellow")


def _memory(plan: Plan) -> int:
    """Bytes that the largest run needs; 0: not known."""
    return max((point.expected_memory_bytes for point in plan.points), default=0)


def _measured_again(reuse: Reuse) -> list[str]:
    reasons = (
        (reuse.partnerless, "because partners of the same sweep are missing"),
        (reuse.split, "because a step of their host's gauges split their blocks"),
    )
    return [
        f"{counted(len(runs), 'stored run')} {'is' if len(runs) == 1 else 'are'} measured again, {why}"
        for runs, why in reasons
        if runs
    ]


def _levels(console: Console, plan: Plan) -> None:
    """How often data are loaded, how old they are, and which volume ends mixes that write."""
    loads = max((dataset.load for dataset in plan.datasets), default=0)
    if not loads:
        return
    ages = _axis_values(plan, AGE)
    volume = plan.experiment.phases.measure_volume
    volumes = _axis_values(plan, VOLUME) or ([value_text(volume)] if volume else [])
    parts = [f"{counted(loads, 'load')} of each dataset"]
    parts += [f"age {', '.join(ages)}{' (young data)' if ages == ['0'] else ''}"] if ages else []
    parts += [f"writing mixes end at {', '.join(volumes)} times the data"] if volumes else []
    console.print("; ".join(parts))


def _axis_values(plan: Plan, axis: str) -> list[str]:
    values = dict.fromkeys(point.axes[axis] for point in plan.points if axis in point.axes)
    return [value_text(value) for value in values]


def _costs(console: Console, rest: Estimate, *, price_per_hour: float | None, over: Makespan | None) -> None:
    console.print(
        f"the rest: about {format_seconds(rest.seconds)}, of which {format_seconds(rest.load_seconds)} "
        f"to load data; {human_bytes(rest.disk_bytes)} of disk"
    )
    if rest.snapshots:
        aged = f"; {format_seconds(rest.age_seconds)} of the loading ages data" if rest.age_seconds else ""
        taken = human_bytes(rest.snapshot_bytes)
        console.print(f"{counted(rest.snapshots, 'snapshot')} of data, {taken} of the disk{aged}")
    if over:
        _over_hosts(console, over)
    if price_per_hour is not None:
        price = _price(rest, over, price_per_hour)
        console.print(f"price: about {price:,.2f}, at {price_per_hour:g} an hour")


def _over_hosts(console: Console, over: Makespan) -> None:
    between = f"{format_seconds(over.low)} to {format_seconds(over.high)}"
    console.print(
        f"over hosts: about {format_seconds(over.seconds)} ({between} in nine of ten simulated sweeps), "
        f"{counted(over.jobs, 'job')}, the longest {format_seconds(over.longest)}",
        soft_wrap=True,
    )
    console.print(
        f"hosts are taken for {format_seconds(over.host_seconds)} in all, "
        f"of which {format_seconds(over.load_seconds)} to load data",
        soft_wrap=True,
    )


def _price(rest: Estimate, over: Makespan | None, per_hour: float) -> float:
    return (over.host_seconds if over else rest.seconds) / 3600 * per_hour


def plan_document(
    plan: Plan,
    reuse: Reuse,
    *,
    rest: Estimate,
    price_per_hour: float | None = None,
    over: Makespan | None = None,
) -> dict[str, Any]:
    """The plan for scripts; estimates and `price` are for the runs that are not stored."""
    return {
        "experiment": plan.experiment.name,
        "profile": plan.experiment.profile.name,
        "stored": len(reuse.records),
        "partnerless": list(reuse.partnerless),
        "split": list(reuse.split),
        "seconds": rest.seconds,
        "load_seconds": rest.load_seconds,
        "age_seconds": rest.age_seconds,
        "snapshots": rest.snapshots,
        "snapshot_bytes": rest.snapshot_bytes,
        "disk_bytes": rest.disk_bytes,
        "memory_bytes": _memory(plan) or None,
        "over_hosts": asdict(over) if over else None,
        "price": None if price_per_hour is None else _price(rest, over, price_per_hour),
        "notes": list(plan.notes),
        "points": [_point_document(point) for point in plan.points],
        "runs": [
            {"name": run.name, "load": run.load, "seed": run.seed, "stored": run.name in reuse.records}
            for run in plan.runs
        ],
    }


def _point_document(point: Point) -> dict[str, Any]:
    return {
        "slug": point.slug,
        "identity": point.identity,
        "axes": dict(point.axes),
        "cap_bytes": point.cap_bytes,
        "phases": list(point.phases),
        "properties": dict(point.properties),
    }


def summary_page(console: Console, summary: Summary) -> None:
    """What a sweep found: a line a point; then means, claims, failures, cautions."""
    console.print(Text(f"\n{summary.title}", "bold"))
    _summary_table(console, summary)
    for sentence in summary.overall:
        console.print(f"\n{sentence}")
    for verdict in summary.verdicts:
        hanging(console, "claim", verdict)
    for failure in summary.failures:
        mark = f"{failure.status.replace('_', ' ')}:"
        said = f"{failure.point} r{failure.repetition}: {harmless(failure.reason)}"
        hanging(console, mark, said, style="bold red")
    for caution in summary.cautions:
        remedy = f"; remedy: {caution.remedy}" if caution.remedy else ""
        hanging(console, "caution:", harmless(caution.message) + remedy, style="yellow")


def _summary_table(console: Console, summary: Summary) -> None:
    """Columns with the same value in every row are printed once, above."""
    columns = (*summary.columns, "n")
    shown = [c for c in columns if len({_cell(row, c) for row in summary.rows}) > 1]
    same = [f"{c} {_cell(summary.rows[0], c)}" for c in columns if summary.rows and c not in shown]
    console.print(Text(", ".join([summary.metric, *same]), "dim"))
    intervals = ["interval"] if console.width >= _WIDE else []
    table = plain_table(*shown, ">median", *(f">{name}" for name in intervals), ">ratio", "", gap=1)
    for row in summary.rows:
        table.add_row(
            *(_cell(row, column) for column in shown),
            Text(row.value, "bold"),
            *(row.interval for _ in intervals),
            row.ratio,
            row.verdict,
        )
    console.print(table)


def _cell(row: SummaryRow, column: str) -> str:
    match column:
        case "engine":
            return row.label
        case "n":
            return str(row.n)
        case _:
            return row.axes.get(column, "")


def outcome_document(summary: Summary, paths: ReportPaths, *, measured: int, reused: int) -> dict[str, Any]:
    """A finished sweep for scripts."""
    return {
        "measured": measured,
        "reused": reused,
        "report": str(paths.html),
        "figures": [str(path) for path in paths.figures],
        "tables": [str(path) for path in paths.tables],
        "left_out": list(paths.left_out),
        "metric": summary.metric,
        "rows": [
            {
                "label": row.label,
                **row.axes,
                "value": row.value,
                "interval": row.interval,
                "n": row.n,
                "ratio": row.ratio,
                "verdict": row.verdict,
            }
            for row in summary.rows
        ],
        "overall": list(summary.overall),
        "verdicts": list(summary.verdicts),
        "failures": [
            {"run_id": f.run_id, "point": f.point, "status": f.status, "reason": f.reason}
            for f in summary.failures
        ],
        "cautions": [caution.message for caution in summary.cautions],
    }


def places(console: Console, paths: ReportPaths) -> None:
    """What the report lacks, and where it and its parts are: the last lines of a sweep."""
    for sentence in paths.left_out:
        hanging(console, "left out:", sentence, style="yellow")
    for name, files in (("tables", paths.tables), ("figures", paths.figures)):
        for folder in sorted({path.parent for path in files}):
            console.print(f"{name + ':':<9}{relative(folder)}", soft_wrap=True)
    console.print(f"{'report:':<9}{relative(paths.html)}", soft_wrap=True)
