"""From records to analyses, reports, comparisons and answers.

Statistics and figures bring libraries that take seconds to import: only who needs them imports them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kvdyno import spec
from kvdyno.errors import UsageError
from kvdyno.model.experiment import Experiment
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis, ClaimLine, Comparison, Earlier, ReportPaths, Summary
from kvdyno.store import RunIndex, RunStore, SweepStore

from .committed import origins
from .excluded import split
from .noise import host_noise
from .reuse import left_out

_COMPARE = "kvdyno report --compare"


def analyse(project: Project, whole: Plan, *, records: Iterable[Record]) -> Analysis:
    """All that these records say of this plan."""
    from kvdyno import analysis

    store = RunStore(project.runs)
    found = list(records)
    run_dirs = {record.run_id: store.run_dir(record) for record in found}
    places = dict.fromkeys((r.environment.host_id, r.runner.name) for r in found)
    noise = {(host, runner): host_noise(project, host, runner=runner) for host, runner in places}
    excluded = left_out(project, whole, beside=found)
    return analysis.analyse(whole.experiment, whole, found, run_dirs=run_dirs, noise=noise, left_out=excluded)


def write_report(
    project: Project,
    found: Analysis,
    experiment: Experiment,
    *,
    commands: Sequence[str],
    earlier: Earlier | None = None,
    partial: bool = False,
    uncapped: bool = False,
) -> ReportPaths:
    """Figures, tables and the HTML page, under results/reports/<experiment>-<profile>[-partial][-uncapped]/.

    A partial or uncapped look never takes the place of the whole one; what an earlier report has left in the
    same folder goes.
    """
    from kvdyno import report

    out = report_folder(project, experiment, partial=partial, uncapped=uncapped)
    paths = report.write_report(found, experiment, out=out, commands=commands, earlier=earlier)
    _remove_stale({*paths.figures, *paths.tables}, folders=(out / "figures", out / "tables"))
    return paths


def report_folder(
    project: Project, experiment: Experiment, *, partial: bool = False, uncapped: bool = False
) -> Path:
    """Where the experiment's report is written, whether it was or not."""
    words = (experiment.name, experiment.profile.name, "partial" * partial, "uncapped" * uncapped)
    return project.reports / "-".join(filter(None, words))


def write_claims(
    project: Project,
    found: Analysis,
    experiment: Experiment,
    *,
    partial: bool = False,
    uncapped: bool = False,
) -> Path:
    """claims.json in the folder of the experiment's report, which may have nothing else yet."""
    from kvdyno import report

    out = report_folder(project, experiment, partial=partial, uncapped=uncapped)
    return report.write_claims(found, out=out)


def claim_lines(found: Analysis) -> tuple[ClaimLine, ...]:
    """The claims with their points and verdicts, ready to print."""
    from kvdyno import report

    return report.claim_lines(found)


def claims_document(found: Analysis) -> dict[str, Any]:
    """What claims.json holds."""
    from kvdyno import report

    return report.claims_document(found)


def measured_experiments(project: Project, *, profile: str) -> tuple[str, ...]:
    """The names of the experiments of this checkout that a sweep has measured at the profile, in order."""
    known = {each.name for each in spec.list_experiments(project)}
    names = {each.experiment for each in SweepStore(project.sweeps).every() if each.profile == profile}
    return tuple(sorted(known & names))


def _remove_stale(written: Container[Path], *, folders: Iterable[Path]) -> None:
    """Only then is all that lies beside a page also in it."""
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file()):
        if path not in written:
            path.unlink()


def fill_prose(project: Project, documents: Sequence[Path]) -> tuple[Path, ...]:
    """Render the numbers of documents from committed results; returns those that changed."""
    from kvdyno.report import prose

    changed = []
    known = origins(project)
    for document in documents:
        text = prose.fill_blocks(document, root=project.root, origins=known)
        if text != document.read_text("utf-8"):
            document.write_text(text, encoding="utf-8")
            changed.append(document)
    return tuple(changed)


def summarise(found: Analysis) -> Summary:
    """The few lines that matter most."""
    from kvdyno import report

    return report.summarise(found)


def compare(project: Project, before: str, after: str) -> Comparison:
    """Two sets of records, point by point. A set is a sweep's id, an engine's label, or a results folder.

    Raises UsageError for a set without records, or with those of excluded hosts alone.
    """
    from kvdyno import analysis

    first, second = _record_set(project, before), _record_set(project, after)
    excluded = split(project, [*first, *second])[1]
    counted = (_counted(project, before, first), _counted(project, after, second))
    return analysis.compare(*counted, left_out=excluded)


def earlier(project: Project, name: str, *, records: Iterable[Record]) -> Earlier:
    """The records of a sweep, or of a results folder, beside those of a report.

    Raises UsageError if `name` names no records, or none of the report's points but its own.
    """
    from kvdyno import analysis

    mine = list(records)
    own = {record.run_id for record in mine}
    every = [record for record in _record_set(project, name, labels=False) if record.run_id not in own]
    others, excluded = split(project, every)
    compared = analysis.compare(others, mine, left_out=excluded)
    if not compared.matched:
        raise UsageError(
            f"{name!r} has no other runs of this report's points" + "".join(f"; {each}" for each in excluded),
            where=_COMPARE,
            remedy="`kvdyno show` lists the records",
        )
    return Earlier(
        name=name,
        comparison=compared,
        started_at=min(record.started_at for record in others),
        ended_at=max(record.ended_at for record in others),
    )


def _record_set(project: Project, name: str, *, labels: bool = True) -> list[Record]:
    every = list(RunStore(project.runs).records())
    chosen = [r for r in every if name == r.sweep_id or (labels and name == r.point.label)]
    if not chosen and Path(name).is_dir():
        chosen = list(RunStore(Path(name) / project.runs.name).records())
    if not chosen:
        known = sorted({r.sweep_id for r in every} | {r.point.label for r in every if labels})
        expected = (
            "a sweep, an engine's label or a results folder" if labels else "a sweep or a results folder"
        )
        raise UsageError(
            f"no records of {name!r}: expected {expected}",
            where="kvdyno compare" if labels else _COMPARE,
            remedy=f"known: {', '.join(known) or 'none yet; run an experiment first'}",
        )
    return chosen


def _counted(project: Project, name: str, records: Sequence[Record]) -> list[Record]:
    counted, excluded = split(project, records)
    if not counted:
        raise UsageError(
            f"no record of {name!r} counts: {'; '.join(map(str, excluded))}", where="kvdyno compare"
        )
    return counted


def query(project: Project, sql: str, *, records: Iterable[Record]) -> pd.DataFrame:
    """The answer to a question about the table `metrics` of these records, which become the index."""
    index = RunIndex(project.runs / "index.parquet")
    index.rebuild(records)
    return index.query(sql)
