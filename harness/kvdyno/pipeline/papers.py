"""Papers: what they still lack; from stored records, or published results, to chapters, LaTeX and PDF.

Nothing is measured here.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from kvdyno import spec
from kvdyno.errors import EngineError, HostError, StoreError, UsageError
from kvdyno.model.engine import RunnerName
from kvdyno.model.experiment import Experiment
from kvdyno.model.noise import HostNoise
from kvdyno.model.origin import FILE, Origin, Questions
from kvdyno.model.papers import Absence, Chapter, Paper, PaperPart, PaperPaths
from kvdyno.model.project import Project
from kvdyno.model.results import Analysis
from kvdyno.plan import estimate
from kvdyno.store import SweepStore, make_folder, read_metrics

from .committed import origins_below
from .conclusions import analyse
from .noise import published_noise
from .planning import Request, make_plan
from .recorded import Recorded, find_recorded
from .reuse import SweepSettings, corrupt, look_up, remaining

#: The folder of templates that all papers share.
PAPER_BASE = "base"
_FIGURES = Path("figures")


@dataclass(frozen=True)
class _Part:
    """An experiment of a paper, what was found, and what a reader must know of where that is from."""

    experiment: Experiment
    analysis: Analysis
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Published:
    """A published sweep: where it is, where it is from, and what is asked of its metrics."""

    folder: Path
    origin: Origin
    asked: Questions


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
    published: Path | None = None,
    tex_only: bool = False,
) -> PaperPaths:
    """Make results/papers/<name>-<profile>/paper.tex from the records of the paper's experiments, and with
    LaTeX paper.pdf. Experiments and points without records are listed in it. `published` is a folder of
    published results (docs/formats.md) that take the place of records; `runner`, `repeat` and `uncapped` then
    mean nothing.

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
    if published:
        found = _find_published(project, asked, published, profile=profile)
    else:
        found = _find(project, asked, wanted, runner=runner, uncapped=uncapped)
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    chapters = [_chapter(each, folder) for each in found.values() if isinstance(each, _Part)]
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
) -> Mapping[str, _Part | Absence]:
    """What the records of each experiment show, or why there are none."""
    titles = _titles(project)
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
    return {
        name: _analysed(project, each) if isinstance(each, Recorded) else each for name, each in found.items()
    }


def _titles(project: Project) -> Mapping[str, str]:
    return {each.name: each.title for each in spec.list_experiments(project)}


def _analysed(project: Project, recorded: Recorded) -> _Part:
    found = analyse(project, recorded.plan, records=recorded.records.values())
    return _Part(recorded.plan.experiment, found, (*recorded.notes, *found.excluded))


def _find_published(
    project: Project, asked: Paper, folder: Path, *, profile: str
) -> Mapping[str, _Part | Absence]:
    """What the published results of each experiment show. Engines must be built: their descriptions lead from
    an experiment's file to the points of its metrics.
    """
    titles = _titles(project)
    known = _sweeps_below(folder)
    noise = published_noise(folder)
    found: dict[str, _Part | Absence] = {}
    for name in asked.experiments:
        at = asked.profile_of(name, profile=profile)
        if (name, at) not in known:
            found[name] = Absence(name, titles[name], f"nothing is published at profile {at}")
            continue
        request = Request(experiment=name, profile=at)
        found[name] = _as_published(project, known[name, at], request, noise=noise)
    return found


def _as_published(
    project: Project,
    sweep: _Published,
    request: Request,
    *,
    noise: Mapping[tuple[str, str], HostNoise],
) -> _Part:
    from kvdyno import analysis

    _, whole = make_plan(project, request)
    folder, origin, asked = sweep.folder, sweep.origin, sweep.asked
    shown = analysis.analyse_published(
        whole,
        read_metrics(folder / asked.file),
        asked,
        origin=origin,
        percentiles=read_metrics(folder / asked.percentiles) if asked.percentiles else None,
        noise=noise,
    )
    inside = folder.relative_to(project.root) if folder.is_relative_to(project.root) else folder
    changes = " with changes" if origin.modified is True else ""
    note = f"published as {inside}: commit {origin.commit}{changes}, {origin.state}"
    return _Part(whole.experiment, shown, (note,))


def _sweeps_below(folder: Path) -> Mapping[tuple[str, str], _Published]:
    """Published sweeps by experiment and profile. Raises UsageError where there are none, or where two
    folders have the same.
    """
    found: dict[tuple[str, str], _Published] = {}
    for place, origin in origins_below(folder).items():
        if origin.metrics is None or origin.sweep is None:
            continue
        if other := found.get(origin.sweep):
            measured = " at profile ".join(origin.sweep)
            raise UsageError(
                f"expected one folder for {measured}, found {other.folder} and {place}",
                where="--published",
                remedy="name a folder that has only one of them",
            )
        found[origin.sweep] = _Published(place, origin, origin.metrics)
    if not found:
        raise UsageError(
            f"expected a folder with published sweeps, found no {FILE} of one in {folder}",
            where="--published",
            remedy="`kvdyno publish` writes such folders, results/evendb-small is one",
        )
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


def _chapter(part: _Part, folder: Path) -> Chapter:
    from kvdyno import report

    return report.make_chapter(
        part.analysis,
        part.experiment,
        folder=folder,
        inside=_FIGURES / part.experiment.name,
        notes=part.notes,
    )


def _epoch(chapters: list[Chapter]) -> int:
    """When the last run ended, in Unix seconds: the date that a paper has inside."""
    return max(int(datetime.fromisoformat(each.analysis.ended_at).timestamp()) for each in chapters)
