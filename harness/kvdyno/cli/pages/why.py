"""What `kvdyno regress` shows of a point that is worse: counters and functions that changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from kvdyno import pipeline
from kvdyno.model.calls import CallDifference, FunctionChange, short_name
from kvdyno.regress import CounterChange

from .shapes import harmless, plain_table, relative

_SHOWN = 8
#: A function's change counts from this share of all instructions on.
_SHARE_LEAST = 0.001


def page(console: Console, reasons: Sequence[pipeline.Reason]) -> None:
    """For each point what changed most, and where its flame graph is."""
    for reason in reasons:
        console.print(f"why {harmless(reason.point)} ({reason.phase}):", soft_wrap=True)
        if reason.counters:
            table = plain_table("counter", ">BASE", ">HEAD", ">ratio", "interval", ">pairs", gap=1)
            for each in reason.counters[:_SHOWN]:
                figures = (f"{each.base:.4g}", f"{each.head:.4g}", _ratio(each), _interval(each), str(each.n))
                table.add_row(f"{each.name} [{each.unit}]", *figures)
            console.print(table)
        elif reason.pairs:
            console.print("no counter changed by more than its scatter between pairs")
        else:
            console.print("no pair was measured, so there are no counters")
        if reason.calls:
            table = plain_table("function, instructions an operation", ">BASE", ">HEAD", ">change", gap=1)
            for function in _functions(reason.calls):
                change = f"{function.change:+,.0f}"
                name = harmless(short_name(function.function))
                table.add_row(name, f"{function.base:,.0f}", f"{function.head:,.0f}", change)
            base, head = reason.calls.base.total, reason.calls.head.total
            table.add_row("all of the client's", f"{base:,.0f}", f"{head:,.0f}", f"{head - base:+,.0f}")
            console.print(table)
        for line in _notes(reason):
            console.print(line, soft_wrap=True)
        console.print()


def document(reasons: Sequence[pipeline.Reason]) -> list[dict[str, Any]]:
    """For scripts; docs/formats.md describes it."""
    return [
        {
            "point": reason.point,
            "phase": reason.phase,
            "counters": [_counter(each) for each in reason.counters],
            "instructions": _instructions(reason.calls) if reason.calls else None,
            "missing": reason.missing or None,
            "flames": reason.flames,
        }
        for reason in reasons
    ]


def markdown_lines(reasons: Sequence[pipeline.Reason]) -> Iterator[str]:
    """One line for each point."""
    for reason in reasons:
        parts = []
        if reason.calls:
            base, head = reason.calls.base.total, reason.calls.head.total
            parts.append(f"{head:,.0f} instructions an operation, {head / base:.3f} of BASE's")
            if functions := _functions(reason.calls)[:1]:
                name = short_name(functions[0].function)
                parts.append(f"most of it `{name}` ({functions[0].change:+,.0f})")
        for each in reason.counters[:2]:
            figures = ", ".join(filter(None, (_ratio(each), _interval(each))))
            parts.append(f"`{each.name}` {figures}, {each.n} pairs")
        yield f"why {reason.point}: " + (
            "; ".join(parts) or reason.missing or "nothing that was counted changed"
        )


def _notes(reason: pipeline.Reason) -> Iterator[str]:
    if reason.flames:
        yield f"flame graph: {relative(reason.flames)}"
    if reason.missing:
        yield f"no call profile: {harmless(reason.missing)}"


def _functions(calls: CallDifference) -> tuple[FunctionChange, ...]:
    """Those whose change is worth a line."""
    least = _SHARE_LEAST * calls.base.total
    return tuple(each for each in calls.functions()[:_SHOWN] if abs(each.change) >= least)


def _ratio(change: CounterChange) -> str:
    if change.log is None:
        return "appeared" if change.head else "vanished"
    return f"{math.exp(change.log.mean):.3f}"


def _interval(change: CounterChange) -> str:
    return "" if change.log is None else f"{math.exp(change.log.low):.3f}–{math.exp(change.log.high):.3f}"


def _counter(change: CounterChange) -> dict[str, Any]:
    log = change.log
    return {
        "name": change.name,
        "unit": change.unit,
        "pairs": change.n,
        "base": change.base,
        "head": change.head,
        "ratio": math.exp(log.mean) if log else None,
        "low": math.exp(log.low) if log else None,
        "high": math.exp(log.high) if log else None,
    }


def _instructions(calls: CallDifference) -> dict[str, Any]:
    least = _SHARE_LEAST * calls.base.total
    changed = [each for each in calls.functions() if abs(each.change) >= least]
    return {
        "operations": calls.head.operations,
        "base": calls.base.total,
        "head": calls.head.total,
        "functions": [{"function": f.function, "base": f.base, "head": f.head} for f in changed],
    }
