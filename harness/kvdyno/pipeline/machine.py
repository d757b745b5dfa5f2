"""The machine itself: what it lacks for fair measurements, and what killed sweeps left on it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping

from kvdyno import catalog, doctor
from kvdyno.errors import EngineError, HostError, KvdynoError, SpecError
from kvdyno.model.engine import RunnerName
from kvdyno.model.project import Project
from kvdyno.runner import (
    Surveyor,
    Warden,
    choose_warden,
    offered_counters,
    remove_leftovers,
    restore_frequency,
    take_gauges,
)
from kvdyno.store import RunStore

from .locking import sweep_lock
from .sweep import new_sweep_id

_TRIAL_CAP_BYTES = 64 << 20


def clean(
    project: Project, *, snapshots: bool, waiting: Callable[[str], None] | None = None
) -> tuple[str, ...]:
    """Remove what killed sweeps left and, if asked, the snapshots; returns names. Records stay.

    Raises BusyError if another sweep holds this machine. With `waiting`, it is waited for (see SweepLock).
    """
    with sweep_lock(project, waiting=waiting):
        store = RunStore(project.runs)
        removed = [*restore_frequency(), *(str(path) for path in store.clean())]
        with contextlib.closing(_any_warden()) as warden:
            removed += remove_leftovers(project, wardens=(warden,), snapshots=snapshots)
        return tuple(removed)


def _any_warden() -> Warden:
    """No cap is needed to remove leftovers; where cgroups can be made, leftover ones are removed too."""
    try:
        return choose_warden(new_sweep_id())
    except HostError:
        return choose_warden(new_sweep_id(), uncapped=True)


def examine(project: Project, *, runner: RunnerName = "local") -> tuple[doctor.Finding, ...]:
    """What this machine lacks for fair measurements; a small cap is tried out and taken away again.

    Governor and turbo that a killed sweep left are put back first.
    """
    restored = restore_frequency()
    confinement: str | HostError
    engines: Collection[str] | KvdynoError
    try:
        warden = choose_warden(new_sweep_id(), runner=runner)
        with contextlib.closing(warden), warden.cage(cap_bytes=_TRIAL_CAP_BYTES):
            confinement = f"{warden.kind}: {warden.why}"
    except HostError as refusal:
        confinement = refusal
    try:
        engines = dict(catalog.discover(project, runner=runner))  # so that each is looked at
    except (EngineError, SpecError, HostError) as refusal:
        engines = refusal
    return doctor.examine(
        project,
        environment=Surveyor(project).survey(),
        gauges=take_gauges(project.data),
        counters=offered_counters(project.data),
        restored=restored,
        confinement=confinement,
        engines=engines,
        docker=_docker_facts(),
        runner=runner,
    )


def _docker_facts() -> Mapping[str, object] | HostError:
    """Facts about the Engine and the images' base. What reaches it takes its time to import."""
    from kvdyno import images
    from kvdyno.host.docker_engine import connect
    from kvdyno.runner.docker import docker_facts

    try:
        with contextlib.closing(connect()) as client:
            base = images.base_here(client)
        return {**docker_facts(), "images.base": base, "images.debootstrap": images.can_make_base()}
    except HostError as refusal:
        return refusal
