"""The tries of a search in their order: presets first, then what the strategy proposes, with repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvdyno.model.search import Options, Try
from kvdyno.tuning import search as parts
from kvdyno.tuning.candidates import placed
from kvdyno.tuning.question import Question
from kvdyno.tuning.racing import due, hopeless, undecided
from kvdyno.tuning.strategies import STRATEGIES, front_of

from .search_bench import SearchBench


@dataclass(frozen=True)
class Costs:
    """Expected seconds of the confirmation, and of a try's run in full length and its short one (0: none)."""

    confirmation: float
    full: float
    short: float

    @property
    def least(self) -> float:
        """One try and the confirmation."""
        return self.confirmation + self.short + self.full

    def of(self, one: Try) -> float:
        """What a try was expected to take, by the runs that it had."""
        ended_early = one.pruned or (self.short and one.short is None)
        return self.short + (0 if ended_early else self.full * max(1, len(one.each)))


def make_trail(bench: SearchBench, *, costs: Costs) -> tuple[Try, ...]:
    """Tries until the budget is spent but for the confirmation. After every third, one whose place in the
    front is decided by noise is measured once more. A search that has nothing new to try ends earlier.
    """
    asked, presets = bench.asked, _presets(bench)
    trail: list[Try] = []
    while asked.tries is None or len(trail) < asked.tries:
        if trail and not _affordable(bench, trail, costs=costs, more=costs.short + costs.full):
            break
        if len(trail) < len(presets):
            origin, options = presets[len(trail)]
        else:
            question = Question(bench.space, tuple(trail), bench.start, asked.seed, given=len(presets))
            origin, options = asked.strategy, STRATEGIES[asked.strategy](question)
        trail.append(replace(_try(bench, options, trail), origin=origin))
        if not any(one.seconds for one in trail[-_idle_most(bench) :]) and len(trail) >= _idle_most(bench):
            return tuple(trail[: -_idle_most(bench)])
        unclear = due(trail)
        if unclear and _affordable(bench, trail, costs=costs, more=costs.full):
            _repeat(bench, unclear, trail)
        bench.keep([*undecided(trail), *front_of(trail)])
    return tuple(trail)


def _affordable(bench: SearchBench, trail: Sequence[Try], *, costs: Costs, more: float) -> bool:
    """Whether the budget holds `more` expected seconds and the confirmation, corrected by what tries took."""
    measured = [one for one in trail if one.seconds]
    spent = sum(one.seconds for one in measured)
    pace = spent / sum(costs.of(one) for one in measured) if measured else 1.0
    return spent + pace * (more + costs.confirmation) <= bench.asked.budget_seconds


def _presets(bench: SearchBench) -> list[tuple[str, Options]]:
    """The engine's other presets as candidates, as far as the space holds what they set; each once. What one
    does not set is the engine's default there. It is left out where that lies outside the space, but for
    what the compared preset sets.
    """
    presets, mine = bench.engine.presets, bench.asked.preset
    seen = [bench.in_force({})]
    found: list[tuple[str, Options]] = []
    for name, preset in presets.items():
        written = {*preset.options, *presets[mine].options}
        values = bench.space.start(preset.options, scale=bench.profile.scale)
        kept = [each for each in bench.space.dimensions if each.name in values]
        kept = [each for each in kept if each.name in written or each.holds(values[each.name])]
        options = placed(bench.space, {each.name: values[each.name] for each in kept})
        if name != mine and bench.in_force(options) not in seen:
            seen.append(bench.in_force(options))
            found.append((f"preset {name}", options))
    return found


def _idle_most(bench: SearchBench) -> int:
    """So many tries in a row that measure nothing end a search: the strategy repeats itself, for it has
    converged, or the space has no other candidate.
    """
    return 10 * len(bench.space.dimensions)


def _try(bench: SearchBench, options: Options, trail: Sequence[Try]) -> Try:
    """The candidate's try; what the default or an earlier one is at this profile's scale is not measured."""
    number, mine = len(trail) + 1, bench.in_force(options)
    if mine == bench.in_force({}):
        return Try(number, options, (0.0,) * len(bench.objectives))
    for one in trail:
        if bench.in_force(one.options) == mine:
            return replace(one, number=number, options=options, seconds=0, short_seconds=0, each=())
    if not bench.asked.short:
        return _full(bench, number, options)
    records = bench.measured(bench.planned_short(number, options))
    short = parts.tried(number, options, records, objectives=bench.objectives, axis=bench.asked.axis)
    short = replace(short, short=short.gains, short_seconds=short.seconds, each=())
    if short.gains is None or hopeless(short.gains, trail):
        return replace(short, pruned=short.gains is not None)
    return _beside_short(_full(bench, number, options), short)


def _full(bench: SearchBench, number: int, options: Options, *, repetitions: int = 1) -> Try:
    records = bench.measured(bench.planned_try(number, options, repetitions=repetitions))
    return parts.tried(number, options, records, objectives=bench.objectives, axis=bench.asked.axis)


def _beside_short(full: Try, short: Try) -> Try:
    seconds = full.seconds + short.short_seconds
    return replace(full, short=short.short, short_seconds=short.short_seconds, seconds=seconds)


def _repeat(bench: SearchBench, one: Try, trail: list[Try]) -> None:
    """Measure a try once more; tries that are the same at this profile's scale follow it."""
    again = _full(bench, one.number, one.options, repetitions=len(one.each) + 1)
    again = replace(_beside_short(again, one), origin=one.origin)
    mine = bench.in_force(one.options)
    for place, other in enumerate(trail):
        if other is one:
            trail[place] = again
        elif bench.in_force(other.options) == mine:
            trail[place] = replace(other, gains=again.gains, failure=again.failure)
