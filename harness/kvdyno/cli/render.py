"""How plans and sweeps look, in a terminal of 80 columns and as JSON."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from kvdyno.model.point import Plan, Point
from kvdyno.model.record import Record
from kvdyno.model.results import ReportPaths, Summary, SummaryRow
from kvdyno.model.units import format_seconds, human_bytes
from kvdyno.plan import Estimate
from kvdyno.spec import ExperimentSummary

from .layout import counted, hanging, harmless, plain_table

#: From this width on, intervals of the values themselves are shown beside those of the ratios.
_WIDE = 110


def silent() -> Console:
    """A console that shows nothing, for JSON output."""
    return Console(file=io.StringIO())


def experiments_text(known: Sequence[ExperimentSummary]) -> str:
    """The experiments that may be named, one a line."""
    if not known:
        return "no experiment is in experiments/"
    width = max(len(each.name) for each in known)
    lines = (f"  {each.name:<{width}}  {each.title or 'cannot be read'}" for each in known)
    return "\n".join(["expected an experiment, one of", *lines])


def plan_table(
    console: Console,
    plan: Plan,
    cached: Mapping[str, Record],
    *,
    rest: Estimate,
    price_per_hour: float | None = None,
) -> None:
    """The points of a plan, then what the runs that are not stored cost."""
    table = plain_table("point", ">runs", ">stored", ">a run takes")
    for point in plan.points:
        names = [run.name for run in plan.runs if run.point.identity == point.identity]
        stored = sum(name in cached for name in names)
        table.add_row(point.slug, str(len(names)), str(stored), format_seconds(point.expected_seconds))
    console.print(table)
    size = f"{counted(len(plan.points), 'point')}, {counted(len(plan.runs), 'run')}"
    console.print(f"\n{size}, {len(cached)} stored already")
    if len(cached) < len(plan.runs):
        console.print(
            f"the rest: about {format_seconds(rest.seconds)}, of which {format_seconds(rest.load_seconds)} "
            f"to load data; {human_bytes(rest.disk_bytes)} of disk"
        )
        if price_per_hour is not None:
            console.print(f"price: about {_price(rest, price_per_hour):,.2f}, at {price_per_hour:g} an hour")
    for note in plan.notes:
        hanging(console, "note:", note, style="yellow")


def _price(rest: Estimate, per_hour: float) -> float:
    return rest.seconds / 3600 * per_hour


def plan_document(
    plan: Plan, cached: Mapping[str, Record], *, rest: Estimate, price_per_hour: float | None = None
) -> dict[str, Any]:
    """The plan for scripts; `seconds`, `disk_bytes` and `price` are for the runs that are not stored."""
    return {
        "experiment": plan.experiment.name,
        "profile": plan.experiment.profile.name,
        "stored": len(cached),
        "seconds": rest.seconds,
        "load_seconds": rest.load_seconds,
        "disk_bytes": rest.disk_bytes,
        "price": None if price_per_hour is None else _price(rest, price_per_hour),
        "notes": list(plan.notes),
        "points": [_point_document(point) for point in plan.points],
        "runs": [{"name": run.name, "stored": run.name in cached} for run in plan.runs],
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
    """Columns that say the same in every row are said once, above."""
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
    """Where the report and its parts are: the last lines of a sweep."""
    for name, files in (("tables", paths.tables), ("figures", paths.figures)):
        for folder in sorted({path.parent for path in files}):
            console.print(f"{name + ':':<9}{relative(folder)}", soft_wrap=True)
    console.print(f"{'report:':<9}{relative(paths.html)}", soft_wrap=True)


def relative(path: Path) -> str:
    """As seen from here, unless it is elsewhere."""
    shown = os.path.relpath(path)
    return str(path) if shown.startswith("..") else shown
