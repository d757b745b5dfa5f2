"""A study's findings on a terminal, and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from kvdyno.model.study import StudyFound, Tested
from kvdyno.report.study import ratio_text

from .layout import hanging, plain_table

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


def study_document(found: StudyFound, *, html: Path, markdown: Path) -> dict[str, Any]:
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
    }


def _tested(tested: Tested) -> dict[str, Any]:
    return {"verdict": tested.verdict, "p": tested.p, "why": tested.why}
