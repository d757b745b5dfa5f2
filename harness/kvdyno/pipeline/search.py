"""A search for an engine's best options under a budget of time: tries, then a confirmation of the best.

Each try is an experiment of its own: candidate and default in one block. Candidates follow from the tries
before them, and tries from records; a search that was killed and is started again finds its tries stored, in
the same order, and goes on.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from kvdyno.errors import UsageError
from kvdyno.model.engine import Engine
from kvdyno.model.options import parse_value, slug_value
from kvdyno.model.project import Project
from kvdyno.model.search import Confirmed, Options, SearchFound, Try
from kvdyno.model.units import format_seconds
from kvdyno.model.versions import split_version
from kvdyno.plan import estimate
from kvdyno.tuning import search as parts
from kvdyno.tuning.candidates import drawn
from kvdyno.tuning.strategies import STRATEGIES, Question, front_of, importances

from .conclusions import analyse, write_report
from .planning import demand_memory
from .reuse import SweepSettings
from .search_bench import SearchBench, SearchRequest
from .written import Watch, write_yaml

_TUNED = "tuned"
#: A space that so many draws find no candidate in has none.
_DRAWS = 64


def search(
    project: Project, asked: SearchRequest, *, how: SweepSettings, watch: Watch, wait: bool = False
) -> SearchFound:
    """Try candidates until the budget is spent but for the confirmation, then confirm the best of them.

    Raises UsageError for a budget that does not hold one try and the confirmation, and what load_space,
    make_plan and sweep raise.
    """
    bench = SearchBench(project, asked, how=how, watch=watch, wait=wait)
    reserve, each = _rehearse(bench)
    trail = _trail(bench, reserve=reserve, each=each)
    return _concluded(bench, trail)


def _rehearse(bench: SearchBench) -> tuple[float, float]:
    """Expected seconds of the confirmation and of a try: plans of random candidates, which check all that a
    person wrote before anything runs.
    """
    some = _some(bench)
    last = bench.planned(
        "confirmation",
        bench.document("Confirmation", some, confirming=True, twin=True),
        repeat=bench.asked.repeat,
    )
    one = bench.planned("1", bench.document("Try 1", {parts.CANDIDATE: next(iter(some.values()))}))
    demand_memory(last, uncapped=bench.how.uncapped)
    reserve, each = estimate(last).seconds, estimate(one).seconds
    if reserve + each > bench.asked.budget_seconds:
        raise UsageError(
            f"expected a budget for one try and the confirmation, about {format_seconds(reserve + each)}, "
            f"found {format_seconds(bench.asked.budget_seconds)}",
            where="--budget",
            remedy="raise it, lower --repeat, or choose a smaller profile",
        )
    return reserve, each


def _some(bench: SearchBench) -> Mapping[str, Options]:
    """As many candidates as a confirmation has, which differ from the default and each other; fewer if a
    small space has no more. Raises UsageError if it has none.
    """
    seen = [bench.in_force({})]
    found: dict[str, Options] = {}
    for number in range(_DRAWS):
        options = drawn(bench.space, random.Random(number))
        if len(found) < parts.CHOSEN and bench.in_force(options) not in seen:
            seen.append(bench.in_force(options))
            found[f"try-{number + 1}"] = options
    if not found:
        names = ", ".join(each.name for each in bench.space.dimensions)
        raise UsageError(
            f"expected candidates that differ from the default at profile {bench.profile.name!r}, found none "
            f"among {names}",
            where=f"tune {bench.asked.engine}",
            remedy="widen a range with --range, or choose a larger profile",
        )
    return found


def _trail(bench: SearchBench, *, reserve: float, each: float) -> tuple[Try, ...]:
    """Tries in their order. What a try costs is corrected by what tries have cost."""
    asked = bench.asked
    start = bench.space.start(bench.engine.presets[asked.preset].options)
    trail: list[Try] = []
    while asked.tries is None or len(trail) < asked.tries:
        measured = [one.seconds for one in trail if one.seconds]
        pace = sum(measured) / len(measured) / each if measured else 1.0
        if sum(measured) + pace * (each + reserve) > asked.budget_seconds and trail:
            break
        question = Question(bench.space, tuple(trail), start, asked.seed)
        trail.append(_try(bench, STRATEGIES[asked.strategy](question), trail))
        if len(trail) > _tries_most(bench) and not measured:
            break
    return tuple(trail)


def _tries_most(bench: SearchBench) -> int:
    """So many tries without a single measurement end a search: the space is the default."""
    return 10 * len(bench.space.dimensions)


def _try(bench: SearchBench, options: Options, trail: Sequence[Try]) -> Try:
    """The candidate's try; what the default or an earlier one is at this profile's scale is not measured."""
    number, mine = len(trail) + 1, bench.in_force(options)
    if mine == bench.in_force({}):
        return Try(number, options, (0.0,) * len(bench.objectives))
    for one in trail:
        if bench.in_force(one.options) == mine:
            return Try(number, options, one.gains, one.failure)
    whole = bench.planned(str(number), bench.document(f"Try {number}", {parts.CANDIDATE: options}))
    records = bench.measured(whole)
    return parts.tried(number, options, records, objectives=bench.objectives, axis=bench.asked.axis)


def _concluded(bench: SearchBench, trail: tuple[Try, ...]) -> SearchFound:
    # A try that took no time is the default, or an earlier one again.
    tries = parts.chosen([one for one in trail if one.seconds])
    results: tuple[Confirmed, ...] = ()
    spent = sum(one.seconds for one in trail)
    page = None
    if tries:
        document = bench.document(
            f"Confirmation of {bench.name}",
            {label: one.options for label, one in tries.items()},
            confirming=True,
            twin=True,
        )
        whole = bench.planned("confirmation", document, repeat=bench.asked.repeat)
        records = bench.measured(whole)
        spent += parts.seconds_of(records)
        found = analyse(bench.project, whole, records=records)
        again = [f"kvdyno run {whole.experiment.path} --profile {bench.asked.profile}"]
        page = write_report(
            bench.project, found, whole.experiment, commands=again, uncapped=bench.how.uncapped
        ).html
        results = parts.confirmed(
            found, tries, seen=bench.asked.workloads, objectives=bench.objectives, axis=bench.asked.axis
        )
    winner = parts.winner_of(results, objective=bench.objectives[0])
    return SearchFound(
        space=bench.space,
        profile=bench.asked.profile,
        strategy=bench.asked.strategy,
        workloads=bench.asked.workloads,
        unseen=bench.asked.confirmed_beside,
        objectives=bench.objectives,
        tries=trail,
        front=tuple(one.number for one in front_of(trail)),
        confirmed=results,
        winner=winner,
        importances={
            each.metric: importances(bench.space, trail, objective=place)
            for place, each in enumerate(bench.objectives)
        },
        budget_seconds=bench.asked.budget_seconds,
        spent_seconds=spent,
        folder=bench.folder,
        confirmation=page,
        preset=_write_preset(bench, winner) if winner else None,
    )


def _write_preset(bench: SearchBench, winner: Confirmed) -> Path:
    """The winner as an experiment that `kvdyno run` measures, pinned to the engine's version."""
    engine = bench.engine
    options = {name: _spelled(engine, name, text) for name, text in winner.options.items()}
    pinned = bench.asked.engine
    if engine.built_version and split_version(pinned)[1] is None:
        pinned = f"{pinned}@{engine.built_version}"
    document = bench.document(f"{pinned}, tuned", {_TUNED: options}, confirming=True)
    for each in document["engines"]:
        each["engine"] = pinned
    found = f"{engine.description.engine.name} {engine.description.engine.version}"
    today = dt.datetime.now(dt.UTC).date()
    document["description"] = f"Found for {found} by {bench.asked.strategy} on {today}, try {winner.number}."
    return write_yaml(bench.folder / f"{_TUNED}.yaml", document)


def _spelled(engine: Engine, name: str, text: str) -> str:
    """The value as a person would write it: sizes with their unit, exactly."""
    option = engine.description.option(name)
    return slug_value(option, parse_value(option, text)) if option else text


def write_search(found: SearchFound) -> tuple[Path, Path]:
    """The search's report as HTML, and its trail as CSV. Raises StoreError if they cannot be written."""
    from kvdyno.report.search import write_search as written

    return written(found)
