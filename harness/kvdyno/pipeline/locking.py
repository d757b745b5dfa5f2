"""What a sweep shares with other sweeps, and so locks: the machine, its cgroups, stores and records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kvdyno.model.project import Project
from kvdyno.runner import cgroup_root
from kvdyno.store import LOCK_FILE, SweepLock, machine_lock


def sweep_lock(project: Project, *, waiting: Callable[[str], None] | None = None) -> SweepLock:
    """The lock of a sweep in these folders, as far as they exist. `waiting`: see SweepLock."""
    folders = [folder for folder in (project.data, project.runs) if folder.is_dir()]
    places = (*machine_places(), *(folder / LOCK_FILE for folder in folders))
    return SweepLock(project.root, places=places, waiting=waiting)


def machine_places() -> tuple[Path, ...]:
    """What all sweeps of this machine share; containers may see the cgroups alone."""
    groups = cgroup_root()
    return (machine_lock(), groups) if groups else (machine_lock(),)
