"""`kvdyno bisect`: gates of one point between a good revision and candidates, until one is the first bad.

The gates' records are its state: the same command reads them and goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kvdyno import builds, regress
from kvdyno.errors import EngineError, UsageError
from kvdyno.model.project import Project
from kvdyno.model.versions import read_versions, split_version, versioned
from kvdyno.regress import Finding, Left, Verdict

from .gate import Gate, GateRequest
from .regress import GateResult


@dataclass
class Bisection:
    """What a bisection has found: `findings`, `verdicts` and `skipped` (why) by the candidate's number.

    `out_of_budget`: whether the budget ended the walk.
    """

    candidates: tuple[str, ...]
    findings: dict[int, Finding] = field(default_factory=dict)
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)
    out_of_budget: bool = False

    @property
    def left(self) -> Left:
        """The candidates of which one is the first bad."""
        return regress.left(self.findings, candidates=len(self.candidates))

    @property
    def bad_confirmed(self) -> bool:
        """Whether the last candidate was judged bad."""
        return self.findings.get(len(self.candidates) - 1) == "bad"


def candidates_between(project: Project, good: str, bad: str) -> tuple[str, ...]:
    """What lies after `good` up to `bad`, oldest first: commits that change sources of drivers, or listed
    versions of an engine. Raises UsageError, EngineError for a version that is not listed.
    """
    if "@" in good and "@" in bad:
        return _versions_between(project, good, bad)
    for name in (good, bad):
        if builds.commit_of(project, name) is None:
            raise UsageError("git knows no such revision", where=name)
    found = builds.commits_between(project, good, bad)
    if found is None:
        raise UsageError(f"expected an ancestor of {bad}, found another line of history", where=good)
    if not found:
        raise UsageError(
            "expected commits that change sources of drivers, found none", where=f"{good}..{bad}"
        )
    return found


def _versions_between(project: Project, good: str, bad: str) -> tuple[str, ...]:
    """The versions of engines/versions.yaml, in the order of their numbers."""
    versions = read_versions(project)
    (engine, first), (other, last) = split_version(good), split_version(bad)
    library = versions.library_of(engine)
    if engine != other or library is None:
        raise UsageError(
            f"expected two versions of one engine in engines/versions.yaml, found {good} and {bad}",
            where=good,
        )
    for version in (first, last):
        versions.check(engine, version or "", where=f"{engine}@{version}")
    low, high = _numbers(first or ""), _numbers(last or "")
    between = [each for each in versions.libraries[library].versions if low < _numbers(each) <= high]
    if not between:
        raise UsageError(f"expected a version before {bad}, found a later one or the same", where=good)
    return tuple(versioned(engine, each) for each in sorted(between, key=_numbers))


def _numbers(version: str) -> tuple[int, ...]:
    """The version for comparing: "10.4.2" is later than "9.9.3". The distribution's own is before all."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def bisect(
    request: GateRequest,
    candidates: tuple[str, ...],
    *,
    budget_seconds: float,
    prepare: Callable[[GateRequest], Gate],
    measure: Callable[[Gate], GateResult],
    clock: Callable[[], float] = time.monotonic,
) -> Bisection:
    """Judge candidates against `request.base` until one is the first bad, or nothing more can be learnt.

    A candidate that does not build, or a version that is not built, is skipped. Raises what `prepare`
    and `measure` raise otherwise; a budget that is too small for the first gate is a UsageError.
    """
    found = Bisection(candidates)
    measured = 0.0
    while (n := regress.next_candidate(found.findings, candidates=len(candidates))) is not None:
        asked = replace(
            request, head=candidates[n], comparisons=len(candidates), budget_seconds=budget_seconds - measured
        )
        try:
            gate = prepare(asked)
        except EngineError as error:
            if n == len(candidates) - 1:
                raise
            found.findings[n], found.skipped[n] = "skipped", str(error)
            continue
        except UsageError as error:
            if error.where != "--budget" or not found.verdicts:
                raise
            found.out_of_budget = True
            break
        begun = clock()
        result = measure(gate)
        measured += clock() - begun
        found.findings[n] = _finding(result)
        if result.verdicts:
            found.verdicts[n] = regress.changed_first(result.verdicts)[0]
        found.out_of_budget = found.out_of_budget or result.stopped == "budget"
    return found


def _finding(result: GateResult) -> Finding:
    """One build in both arms has no verdicts: it is as good as the good one."""
    findings: Mapping[int, Finding] = {0: "good", 1: "bad", 2: "undecided"}
    return findings[result.status]
