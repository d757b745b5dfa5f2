"""Builds a version, its library and then the drivers that load it, or drivers that need none.

What is up to date is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvdyno.host.libraries import driver_in, is_built, is_current, prefix_of
from kvdyno.model.project import Project

from .drivers import build_driver, build_own_drivers, run_suite
from .library import build_library
from .work import Step, working


def build_version(
    project: Project,
    library: str,
    version: str,
    *,
    engines: Sequence[str],
    step: Step,
    jobs: int | None = None,
    tools: bool = False,
) -> Path:
    """The folder of the built version, with a driver for each of `engines`; `tools` adds the library's own.

    An interrupted build goes on where it was. Raises EngineError when the archive is not the listed one or a
    build fails, HostError when disk, client or registry lack. What was built before stays as it is.
    """
    prefix = prefix_of(project, library=library, version=version)
    with working(project, step=step, jobs=jobs) as work:
        if tools or not is_built(prefix):
            build_library(work, library, version, prefix=prefix, tools=tools)
        for engine in engines:
            if not is_current(project, driver_in(prefix, engine), engine):
                build_driver(work, prefix, engine, version=version)
    return prefix


def build_here(project: Project, engines: Sequence[str], *, step: Step, jobs: int | None = None) -> None:
    """Brings the drivers of these engines in the checkout's own build up to date.

    One whose library this machine lacks is named and left out. Raises EngineError when a build fails,
    HostError when the disk fills up.
    """
    with working(project, step=step, jobs=jobs) as work:
        build_own_drivers(work, engines)


def run_conformance(
    project: Project, prefix: Path, engine: str, *, step: Step, jobs: int | None = None
) -> None:
    """Runs the conformance suite on the version in `prefix`. Raises EngineError with the end of its log."""
    with working(project, step=step, jobs=jobs) as work:
        run_suite(work, prefix, engine)
