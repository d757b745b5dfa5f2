"""From what a person asks for to a plan. Nothing runs but `--describe`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kvdyno import catalog, plan, spec
from kvdyno.errors import EngineError, HostError, SpecError, UsageError
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.experiment import CachePolicy
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.units import distinct_sizes
from kvdyno.runner import memory_bytes


@dataclass(frozen=True)
class Request:
    """What a person asked for. `engines` are labels to keep; `only` and `exclude` are plan patterns."""

    experiment: str
    profile: str = "quick"
    runner: RunnerName = "local"
    engines: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    repeat: int | None = None
    #: Instead of the experiment's.
    cache: CachePolicy | None = None

    @property
    def partial(self) -> bool:
        """Whether it may leave out a part of the experiment. Fewer repetitions leave nothing out."""
        return bool(self.engines or self.only or self.exclude)


def make_plan(project: Project, request: Request) -> tuple[Mapping[str, Engine], Plan]:
    """Discover the engines, check the experiment, resolve its points. Nothing runs but `--describe`."""
    engines = catalog.discover(project, runner=request.runner)
    return engines, plan_with(project, request, engines=engines)


def plan_with(project: Project, request: Request, *, engines: Mapping[str, Engine]) -> Plan:
    """Check the experiment with these engines, and resolve its points. Nothing runs."""
    with _worded_for(request):
        experiment = spec.load_experiment(
            request.experiment,
            project=project,
            catalog=engines,
            profile=request.profile,
            engines=request.engines or None,
        )
    if request.cache:
        experiment = experiment.model_copy(update={"cache": request.cache})
    whole = plan.make_plan(experiment, catalog=engines, project=project)
    if request.runner == "docker":
        _demand_images(whole)
    return plan.select(whole, only=request.only, exclude=request.exclude, repeat=request.repeat)


def demand_memory(whole: Plan, *, uncapped: bool) -> None:
    """Raise SpecError if a driver expects to need more than its cap, HostError if this machine has less
    memory than the plan's cap; neither if nothing is capped.
    """
    if not uncapped:
        _demand_room(whole)
    memory = memory_bytes()
    cap_bytes = max(point.cap_bytes for point in whole.points)
    if uncapped or memory is None or cap_bytes <= memory:
        return
    profile = whole.experiment.profile
    most, found = distinct_sizes(memory, cap_bytes)
    raise HostError(
        f"cap: expected at most this machine's memory, {most}, found {found} at profile {profile.name!r}",
        where=str(whole.experiment.path),
        remedy="lower it, or choose a smaller profile; `kvdyno plan --uncapped` plans for another machine",
    )


def _demand_room(whole: Plan) -> None:
    for point in whole.points:
        if point.expected_memory_bytes > point.cap_bytes:
            most, found = distinct_sizes(point.cap_bytes, point.expected_memory_bytes)
            raise SpecError(
                f"{point.slug}: expected a run that fits into its cap, {most} at profile "
                f"{whole.experiment.profile.name!r}, found one that needs about {found} of memory",
                where=str(whole.experiment.path),
                remedy="raise cap, or ask for less data; `kvdyno plan --uncapped` plans without a cap",
            )


@contextlib.contextmanager
def _worded_for(request: Request) -> Iterator[None]:
    """What is missing for Docker is an image."""
    try:
        yield
    except EngineError as error:
        if request.runner != "docker":
            raise
        remedy = f"kvdyno images build --experiment {request.experiment}"
        if request.engines:
            remedy += f" --engines {','.join(request.engines)}"
        raise EngineError(error.message, where=error.where, remedy=remedy) from error


def _demand_images(whole: Plan) -> None:
    for point in whole.points:
        if point.engine.external:
            raise UsageError(
                f"{point.axes['engine']} cannot be run by docker: an upstream ycsb has no image",
                where="--runner",
                remedy="choose other engines with --engines",
            )
