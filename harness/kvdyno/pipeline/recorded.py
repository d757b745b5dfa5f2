"""From stored records back to the plan that they were measured for: where its engines are not built, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kvdyno import spec
from kvdyno.errors import EngineError, HostError, SpecError, StoreError, UsageError
from kvdyno.model.engine import RunnerName
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.sweep import Sweep
from kvdyno.runner import host_id
from kvdyno.store import SweepStore

from .planning import Request, make_plan, plan_with
from .reuse import stored


@dataclass(frozen=True)
class Recorded:
    """A plan with its records by run name, and what a reader must know of where they are from.

    `partial`: a part of the experiment was asked for, or measured.
    """

    plan: Plan
    records: Mapping[str, Record]
    partial: bool
    notes: tuple[str, ...] = ()


def find_recorded(
    project: Project,
    request: Request,
    *,
    runner: RunnerName | None = None,
    builds_of: str | None = None,
    uncapped: bool = False,
    other_builds: bool = False,
) -> Recorded:
    """The records of an experiment: of the builds that are here, or of those that a sweep measured.

    `builds_of` names that sweep; without it, the latest that `runner` ran, with most of the engines, is taken
    where engines are not built here, and with `other_builds` also where other builds have more records.
    Else raises StoreError where only other builds have records, and names their sweeps; UsageError for an
    unknown sweep; what `make_plan` raises where nothing is recorded.
    """
    if builds_of is not None:
        return _noted(_of(project, request, _named(project, request, builds_of), uncapped=uncapped))
    try:
        whole = make_plan(project, request)[1]
    except (EngineError, HostError) as lack:
        others = _others(project, request, runner=runner, uncapped=uncapped)
        if not others:
            raise lack
        return _of_others(others, "engines are not built here")
    records = stored(project, whole, uncapped=uncapped)
    if not other_builds:
        if not records and (others := _others(project, request, runner=runner, uncapped=uncapped)):
            raise _of_other_builds(project, request, others)
    elif len(records) < len(whole.runs):
        others = _others(project, request, runner=runner, uncapped=uncapped)
        if fuller := [each for each in others if len(each[1].records) > len(records)]:
            return _of_others(
                fuller, f"the builds that are here have {len(records)} of {len(whole.runs)} runs"
            )
    return _noted(Recorded(whole, records, request.partial))


def _of_others(others: Sequence[tuple[Sweep, Recorded]], why: str) -> Recorded:
    sweep, found = others[0]
    return _noted(found, f"{why}: the builds are those of sweep {sweep.sweep_id}")


def _named(project: Project, request: Request, sweep_id: str) -> Sweep:
    sweeps = _sweeps(project, request)
    for sweep in sweeps:
        if sweep.sweep_id == sweep_id:
            return sweep
    known = ", ".join(sweep.sweep_id for sweep in sweeps) or "none"
    raise UsageError(
        f"no sweep {sweep_id!r} of this experiment and profile", where="--builds-of", remedy=f"known: {known}"
    )


def _sweeps(project: Project, request: Request) -> tuple[Sweep, ...]:
    name = spec.experiment_name(request.experiment, project=project)
    return SweepStore(project.sweeps).of(experiment=name, profile=request.profile)


def _others(
    project: Project, request: Request, *, runner: RunnerName | None, uncapped: bool
) -> list[tuple[Sweep, Recorded]]:
    """Sweeps whose builds have records, one for each set of builds: those of most engines first, then the
    latest.
    """
    others: list[tuple[Sweep, Recorded]] = []
    seen: list[Mapping[str, str]] = []
    for sweep in _sweeps(project, request):
        if sweep.builds in seen or (runner and runner not in sweep.runners):
            continue
        seen.append(sweep.builds)
        try:
            found = _of(project, request, sweep, uncapped=uncapped)
        except (EngineError, SpecError):  # what is asked for was not in it
            continue
        if found.records:
            others.append((sweep, found))
    return sorted(others, key=lambda each: -len(each[1].plan.experiment.engines))


def _of(project: Project, request: Request, sweep: Sweep, *, uncapped: bool) -> Recorded:
    """The plan with the sweep's builds. Raises EngineError where it lacks an engine that was asked for."""
    partial = request.partial
    try:
        whole = plan_with(project, request, engines=sweep.catalog())
    except (EngineError, SpecError):  # an upstream binary that is missing is a mistake of the file
        if request.engines:
            raise
        partial = True
        whole = plan_with(project, replace(request, engines=sweep.labels), engines=sweep.catalog())
    return Recorded(whole, stored(project, whole, uncapped=uncapped), partial)


def _of_other_builds(
    project: Project, request: Request, others: Sequence[tuple[Sweep, Recorded]]
) -> StoreError:
    said = "; ".join(
        f"sweep {sweep.sweep_id} ({' and '.join(sweep.runners)}): {len(found.records)} runs"
        for sweep, found in others
    )
    return StoreError(
        f"expected records of the builds that are here, found records of other builds: {said}",
        where=str(project.runs),
        remedy=f"report these with --builds-of {others[0][0].sweep_id}, or measure the builds that are here: "
        f"kvdyno run {request.experiment} --profile {request.profile}",
    )


def _noted(found: Recorded, *notes: str) -> Recorded:
    hosts = {record.environment.host_id for record in found.records.values()}
    elsewhere = [f"measured on another host: {host}" for host in sorted(hosts - {host_id()})]
    return replace(found, notes=(*notes, *elsewhere))
