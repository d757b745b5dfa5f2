"""What self-tests found, in each host's folder a file for each runner: noise.json, noise-docker.json."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.noise import NOISE_SCHEMA, HostNoise, selftest_command
from kvdyno.model.project import Project
from kvdyno.model.schema import parse_json, upgraded


def host_noise(project: Project, host_id: str, *, runner: str) -> HostNoise | None:
    """What the last self-test by that runner on that host found, None without one.

    Raises StoreError if it is damaged, or if a newer kvdyno wrote it.
    """
    path = _file(project, host_id, runner)
    remedy = f"measure it again: {selftest_command(runner)}"
    try:
        document = parse_json(path.read_bytes(), where=str(path))
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise StoreError(f"cannot be read: {failure.strerror}", where=str(path)) from failure
    except StoreError as failure:
        raise StoreError(failure.message, where=str(path), remedy=remedy) from failure
    newest = upgraded(document, known=NOISE_SCHEMA, where=str(path))
    try:
        return HostNoise.model_validate(newest)
    except ValidationError as failure:
        mistake = failure.errors()[0]
        place = ".".join(str(part) for part in mistake["loc"]) or "the file"
        message = f"expected what a self-test found; {place}: {mistake['msg'].lower()}"
        raise StoreError(message, where=str(path), remedy=remedy) from failure


def store_noise(project: Project, found: HostNoise) -> None:
    """Keep what a self-test found, in place of the last. Raises StoreError if it cannot be written."""
    path = _file(project, found.host_id, found.runner)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as failure:
        raise StoreError(f"cannot write: {failure.strerror}", where=str(path)) from failure


def _file(project: Project, host_id: str, runner: str) -> Path:
    """Local runs, the only ones once, have the name without an addition."""
    name = "noise.json" if runner == "local" else f"noise-{runner}.json"
    return project.hosts / host_id / name
