"""What self-tests found, in each host's folder a file for each runner: noise.json, noise-docker.json.

Published results may have such files among their data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kvdyno.model.noise import HostNoise, selftest_command
from kvdyno.model.project import Project

from .committed import origins_below
from .host_files import read_host_file, write_host_file

#: Local runs, the only ones once, have the name without an addition.
_NAMES = {"local": "noise.json", "docker": "noise-docker.json"}


def host_noise(project: Project, host_id: str, *, runner: str) -> HostNoise | None:
    """What the last self-test by that runner on that host found, None without one.

    Raises StoreError if it is damaged, or if a newer kvdyno wrote it.
    """
    remedy = f"measure it again: {selftest_command(runner)}"
    path = _file(project, host_id, runner)
    return read_host_file(path, HostNoise, what="what a self-test found", remedy=remedy)


def published_noise(folder: Path) -> Mapping[tuple[str, str], HostNoise]:
    """What the self-tests found that are published in the folder, or up to two below it, by host and runner;
    of several, the last.

    Raises SpecError for a mistake in an origin, StoreError for a damaged file.
    """
    paths = [
        place / name
        for place, origin in origins_below(folder).items()
        for name in origin.files
        if name in _NAMES.values()
    ]
    remedy = "git checkout it"
    read = [read_host_file(path, HostNoise, what="what a self-test found", remedy=remedy) for path in paths]
    in_time = sorted((found for found in read if found), key=lambda found: found.measured_at)
    return {(found.host_id, found.runner): found for found in in_time}


def store_noise(project: Project, found: HostNoise) -> None:
    """Keep what a self-test found, in place of the last. Raises StoreError if it cannot be written."""
    write_host_file(_file(project, found.host_id, found.runner), found)


def _file(project: Project, host_id: str, runner: str) -> Path:
    return project.hosts / host_id / _NAMES[runner]
