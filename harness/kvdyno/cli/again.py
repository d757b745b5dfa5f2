"""Measuring the same again: the commands that a report ends with, and the stored run that a person names."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kvdyno.errors import UsageError
from kvdyno.model.engine import RunnerName
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis
from kvdyno.model.versions import versioned
from kvdyno.store import RunStore

_ONCE_ONLY = ("--json", "--force", "--wait")
_OF_REPORTS = ("--builds-of", "--compare")
_OF_PLACES = ("--as", "--state", "--results", "--data")


def commands_again(arguments: Sequence[str], *, plan: Plan, found: Analysis) -> list[str]:
    """The code's version, its engines for the runners that made the records, then the call as a `run`.

    `arguments` are those of the call, behind the command's name.
    """
    return [
        *_checkout(found),
        *_engines(plan),
        shlex.join([".venv/bin/kvdyno", "run", *_run(arguments, plan)]),
    ]


def command_text(arguments: Sequence[str]) -> str:
    """The call as a reader repeats it: without folders, and without how it prints and what it publishes."""
    return shlex.join(["kvdyno", *_without(arguments, flags=_ONCE_ONLY, options=_OF_PLACES)])


def _without(arguments: Sequence[str], *, flags: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    words = iter(arguments)
    for word in words:
        if word in options:
            next(words)
        elif word not in flags and word.partition("=")[0] not in options:
            yield word


def _checkout(found: Analysis) -> Iterator[str]:
    commits = {str(machine.facts.get("kvdyno.commit") or "") for machine in found.machines} - {""}
    modified = {machine.facts.get("kvdyno.modified") for machine in found.machines}
    if len(commits) != 1:
        return
    if modified == {False}:
        yield f"git checkout {commits.pop()}"
    else:
        yield f"# measured with a checkout that was modified after commit {commits.pop()}"


def _engines(plan: Plan) -> Iterator[str]:
    names: dict[RunnerName, dict[str, None]] = {}
    for engine in (point.engine for point in plan.points):
        names.setdefault(engine.runner, {})[versioned(engine.name, engine.built_version or None)] = None
    if "local" in names:
        yield "make build"
        if versions := [name for name in names["local"] if "@" in name]:
            yield shlex.join([".venv/bin/kvdyno", "engines", "build", *versions])
    if "docker" in names:
        yield f"make images IMAGES={','.join(names['docker'])}"


def _run(arguments: Sequence[str], plan: Plan) -> Iterator[str]:
    yield from _without(arguments, flags=_ONCE_ONLY, options=_OF_REPORTS)
    unnamed = {choice.label for choice in plan.experiment.engines if choice.runner is None}
    runners = {point.engine.runner for point in plan.points if point.axes["engine"] in unnamed}
    if "docker" in runners and not any(word.startswith(("-r", "--runner")) for word in arguments):
        yield from ("--runner", "docker")


def stored_run(here: Project, text: str) -> Record:
    """The one record whose run's id ends so. Raises UsageError if there is none, or more than one."""
    found = [record for record in RunStore(here.runs).read()[0] if record.run_id.endswith(text)]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        f"expected a run's id or its end, found {text!r}, which {len(found) or 'no'} runs have",
        where=str(here.runs),
        remedy="`kvdyno show` lists the runs",
    )
