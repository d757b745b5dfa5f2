"""A search for an engine's best options: its space, its tries, and what was found.

Options are texts at paper scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .engine import Engine
from .options import parse_value, scale_value, value_text
from .record import Record
from .study import Cost

Options = Mapping[str, str]


@dataclass(frozen=True)
class Dimension:
    """One option that a search varies: `values`, or the numbers from `low` to `high`.

    `log`: numbers are drawn by their logarithm. `whole`: only integers count. `memory` is how many times its
    value the option takes of memory. `only_if` maps other options to the values with which this one acts.
    """

    name: str
    values: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    log: bool = False
    whole: bool = True
    memory: float = 0
    only_if: Mapping[str, frozenset[str]] | None = None

    def acts(self, options: Options) -> bool:
        """Whether the option means anything beside these."""
        return all(options.get(name) in values for name, values in (self.only_if or {}).items())

    def holds(self, text: str) -> bool:
        """Whether the value is one of these, or in the range."""
        return text in self.values if self.values else self.low <= float(text) <= self.high

    def place(self, value: float) -> float:
        """Where a number lies in the range, from 0 to 1, on the range's scale."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def at(self, place: float) -> float:
        """The number at such a place of the range: the inverse of `place`."""
        if self.log:
            return self.low * math.exp(place * math.log(self.high / self.low))
        return self.low + place * (self.high - self.low)


@dataclass(frozen=True)
class Space:
    """All that a search varies of an engine. Options marked `memory` may take `memory_bytes` together."""

    engine: Engine
    dimensions: tuple[Dimension, ...]
    memory_bytes: float

    def start(self, options: Options, *, scale: float = 1) -> Options:
        """A preset's options, or the engine's defaults, in this space; words ("auto") have no place. Drivers
        get a default as it is, so that at paper scale it is larger by a profile's `scale`.
        """
        found: dict[str, str] = {}
        for each in self.dimensions:
            described = self.engine.description.option(each.name)
            assert described
            text = options.get(each.name)
            value = parse_value(described, described.default if text is None else text)
            if text is None:
                value = scale_value(described, value, scale=1 / scale)
            if each.values or not isinstance(value, str):
                found[each.name] = value_text(value)
        return found


@dataclass(frozen=True)
class Objective:
    """A metric to improve. `higher`: more of it is better."""

    metric: str
    higher: bool


@dataclass(frozen=True)
class Try:
    """One candidate. `gains` are, for each objective, the logarithms of how much better than the default it
    was (above 0: better), averaged over workloads and repetitions; None if a run failed, for the reason in
    `failure`. `each` has the gains of every repetition in full length.

    `believed` are its gains as the search's model has them after all tries: less of them is noise.

    `short` are the gains of its short run, if it had one. `pruned`: there was no run in full length, and
    `gains` are those of the short one. `origin` is what proposed it: "preset tuned", or a strategy's name.
    `seconds` is what it took, with its loads, `short_seconds` the part of its short run.
    """

    number: int
    options: Options
    gains: tuple[float, ...] | None
    failure: str = ""
    seconds: float = 0
    each: tuple[tuple[float, ...], ...] = ()
    believed: tuple[float, ...] | None = None
    short: tuple[float, ...] | None = None
    pruned: bool = False
    short_seconds: float = 0
    origin: str = ""


@dataclass(frozen=True)
class ConfirmedRow:
    """A metric over the default's at one workload; `unseen`: the search did not measure the workload.

    `better` is whether the verdict shows an improvement (True) or the opposite (False); None: neither.
    """

    workload: str
    metric: str
    ratio: float
    low: float | None
    high: float | None
    n: int
    verdict: str
    better: bool | None
    unseen: bool


@dataclass(frozen=True)
class FreshGain:
    """How many times better than the default a candidate was in the confirmation. From `low` to `high` is its
    interval: 95 % for all candidates together, with the noise of all contenders. None: not known.
    """

    value: float
    low: float | None
    high: float | None

    @property
    def shown(self) -> bool:
        """Whether it is a gain, by its interval."""
        return self.low is not None and self.low > 1


@dataclass(frozen=True)
class Confirmed:
    """A chosen candidate after the confirmation, over the default.

    `searched`, `promised` and `fresh` are the first objective's gain: the mean of the try's runs, what the
    search's model made of all runs, and the confirmation's. They are geometric means over the searched
    workloads. The first is too good, because the candidate was chosen for it.
    """

    number: int
    label: str
    options: Options
    rows: tuple[ConfirmedRow, ...]
    searched: float
    promised: float
    fresh: FreshGain | None

    @property
    def curse(self) -> float | None:
        """How much of the promised gain the confirmation did not find: above 1 is the winner's curse."""
        return None if self.fresh is None else self.promised / self.fresh.value


@dataclass(frozen=True)
class Rival:
    """Another engine in the confirmation: its metrics over the default's, and each chosen candidate's over
    its own, by the candidate's number.
    """

    label: str
    over_default: tuple[ConfirmedRow, ...]
    candidates: Mapping[int, tuple[ConfirmedRow, ...]]


@dataclass(frozen=True)
class Share:
    """An option's importance, as a share of all options', with a 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Untried:
    """What no candidate had of an option: values, or stretches between neighbouring candidates or ends."""

    name: str
    values: tuple[str, ...] = ()
    gaps: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class SearchFound:
    """What a search found. `front` are the numbers of the tries that no other one beats in every objective.

    `twin` is the second default over the first in the confirmation, `costs` is what the winner takes of
    memory, CPU and disk, `cautions` are the confirmation's, `rivals` its other engines. `importances` maps
    each objective's metric to options and their shares, most important first. `untried` is what no candidate
    had, `unvaried` are the engine's options outside the space. `folder` has the report and the experiments,
    `confirmation` is the confirmation's ordinary report. `experiment` runs the winner beside the default, and
    `preset` has its options as the adapter's presets are written; None if the default stays. `records` are
    all runs, by the experiment that measured them.
    """

    space: Space
    profile: str
    strategy: str
    workloads: tuple[str, ...]
    unseen: tuple[str, ...]
    objectives: tuple[Objective, ...]
    tries: tuple[Try, ...]
    front: tuple[int, ...]
    confirmed: tuple[Confirmed, ...]
    winner: Confirmed | None
    twin: tuple[ConfirmedRow, ...]
    costs: tuple[Cost, ...]
    cautions: tuple[str, ...]
    rivals: tuple[Rival, ...]
    importances: Mapping[str, Mapping[str, Share]]
    untried: tuple[Untried, ...]
    unvaried: tuple[str, ...]
    budget_seconds: float
    spent_seconds: float
    folder: Path
    confirmation: Path | None
    experiment: Path | None
    preset: Path | None
    records: Mapping[str, tuple[Record, ...]]


@dataclass(frozen=True)
class SearchPaths:
    """What a search's report consists of."""

    html: Path
    markdown: Path
    latex: Path
    trail: Path


def better_ratio(ratio: float, *, higher: bool) -> float:
    """The logarithm of how much better: above 0 is better, whatever the metric's direction."""
    return math.log(ratio) if higher else -math.log(ratio)
