"""What self-tests found on hosts: results/hosts/<host>/noise.json."""

from __future__ import annotations

from kvdyno.model.noise import HostNoise
from kvdyno.model.project import Project

from .host_files import read_host_file, write_host_file

_FILE = "noise.json"


def host_noise(project: Project, host_id: str) -> HostNoise | None:
    """What the last self-test on that host found, None without one. Raises StoreError if it is damaged."""
    path = project.hosts / host_id / _FILE
    return read_host_file(path, HostNoise, what="what a self-test found", remedy="kvdyno selftest")


def store_noise(project: Project, found: HostNoise) -> None:
    """Keep what a self-test found, in place of the last. Raises StoreError if it cannot be written."""
    write_host_file(project.hosts / found.host_id / _FILE, found)
