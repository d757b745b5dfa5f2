"""What a study or a search found, on a terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from kvdyno.model.options import display_options
from kvdyno.model.search import SearchFound, SearchPaths
from kvdyno.model.study import StudyFound, Tested
from kvdyno.report.search import curse_text, headline, place_text, rival_rows
from kvdyno.report.study import ratio_text

from .shapes import hanging, plain_table

_STYLES = {"confirmed": "green", "refuted": "red"}


def study_page(console: Console, found: StudyFound, *, html: Path) -> None:
    """Verdicts, what to set, what it gains, and where the report is."""
    console.print(f"\n{found.study.title}, profile {found.profile}\n", soft_wrap=True)
    table = plain_table("hypothesis", "on the default", "on the best so far", "adopted")
    for trial in found.trials:
        words = (trial.hypothesis.id, trial.alone.verdict, trial.on_best.verdict)
        table.add_row(*words, "yes" if trial.adopted else "no", style=_STYLES.get(trial.on_best.verdict, ""))
    console.print(table)
    console.print()
    changed = [each for each in found.options if each.best != each.start]
    for each in changed:
        hanging(console, "set", f"{each.name} = {each.best} (was {each.start})")
    for gain in found.gains:
        hanging(console, "gain", f"{gain.workload}: throughput × {ratio_text(gain)}")
    if not changed:
        console.print("no hypothesis was adopted: the start's options stay")
    console.print(f"\nreport: {html}", soft_wrap=True)


def study_document(found: StudyFound, *, html: Path, markdown: Path, latex: Path) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "study": found.study.name,
        "profile": found.profile,
        "hypotheses": [
            {
                "id": trial.hypothesis.id,
                "alone": _tested(trial.alone),
                "on_best": _tested(trial.on_best),
                "adopted": trial.adopted,
            }
            for trial in found.trials
        ],
        "best": dict(found.best),
        "gains": {
            gain.workload: {"ratio": gain.ratio, "low": gain.low, "high": gain.high, "n": gain.n}
            for gain in found.gains
        },
        "html": str(html),
        "markdown": str(markdown),
        "latex": str(latex),
    }


def _tested(tested: Tested) -> dict[str, Any]:
    return {"verdict": tested.verdict, "p": tested.p, "why": tested.why}


def search_page(console: Console, found: SearchFound, *, html: Path) -> None:
    """The finding, what to set, the confirmation, and where the report and the preset are."""
    console.print(f"\n{headline(found)}\n", soft_wrap=True)
    if found.winner:
        for name, value in display_options(found.space.engine.description, found.winner.options).items():
            hanging(console, "set", f"{name} = {value} (at paper scale)")
    for each in found.confirmed:
        console.print(f"\ntry {each.number}: {curse_text(each)}", soft_wrap=True)
        table = plain_table("workload", "metric", ">over the default", "verdict")
        for row in each.rows:
            table.add_row(place_text(row), row.metric, ratio_text(row), row.verdict)
        console.print(table)
    for rival in found.rivals:
        console.print(f"\nbeside {rival.label}", soft_wrap=True)
        table = plain_table("compared", "workload", "metric", ">ratio", "verdict")
        for what, row in rival_rows(rival):
            table.add_row(what, place_text(row), row.metric, ratio_text(row), row.verdict)
        console.print(table)
    console.print(f"\nreport: {html}", soft_wrap=True)
    if found.preset:
        console.print(f"preset: {found.preset}", soft_wrap=True)
        console.print(f"measure it: kvdyno run {found.experiment} --profile {found.profile}", soft_wrap=True)


def search_document(found: SearchFound, *, written: SearchPaths) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "engine": found.space.engine.name,
        "profile": found.profile,
        "strategy": found.strategy,
        "objectives": [each.metric for each in found.objectives],
        "tries": [asdict(each) for each in found.tries],
        "front": list(found.front),
        "confirmed": [asdict(each) for each in found.confirmed],
        "winner": found.winner.number if found.winner else None,
        "importances": {
            metric: {name: asdict(share) for name, share in shares.items()}
            for metric, shares in found.importances.items()
        },
        "costs": [asdict(each) for each in found.costs],
        "rivals": [asdict(each) for each in found.rivals],
        "untried": [asdict(each) for each in found.untried],
        "unvaried": list(found.unvaried),
        **{form: str(path) for form, path in asdict(written).items()},
        "experiment": str(found.experiment) if found.experiment else None,
        "preset": str(found.preset) if found.preset else None,
    }
