"""What counters say about options: advise."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from kvdyno import pipeline
from kvdyno.errors import UsageError
from kvdyno.model.advice import Evidence
from kvdyno.model.record import Record
from kvdyno.store import RunStore
from plots.units import three_digits

from .app import JsonOption, ResultsOption, app, console, print_json, project, warn_of
from .pages.shapes import counted, hanging, harmless, relative


@app.command(rich_help_panel="Tune")
def advise(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="A run's id or its end, or a part of a point's slug.", show_default=False
        ),
    ],
    results: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Suggest options from the counters of stored runs, with the evidence.

    Every suggestion is a hypothesis, with an experiment that compares the advised options with the run's
    own. `kvdyno run` measures it, and its claim shows whether the advice helps.

    Example: `kvdyno advise rocksdb.p`
    """
    here = project(results=results)
    records, corrupt = RunStore(here.runs).read()
    warn_of(corrupt)
    chosen: dict[str, Record] = {}
    for text in runs:
        found = [r for r in records if r.run_id.endswith(text) or text in r.point.slug]
        if not found:
            raise UsageError(
                f"no record matches {text!r}", where=str(here.runs), remedy="`kvdyno show` lists the records"
            )
        chosen |= {record.run_id: record for record in found}
    advised = pipeline.advise(here, list(chosen.values()))
    if json:
        print_json([_document(each) for each in advised])
    else:
        for each in advised:
            _page(each)


def _page(found: pipeline.PointAdvice) -> None:
    fired = f"{len(found.advice)} of {counted(found.rules, 'rule')} fire"
    console.print(Text(f"\n{found.slug}, {counted(found.runs, 'run')}: {fired}", "bold"), soft_wrap=True)
    for each in found.advice:
        rule = each.finding.rule
        hanging(console, f"{rule.id}:", harmless(f"{rule.problem}."), style="bold")
        for evidence in each.finding.evidence:
            hanging(console, "  shown by", harmless(_evidence(evidence)))
        for step in each.steps:
            hanging(console, "  set", harmless(f"{step.option}: {step.after} (was {step.before})"))
        hanging(console, "  expect", harmless(f"{_expected(each)}. {rule.why}"))
        again = f"kvdyno run {relative(each.experiment)} --profile {found.profile}"
        console.print(f"  test it {again}", soft_wrap=True)


def _evidence(evidence: Evidence) -> str:
    condition = evidence.condition
    bound = f"above {condition.above:g}" if condition.above is not None else f"below {condition.below:g}"
    return f"{condition.meaning}: {three_digits(evidence.value)}, {bound}"


def _expected(advice: pipeline.Advice) -> str:
    expect = advice.finding.rule.expect
    known = (("at least", "no less", expect.at_least), ("at most", "no more", expect.at_most))
    bounds = [
        f"{equal} than it was" if bound == 1 else f"{words} {bound:g} times what it was"
        for words, equal, bound in known
        if bound is not None
    ]
    return f"{expect.metric} {' and '.join(bounds)}"


def _document(found: pipeline.PointAdvice) -> dict[str, Any]:
    """For scripts; docs/formats.md describes it."""
    return {
        "point": found.slug,
        "profile": found.profile,
        "runs": found.runs,
        "rules": found.rules,
        "advice": [
            {
                "rule": each.finding.rule.id,
                "problem": each.finding.rule.problem,
                "evidence": [
                    {"meaning": e.condition.meaning, "value": e.value, "above": e.condition.above,
                     "below": e.condition.below}
                    for e in each.finding.evidence
                ],
                "set": {step.option: step.after for step in each.steps},
                "expect": each.finding.rule.expect.model_dump(exclude_none=True),
                "experiment": str(each.experiment),
            }
            for each in found.advice
        ],
    }  # fmt: skip
