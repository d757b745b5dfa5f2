"""Papers: what they still lack; from stored records to chapters, LaTeX and PDF. Nothing is measured here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from kvdyno import spec
from kvdyno.errors import EngineError, HostError, StoreError
from kvdyno.model.engine import RunnerName
from kvdyno.model.papers import Absence, Chapter, Paper, PaperPart, PaperPaths
from kvdyno.model.project import Project
from kvdyno.plan import estimate
from kvdyno.store import SweepStore, make_folder

from .conclusions import analyse
from .planning import Request, make_plan
from .recorded import Recorded, find_recorded
from .reuse import SweepSettings, corrupt, look_up, remaining

#: The folder of templates that all papers share.
PAPER_BASE = "base"
_FIGURES = Path("figures")


def read_paper(project: Project, name: str) -> Paper:
    """The paper of that name, checked. Raises UsageError for an unknown name, SpecError for a mistake."""
    path = spec.paper_file(project.paper_texts, name)
    known = [each.name for each in spec.list_experiments(project)]
    return spec.read_paper(path, experiments=known, profiles=spec.load_profiles(project))


def plan_paper(
    project: Project, name: str, *, profile: str, runner: RunnerName = "local", uncapped: bool = False
) -> tuple[PaperPart, ...]:
    """What measuring the rest of a paper costs, experiment by experiment. Runs nothing.

    Raises what `read_paper` and `make_plan` raise, but for an engine or a host that lacks something: that is
    the part's `lack`.
    """
    asked = read_paper(project, name)
    how = SweepSettings(uncapped=uncapped)
    parts: list[PaperPart] = []
    for experiment in asked.experiments:
        at = asked.profile_of(experiment, profile=profile)
        try:
            _, whole = make_plan(project, Request(experiment=experiment, profile=at, runner=runner))
        except (EngineError, HostError) as lack:
            parts.append(PaperPart(experiment, at, lack=lack.message))
            continue
        rest = remaining(whole, look_up(project, whole, how=how).records)
        costs = estimate(rest)
        parts.append(PaperPart(experiment, at, len(rest.runs), costs.seconds, costs.disk_bytes))
    return tuple(parts)


def write_paper(
    project: Project,
    name: str,
    *,
    profile: str,
    runner: RunnerName | None = None,
    repeat: int | None = None,
    uncapped: bool = False,
    tex_only: bool = False,
) -> PaperPaths:
    """Make results/papers/<name>-<profile>/paper.tex from the records of the paper's experiments, and with
    LaTeX paper.pdf. Experiments and points without records are listed in it.

    Raises what `find_recorded` raises for a wrong word; StoreError for records that cannot be read or do not
    belong together, or where no experiment has any; HostError if LaTeX is missing; SpecError if a template is
    wrong or the PDF does not pass.
    """
    from kvdyno import paper as stage

    asked = read_paper(project, name)
    if not tex_only:
        stage.check_tools()
    folder = project.papers / f"{name}-{profile}"
    wanted = Request(experiment="", profile=profile, runner=runner or "local", repeat=repeat)
    found = _find(project, asked, wanted, runner=runner, uncapped=uncapped)
    recorded = {experiment: each for experiment, each in found.items() if isinstance(each, Recorded)}
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    chapters = [_chapter(project, each, folder) for each in recorded.values()]
    rendered = stage.render(
        asked,
        chapters,
        [each for each in found.values() if isinstance(each, Absence)],
        name=name,
        profile=profile,
        flags=_flags(wanted, uncapped=uncapped),
        text=project.paper_texts / name,
        base=project.paper_texts / PAPER_BASE,
    )
    source = folder / "paper.tex"
    try:
        source.write_text(rendered.tex, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write: {error.strerror}", where=str(source)) from error
    if tex_only:
        return PaperPaths(source, None, 0, rendered.lacking)
    pdf, pages = stage.build_pdf(source, epoch=_epoch(chapters))
    return PaperPaths(source, pdf, pages, rendered.lacking)


def _flags(wanted: Request, *, uncapped: bool) -> str:
    """What the commands take, beside the profile, that measure again and make the paper again."""
    parts = [f"--repeat {wanted.repeat}"] if wanted.repeat else []
    parts += [f"--runner {wanted.runner}"] if wanted.runner != "local" else []
    return " ".join([*parts, *(["--uncapped"] if uncapped else [])])


def _find(
    project: Project, asked: Paper, wanted: Request, *, runner: RunnerName | None, uncapped: bool
) -> Mapping[str, Recorded | Absence]:
    """The records of each experiment, or why there are none."""
    titles = {each.name: each.title for each in spec.list_experiments(project)}
    found: dict[str, Recorded | Absence] = {}
    for name in asked.experiments:
        profile = asked.profile_of(name, profile=wanted.profile)
        request = replace(wanted, experiment=name, profile=profile)
        try:
            recorded = find_recorded(project, request, runner=runner, uncapped=uncapped, other_builds=True)
        except (EngineError, HostError) as lack:
            found[name] = Absence(name, titles[name], f"{lack.message}; no records")
            continue
        _check_readable(project, recorded)
        reason = _no_records(project, name, profile)
        found[name] = recorded if recorded.records else Absence(name, titles[name], reason)
    return found


def _check_readable(project: Project, recorded: Recorded) -> None:
    """Raise StoreError for records of the paper that cannot be read: it must not leave them out silently."""
    unreadable = corrupt(project, recorded.plan)
    if unreadable:
        listed = "".join(f"\n  {record}" for record in unreadable)
        raise StoreError(
            f"{recorded.plan.experiment.name}: expected records that can be read, found "
            f"{len(unreadable)} that cannot{listed}",
            where=str(project.runs),
            remedy="remove their folders, and measure those runs again",
        )


def _no_records(project: Project, name: str, profile: str) -> str:
    """Why an experiment has no records; the other scales that have some are named."""
    store = SweepStore(project.sweeps)
    others = [p for p in spec.load_profiles(project) if p != profile and store.of(experiment=name, profile=p)]
    reason = f"no record at profile {profile}"
    return f"{reason}; there are records at {' and '.join(others)}, another scale" if others else reason


def _chapter(project: Project, recorded: Recorded, folder: Path) -> Chapter:
    from kvdyno import report

    experiment = recorded.plan.experiment
    found = analyse(project, recorded.plan, records=recorded.records.values())
    return report.make_chapter(
        found,
        experiment,
        folder=folder,
        inside=_FIGURES / experiment.name,
        notes=(*recorded.notes, *found.excluded),
    )


def _epoch(chapters: list[Chapter]) -> int:
    """When the last run ended, in Unix seconds: the date that a paper has inside."""
    return max(int(datetime.fromisoformat(each.analysis.ended_at).timestamp()) for each in chapters)
