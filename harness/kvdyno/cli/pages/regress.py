"""What `kvdyno regress` shows: a table, JSON, JUnit, a comment's Markdown, annotations."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from kvdyno import pipeline
from kvdyno.model.metrics import INSTRUCTIONS
from kvdyno.model.noise import selftest_command
from kvdyno.model.units import format_seconds
from kvdyno.regress import Verdict, changed_first

from . import why
from .shapes import counted, harmless, plain_table

_ENDED = {
    "decided": "everything is decided",
    "budget": "the budget ended",
    "pairs": "the suite's most pairs are measured",
}
_STYLES = {"regression": "bold red", "improvement": "green", "undecided": "yellow", "same": "dim"}
_MARKS = {"regression": "❌", "improvement": "✅", "undecided": "❔", "same": "✅"}
_SUMMARIES = ("no regression", "regression", "undecided")


def page(
    console: Console,
    found: pipeline.GateResult,
    *,
    command: str,
    report: Path | None,
    reasons: Sequence[pipeline.Reason] = (),
) -> None:
    """The table that lists what changed first, and what a reader must know of it."""
    if not found.gate.points:
        console.print(summary(found), soft_wrap=True)
        return
    table = plain_table("point", "metric", ">ratio", "interval", ">pairs", ">sees", "verdict", gap=1)
    for each in changed_first(found.verdicts):
        style = _STYLES[_kind(each)]
        shown_ratio, shown_interval = ratio(each), interval(each)
        n, sees = str(each.judged.n), _visible(each)
        table.add_row(
            each.point, each.metric, shown_ratio, shown_interval, n, sees, Text(_short(each), style)
        )
    base, head = (harmless(arm.text) for arm in found.gate.arms)
    console.print(f"\nHEAD {head} over BASE {base}", soft_wrap=True)
    console.print(table)
    console.print()
    why.page(console, reasons)
    for line in (*_notes(found), *([f"report: {report}"] if report else []), f"again: {command}"):
        console.print(harmless(line), soft_wrap=True)
    kind = "regression" if found.status == 1 else "undecided" if found.status else "improvement"
    console.print(Text(summary(found), _STYLES[kind]), soft_wrap=True)


def summary(found: pipeline.GateResult) -> str:
    """One line: the gate's verdict, and what it rests on."""
    if not found.gate.points:
        return "no regression: BASE and HEAD are one build with the same options, nothing was measured"
    counts = _counts(found.verdicts)
    runs = f"{counted(found.pairs, 'pair')} in {format_seconds(found.seconds)}, {_ENDED[found.stopped]}"
    return f"{_SUMMARIES[found.status]}: {counts}; {runs}"


def document(
    found: pipeline.GateResult, *, command: str, report: Path | None, reasons: Sequence[pipeline.Reason] = ()
) -> dict[str, Any]:
    """For scripts; docs/formats.md describes it."""
    gate = found.gate
    base, head = ({"name": arm.text, "commit": arm.commit} for arm in gate.arms)
    return {
        "schema_version": "kvdyno.gate/1",
        "status": found.status,
        "summary": _SUMMARIES[found.status],
        "base": base,
        "head": head,
        "suite": gate.whole.experiment.name,
        "same_build": not gate.points,
        "shared_snapshots": gate.shares_snapshots,
        "level": gate.level,
        "pairs": found.pairs,
        "runs_measured": found.measured,
        "seconds": found.seconds,
        "stopped": found.stopped,
        "noise_known": found.noise_known,
        "left_aside": [{"pairs": each.pairs, "why": each.why} for each in found.left_aside],
        "verdicts": [_row(each) for each in changed_first(found.verdicts)],
        "why": why.document(reasons),
        "report": report,
        "command": command,
    }


def markdown(found: pipeline.GateResult, *, command: str, reasons: Sequence[pipeline.Reason] = ()) -> str:
    """A comment: only what changed or is undecided, and the command that repeats it."""
    lines = [f"**{summary(found)}**", ""]
    changed = [each for each in changed_first(found.verdicts) if _kind(each) != "same"]
    if changed:
        lines += [
            "| | point | metric | HEAD/BASE | interval | pairs | verdict |",
            "|---|---|---|---:|---|---:|---|",
        ]
        for each in changed:
            cells = (
                _MARKS[_kind(each)],
                each.point,
                each.metric,
                ratio(each),
                interval(each),
                str(each.judged.n),
                _word(each),
            )
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [f"{note}  " for note in (*why.markdown_lines(reasons), *_notes(found))]
    lines += ["", "```sh", command, "```", ""]
    return "\n".join(lines)


def junit(found: pipeline.GateResult) -> str:
    """A test case for each comparison: regressions fail, what is undecided is skipped."""
    kinds = [_kind(each) for each in found.verdicts]
    suite = ElementTree.Element(
        "testsuite",
        name=f"kvdyno {found.gate.whole.experiment.name}",
        tests=str(len(kinds)),
        failures=str(kinds.count("regression")),
        skipped=str(kinds.count("undecided")),
        time=f"{found.seconds:.1f}",
    )
    for each, kind in zip(found.verdicts, kinds, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=each.point, name=each.metric)
        element = {"regression": "failure", "undecided": "skipped"}.get(kind)
        if element:
            ElementTree.SubElement(case, element, message=_sentence(each))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"


def annotation_lines(found: pipeline.GateResult) -> Iterator[str]:
    """Lines that GitHub Actions shows beside a commit."""
    words = {"regression": "error", "undecided": "warning"}
    for each in changed_first(found.verdicts):
        if word := words.get(_kind(each)):
            text = _sentence(each).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
            yield f"::{word} title=kvdyno regress::{text}"


def command_again(request: pipeline.GateRequest, *, gate: pipeline.Gate, uncapped: bool) -> str:
    """The command that repeats the gate, with commits instead of names that move."""
    words = ["kvdyno", "regress", *(_arm_again(arm) for arm in gate.arms), "--suite", request.suite]
    words += ["--profile", request.profile] if request.profile != "quick" else []
    words += ["--engine", request.engine] if request.engine else []
    words += ["--margin", f"{request.margin:g}"] if request.margin else []
    words += ["--budget", f"{request.budget_seconds:g}s"] if request.budget_seconds else []
    words += ["--twins"] if request.twins else []
    return shlex.join([*words, *(["--uncapped"] if uncapped else [])])


def _arm_again(arm: pipeline.Arm) -> str:
    if arm.commit is None or arm.path:
        return arm.text
    _, colon, settings = arm.text.partition(":")
    return arm.commit[:12] + colon + settings


def _kind(verdict: Verdict) -> str:
    if verdict.regression:
        return "regression"
    if verdict.undecided:
        return "undecided"
    return "improvement" if verdict.improvement else "same"


def _counts(verdicts: Sequence[Verdict]) -> str:
    """ "1 of 8 comparisons worse, 2 undecided"."""
    kinds = [_kind(each) for each in verdicts]
    parts = [f"{kinds.count('regression')} of {counted(len(kinds), 'comparison')} worse"]
    parts += [f"{kinds.count('improvement')} better"] if "improvement" in kinds else []
    parts += [f"{kinds.count('undecided')} undecided"] if "undecided" in kinds else []
    return ", ".join(parts)


def _notes(found: pipeline.GateResult) -> Iterator[str]:
    """What a reader must know of a gate that measured something."""
    if not found.gate.points:
        return
    shared = "copies of the same stores" if found.gate.shares_snapshots else "stores that each loaded itself"
    if found.gate.spec.of_runs:
        yield f"both arms started from {shared}"
    for aside in found.left_aside:
        yield f"{counted(aside.pairs, 'stored pair')} left aside: {aside.why}"
    yield _margins(found)
    if found.gate.has_images and any(each.metric == INSTRUCTIONS for each in found.gate.spec.metrics):
        yield f"{INSTRUCTIONS} is left out: instructions are not counted in images"
    for runner in found.noise_unknown:
        command = selftest_command(runner)
        yield f"this host's noise is not known: run `{command}` once, on a quiet machine"
    failures = {each.point: each.failure for each in found.verdicts if each.failure}
    yield from (f"{point}: {failure}" for point, failure in failures.items())
    for each in found.verdicts:
        if each.undecided and each.judged.why and not each.failure:
            yield f"{each.point} {each.metric}: {each.judged.why}"


def _margins(found: pipeline.GateResult) -> str:
    """The gate's margin, those that metrics have of their own, and those that noise made larger."""
    spec = found.gate.spec
    asked = {(each.metric, each.phase): spec.margin_of(each) for each in spec.of_runs}
    noisy = [
        f"{each.point} {each.metric} {_percent(each.judged.margin)}"
        for each in found.verdicts
        if each.judged.margin > asked.get((each.metric, each.phase), each.judged.margin)
    ]
    own = [f"of {each.metric} {_percent(each.margin)}" for each in spec.metrics if each.margin is not None]
    text = ", ".join([f"margin {_percent(spec.margin)}", *own])
    return text + (f"; this host's noise makes it {', '.join(noisy)}" if noisy else "")


def _word(verdict: Verdict) -> str:
    if verdict.failure:
        return verdict.failure
    if verdict.judged.exact and not verdict.judged.margin and verdict.judged.call == "same":
        return "equal"
    return verdict.judged.call


def _short(verdict: Verdict) -> str:
    """For the table, whose notes explain failures."""
    if verdict.failure:
        return "HEAD fails" if verdict.head_fails else "fails"
    return _word(verdict)


def ratio(verdict: Verdict) -> str:
    """Head over base, or nothing."""
    log = None if verdict.failure else verdict.judged.log
    return "" if log is None else f"{math.exp(log.mean):.3f}"


def interval(verdict: Verdict) -> str:
    """Its interval, or nothing."""
    log = None if verdict.failure else verdict.judged.log
    if log is None or math.isinf(log.half):
        return ""
    return f"{math.exp(log.low):.3f}–{math.exp(log.high):.3f}"


def figures(verdict: Verdict) -> str:
    """The ratio, and its interval if there is one."""
    around = interval(verdict)
    return ratio(verdict) + (f" ({around})" if around else "")


def _visible(verdict: Verdict) -> str:
    """The smallest change that would have been called."""
    judged = verdict.judged
    return "" if verdict.failure or judged.exact or math.isinf(judged.visible) else _percent(judged.visible)


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _sentence(verdict: Verdict) -> str:
    """One comparison in a line."""
    text = f"{verdict.point} {verdict.metric}: {_word(verdict)}"
    if mean := ratio(verdict):
        text += f", {mean} of BASE"
    if around := interval(verdict):
        text += f" ({around})"
    return f"{text}, {counted(verdict.judged.n, 'pair')}, margin {_percent(verdict.judged.margin)}"


def _row(verdict: Verdict) -> dict[str, Any]:
    judged, log = verdict.judged, verdict.judged.log
    known = log is not None and math.isfinite(log.half)
    return {
        "point": verdict.point,
        "metric": verdict.metric,
        "phase": verdict.phase,
        "unit": verdict.unit,
        "verdict": judged.call,
        "regression": verdict.regression,
        "improvement": verdict.improvement,
        "undecided": verdict.undecided,
        "failure": verdict.failure or None,
        "why": judged.why or None,
        "exact": judged.exact,
        "pairs": judged.n,
        "ratio": math.exp(log.mean) if log else None,
        "low": math.exp(log.low) if log and known else None,
        "high": math.exp(log.high) if log and known else None,
        "margin": judged.margin,
        "visible": judged.visible if math.isfinite(judged.visible) else None,
    }
