"""The harness's own image: the command line, its Python environment, LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import docker

from kvdyno.model.project import Project

from .base import Base
from .build import run_build
from .context import pack_context

HARNESS_IMAGE = "kvdyno-harness:latest"

_DOCKERFILE = Path("containers/harness.Dockerfile")
_SOURCES = ("harness", "plots")


def build_harness(
    client: docker.DockerClient, project: Project, *, base: Base, say: Callable[[str], None]
) -> str:
    """Builds the image from the present sources; its id. `say` hears each line of the build.

    Raises EngineError when it does not build.
    """
    files = (_DOCKERFILE, Path("pyproject.toml"), Path("README.md"), *_sources(project.root))
    return run_build(
        client,
        say=say,
        of=_DOCKERFILE,
        dockerfile=_DOCKERFILE.as_posix(),
        fileobj=pack_context(project, {"": files}, suite=base.suite),
        custom_context=True,
        buildargs={"BASE_IMAGE": base.name},
        network_mode="host",
        tag=HARNESS_IMAGE,
    )


def _sources(root: Path) -> Iterator[Path]:
    for name in _SOURCES:
        for path in sorted((root / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path):
                yield path.relative_to(root)
