"""A search for an engine's best options under a budget of time: tries, then a confirmation of the best.

Each try is an experiment of its own: candidate and default in one block. Candidates follow from the tries
before them, and tries from records; a search that was killed and is started again finds its tries stored, in
the same order, and goes on.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import UsageError
from kvdyno.model.engine import Engine
from kvdyno.model.options import parse_value, slug_value
from kvdyno.model.project import Project
from kvdyno.model.results import Analysis
from kvdyno.model.search import Confirmed, ConfirmedRow, Options, Rival, SearchFound, SearchPaths, Try
from kvdyno.model.units import format_seconds
from kvdyno.model.versions import split_version
from kvdyno.plan import estimate
from kvdyno.tuning import search as parts
from kvdyno.tuning.candidates import drawn
from kvdyno.tuning.confirmation import confirmed, costs_of, rivals_of, rows_of, winner_of
from kvdyno.tuning.gaussian import with_beliefs
from kvdyno.tuning.insight import importances, untried
from kvdyno.tuning.question import Question
from kvdyno.tuning.strategies import front_of

from .conclusions import analyse, write_report
from .papers import PAPER_BASE
from .planning import demand_memory
from .reuse import SweepSettings
from .search_bench import SearchBench, SearchRequest
from .search_trail import Costs, make_trail
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
    return _concluded(bench, make_trail(bench, costs=_rehearse(bench)))


def _rehearse(bench: SearchBench) -> Costs:
    """What parts of the search are expected to take: plans of random candidates, which check all that a
    person wrote before anything runs.
    """
    some = _some(bench)
    last = bench.planned(
        "confirmation",
        bench.document("Confirmation", some, confirming=True, twin=True),
        repeat=bench.asked.repeat,
    )
    first = next(iter(some.values()))
    costs = Costs(
        confirmation=estimate(last).seconds,
        full=estimate(bench.planned_try(1, first)).seconds,
        short=estimate(bench.planned_short(1, first)).seconds if bench.asked.short else 0,
    )
    demand_memory(last, uncapped=bench.how.uncapped)
    if costs.least > bench.asked.budget_seconds:
        raise UsageError(
            f"expected a budget for one try and the confirmation, about {format_seconds(costs.least)}, "
            f"found {format_seconds(bench.asked.budget_seconds)}",
            where="--budget",
            remedy="raise it, lower --repeat, or choose a smaller profile",
        )
    return costs


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


@dataclass(frozen=True)
class _Confirmation:
    """What the confirmation showed; nothing if no candidate was measured."""

    results: tuple[Confirmed, ...] = ()
    twin: tuple[ConfirmedRow, ...] = ()
    rivals: tuple[Rival, ...] = ()
    found: Analysis | None = None
    page: Path | None = None
    seconds: float = 0.0


def _confirm(bench: SearchBench, tries: Mapping[str, Try]) -> _Confirmation:
    """Measure the chosen tries beside default, second default and rivals, and write the ordinary report."""
    if not tries:
        return _Confirmation()
    bench.keep(())
    document = bench.document(
        f"Confirmation of {bench.name}",
        {label: one.options for label, one in tries.items()},
        confirming=True,
        twin=True,
    )
    whole = bench.planned("confirmation", document, repeat=bench.asked.repeat)
    records = bench.measured(whole)
    found = analyse(bench.project, whole, records=records)
    again = [f"kvdyno run {whole.experiment.path} --profile {bench.asked.profile}"]
    page = write_report(
        bench.project, found, whole.experiment, commands=again, uncapped=bench.how.uncapped
    ).html
    asked, objectives = bench.asked, bench.objectives
    seen, axis = asked.workloads, asked.axis
    return _Confirmation(
        results=confirmed(found, tries, seen=seen, objectives=objectives, axis=axis),
        twin=rows_of(found, parts.TWIN, over=parts.DEFAULT, objectives=objectives[:1], seen=seen, axis=axis),
        rivals=rivals_of(found, list(bench.rivals), tries, seen=seen, objectives=objectives, axis=axis),
        found=found,
        page=page,
        seconds=parts.seconds_of(records),
    )


def _concluded(bench: SearchBench, trail: tuple[Try, ...]) -> SearchFound:
    trail = with_beliefs(Question(bench.space, trail, bench.start, bench.asked.seed))
    last = _confirm(bench, parts.chosen(trail))
    winner = winner_of(last.results, objective=bench.objectives[0])
    return SearchFound(
        space=bench.space,
        profile=bench.asked.profile,
        strategy=bench.asked.strategy,
        workloads=bench.asked.workloads,
        unseen=bench.asked.confirmed_beside,
        objectives=bench.objectives,
        tries=trail,
        front=tuple(one.number for one in front_of(trail)),
        confirmed=last.results,
        winner=winner,
        twin=last.twin,
        costs=costs_of(last.found, winner, axis=bench.asked.axis) if last.found and winner else (),
        cautions=tuple(dict.fromkeys(c.message for c in last.found.cautions)) if last.found else (),
        rivals=last.rivals,
        importances={
            each.metric: importances(bench.space, trail, objective=place)
            for place, each in enumerate(bench.objectives)
        },
        untried=untried(bench.space, trail),
        unvaried=_unvaried(bench),
        budget_seconds=bench.asked.budget_seconds,
        spent_seconds=sum(one.seconds for one in trail) + last.seconds,
        folder=bench.folder,
        confirmation=last.page,
        experiment=_write_experiment(bench, winner) if winner else None,
        preset=_write_preset(bench, winner) if winner else None,
        records=bench.records,
    )


def _unvaried(bench: SearchBench) -> tuple[str, ...]:
    varied = {each.name for each in bench.space.dimensions}
    return tuple(each.name for each in bench.engine.description.options if each.name not in varied)


def _write_preset(bench: SearchBench, winner: Confirmed) -> Path:
    """The winner over the compared preset, as an adapter's presets.yaml has presets."""
    before = bench.engine.presets[bench.asked.preset].options
    preset = {"summary": _found_by(bench, winner), "options": _options(bench, {**before, **winner.options})}
    return write_yaml(bench.folder / "presets.yaml", {_TUNED: preset})


def _options(bench: SearchBench, options: Options) -> dict[str, str]:
    return {name: _spelled(bench.engine, name, text) for name, text in options.items()}


def _found_by(bench: SearchBench, winner: Confirmed) -> str:
    engine, today = bench.engine.description.engine, dt.datetime.now(dt.UTC).date()
    by = f"{bench.asked.strategy} on {today}, try {winner.number}"
    return f"Found for {engine.name} {engine.version} by {by}."


def _write_experiment(bench: SearchBench, winner: Confirmed) -> Path:
    """The winner as an experiment that `kvdyno run` measures, pinned to the engine's version."""
    engine, options = bench.engine, _options(bench, winner.options)
    pinned = bench.asked.engine
    if engine.built_version and split_version(pinned)[1] is None:
        pinned = f"{pinned}@{engine.built_version}"
    document = bench.document(f"{pinned}, tuned", {_TUNED: options}, confirming=True)
    for each in document["engines"]:
        if each["label"] not in bench.rivals:
            each["engine"] = pinned
    document["description"] = _found_by(bench, winner)
    return write_yaml(bench.folder / f"{_TUNED}.yaml", document)


def _spelled(engine: Engine, name: str, text: str) -> str:
    """The value as a person would write it: sizes with their unit, exactly."""
    option = engine.description.option(name)
    return slug_value(option, parse_value(option, text)) if option else text


def write_search(project: Project, found: SearchFound) -> SearchPaths:
    """The search's report as HTML, Markdown and LaTeX, and its trail as CSV. Raises StoreError if they cannot
    be written.
    """
    from kvdyno import paper
    from kvdyno.report import search as report
    from kvdyno.report.search_tables import search_tables

    pictures = report.draw(found)
    latex = paper.render_report(
        "search",
        found,
        words=report.words(found, pictures=pictures),
        tables=search_tables(found),
        base=project.paper_texts / PAPER_BASE,
    )
    return report.write_search(found, pictures=pictures, latex=latex)
