"""What self-tests found, in each host's folder a file for each runner: noise.json, noise-docker.json."""

from __future__ import annotations

from pathlib import Path

from kvdyno.model.noise import HostNoise, selftest_command
from kvdyno.model.project import Project

from .host_files import read_host_file, write_host_file


def host_noise(project: Project, host_id: str, *, runner: str) -> HostNoise | None:
    """What the last self-test by that runner on that host found, None without one.

    Raises StoreError if it is damaged, or if a newer kvdyno wrote it.
    """
    remedy = f"measure it again: {selftest_command(runner)}"
    path = _file(project, host_id, runner)
    return read_host_file(path, HostNoise, what="what a self-test found", remedy=remedy)


def store_noise(project: Project, found: HostNoise) -> None:
    """Keep what a self-test found, in place of the last. Raises StoreError if it cannot be written."""
    write_host_file(_file(project, found.host_id, found.runner), found)


def _file(project: Project, host_id: str, runner: str) -> Path:
    """Local runs, the only ones once, have the name without an addition."""
    name = "noise.json" if runner == "local" else f"noise-{runner}.json"
    return project.hosts / host_id / name
