"""Pages of records: one, many, two sets compared, a run beside its repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from kvdyno.model.axes import DATASET
from kvdyno.model.experiment import SAME_WITHIN
from kvdyno.model.record import Metric, Record
from kvdyno.model.results import Comparison
from kvdyno.model.units import human_bytes
from kvdyno.model.words import verdict_words
from kvdyno.pipeline import Rerun
from plots.units import axis_text, quantity, three_digits

from .shapes import hanging, harmless, plain_table, relative

#: Ends of the names of the metrics that a rerun shows; the records hold all.
_RESULTS = ("throughput", "latency.p50", "latency.p99", "cpu.per_operation", "space_amplification")


def comparison(console: Console, compared: Comparison, *, metric: str, phase: str) -> None:
    """Ratios of two sets of records, point by point."""
    rows = compared.rows[(compared.rows["metric"] == metric) & (compared.rows["phase"] == phase)]
    table = plain_table("point", ">before", ">after", ">ratio", ">interval", "")
    for row in rows.to_dict("records"):
        axes = (axis_text(row[name], "byte" if name == DATASET else "") for name in compared.axes)
        table.add_row(
            " ".join((row["label"], *(text for text in axes if text != "–"))),
            quantity(row["before"], row["unit"]),
            quantity(row["after"], row["unit"]),
            *_compared(row),
            verdict_words(row["verdict"], within=row["within"], margin=SAME_WITHIN),
        )
    console.print(table)
    console.print(f"\n{metric} of phase {phase}; {compared.matched} points in both, loads included")
    for side, names in (("before", compared.only_before), ("after", compared.only_after)):
        for name in names:
            console.print(f"only {side}: {name}", soft_wrap=True)
    for caution in compared.cautions:
        hanging(console, "caution:", caution.message, style="yellow")


def _compared(row: Mapping[Any, Any]) -> tuple[str, str]:
    """A ratio, or a difference with its unit, and its interval."""
    if row["kind"] == "ratio":
        texts = [f"{three_digits(row[name])}x" for name in ("ratio", "low", "high")]
    else:
        texts = [quantity(row[name], row["unit"]) for name in ("difference", "low", "high")]
        texts[0] = f"{'+' if row['difference'] > 0 else ''}{texts[0]}"
    return texts[0], f"{texts[1]} to {texts[2]}" if pd.notna(row["low"]) else ""


def record_page(console: Console, record: Record, folder: Path) -> None:
    """One record: what was asked, how it ended, its metrics by phase."""
    console.print(Text(f"{record.point.slug} r{record.repetition}", "bold"))
    cap = f"capped at {human_bytes(record.point.cap_bytes)}" if record.runner.capped else "uncapped"
    console.print(f"{record.status.replace('_', ' ')}, {record.runner.name} runner, {cap}")
    console.print(f"{record.started_at} to {record.ended_at}")
    console.print(relative(folder), soft_wrap=True)
    for warning in record.warnings:
        hanging(console, "warning:", harmless(warning), style="yellow")
    if record.failure:
        console.print(Text(f"\n{harmless(record.failure.reason)}", "red"), soft_wrap=True)
        console.print(Text(harmless(record.failure.log_tail), "dim"), soft_wrap=True)
    if record.outcome and record.outcome.phases:
        _metrics_table(console, record)


def _metrics_table(console: Console, record: Record) -> None:
    """Metrics by phase; `show --json` has all digits."""
    phases = record.outcome.phases if record.outcome else ()
    table = plain_table("\nmetric", *(f">\n{phase.name}" for phase in phases))
    table.add_row("seconds", *(quantity(phase.seconds, "s") for phase in phases))
    for name in dict.fromkeys(name for phase in phases for name in phase.metrics):
        table.add_row(name, *(_quantity(phase.metrics.get(name)) for phase in phases))
    console.print(table)


def _quantity(metric: Metric | None) -> str:
    if metric is None:
        return ""
    if metric.value == 0:
        return "0"
    if metric.unit in ("count", "call", "row", "op") and abs(metric.value) < 1e6:
        return f"{metric.value:,.0f}"
    return quantity(metric.value, metric.unit)


def rerun_document(done: Rerun) -> dict[str, object]:
    """A run and its repetition for scripts."""
    return {
        "before": done.before.model_dump(),
        "again": done.again.model_dump(),
        "differences": [asdict(each) for each in done.differences],
    }


def rerun_page(console: Console, done: Rerun) -> None:
    """A run and its repetition: what differs beside results, then results."""
    before, again = done.before, done.again
    console.print(Text(f"{before.point.slug} r{before.repetition}", "bold"))
    for record in (before, again):
        console.print(f"{record.started_at}  {record.status.replace('_', ' ')}  {record.run_id}")
    if done.differences:
        table = plain_table("\nwhat differs", "\nbefore", "\nnow")
        for each in done.differences:
            table.add_row(each.name, _fact(each.before), _fact(each.now))
        console.print(table)
    else:
        console.print("\nNothing but results differs: build, options, confinement and machine are the same.")
    _results_table(console, before, again)
    console.print("\nOne run beside one: without repetitions there is no interval.", style="dim")


def _fact(value: object) -> str:
    return "none" if value is None else harmless(str(value))


def _results_table(console: Console, before: Record, again: Record) -> None:
    name = next((name for name in ("run", "build") if before.phase(name) and again.phase(name)), None)
    if name is None:
        return
    then, now = before.phase(name), again.phase(name)
    assert then
    assert now
    table = plain_table("\nmetric", ">\nbefore", ">\nnow", ">\nnow / before")
    for metric in (each for each in then.metrics if each in now.metrics and _is_result(each)):
        first, second = then.metrics[metric], now.metrics[metric]
        ratio = three_digits(second.value / first.value) if first.value else ""
        table.add_row(metric, _quantity(first), _quantity(second), ratio)
    console.print(table)


def _is_result(metric: str) -> bool:
    return metric.endswith(_RESULTS) or metric.startswith(("write_amplification", "read_amplification"))


def records_table(console: Console, records: Sequence[Record]) -> None:
    """Records in one line each, newest last. A run is called by the end of its id."""
    table = plain_table("run", "started", "point", ">rep", ">result")
    for record in records:
        phase = record.phase("run") or record.phase("build")
        throughput = phase.metrics.get("throughput") if phase else None
        result = Text(quantity(throughput.value, throughput.unit) if throughput else record.status)
        if record.status != "ok":
            result = Text(record.status.replace("_", " "), "bold red")
        table.add_row(
            record.run_id.rpartition("-")[2],
            record.started_at[:16].replace("T", " "),
            record.point.slug,
            str(record.repetition),
            result,
        )
    console.print(table)
