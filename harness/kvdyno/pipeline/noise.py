"""What self-tests found on hosts: results/hosts/<host>/noise.json."""

from __future__ import annotations

from kvdyno.errors import StoreError
from kvdyno.model.noise import HostNoise
from kvdyno.model.project import Project

_FILE = "noise.json"


def host_noise(project: Project, host_id: str) -> HostNoise | None:
    """What the last self-test on that host found, None without one. Raises StoreError if it is damaged."""
    path = project.hosts / host_id / _FILE
    try:
        return HostNoise.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise StoreError(
            f"expected what a self-test found, found: {failure}", where=str(path), remedy="kvdyno selftest"
        ) from failure


def store_noise(project: Project, found: HostNoise) -> None:
    """Keep what a self-test found, in place of the last. Raises StoreError if it cannot be written."""
    folder = project.hosts / found.host_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / (_FILE + ".partial")
        partial.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
        partial.replace(folder / _FILE)
    except OSError as failure:
        raise StoreError(f"cannot write: {failure.strerror}", where=str(folder / _FILE)) from failure
