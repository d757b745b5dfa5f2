"""A study of an engine's options: hypotheses, the rounds that test them, and what was found.

Options are texts at paper scale. Intervals are at 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .engine import Engine, Frozen
from .record import Record

HypothesisVerdict = Literal["confirmed", "refuted", "undecided", "not tested"]


class Expectation(Frozen):
    """What a hypothesis predicts: a ratio of `metric`, with its options over without, at each workload."""

    metric: str
    workloads: tuple[str, ...]
    at_least: float | None = None
    at_most: float | None = None

    @property
    def text(self) -> str:
        """In words: "throughput × 1.1 or more at load, a"."""
        places = ", ".join(self.workloads)
        if self.at_least is not None and self.at_most is not None:
            return f"{self.metric} × {self.at_least:g} to {self.at_most:g} at {places}"
        if self.at_least is not None:
            return f"{self.metric} × {self.at_least:g} or more at {places}"
        return f"{self.metric} × {self.at_most:g} or less at {places}"

    @property
    def gains(self) -> bool:
        """Whether the prediction is a change: its bounds leave out 1."""
        return (self.at_least or 0) > 1 or (self.at_most is not None and self.at_most < 1)


class Hypothesis(Frozen):
    """A statement about options. `published` numbers the step of the published report that it stands for."""

    id: str
    statement: str
    why: str
    options: Mapping[str, str]
    expect: Expectation
    published: int | None = None


class PublishedStep(Frozen):
    """One step of a published tuning report: its options, and operations per second by workload."""

    options: Mapping[str, str]
    throughput: Mapping[str, float]


class Published(Frozen):
    """A published tuning report to stand beside. Its first step is its default, and `differences` are what
    sets its set-up apart.
    """

    source: str
    steps: tuple[PublishedStep, ...]
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """A checked study. `start` are the options of its default arm beside the preset's, `grid` is as in an
    experiment, and `shared` holds the keys that each round's experiment takes over as written.

    `phases` maps each workload to the span that it is judged by.
    """

    name: str
    title: str
    description: str
    path: Path
    engine: Engine
    choice: str
    preset: str
    start: Mapping[str, str]
    workloads: tuple[str, ...]
    phases: Mapping[str, str]
    shared: Mapping[str, Any]
    hypotheses: tuple[Hypothesis, ...]
    published: Published | None = None


@dataclass(frozen=True)
class Arm:
    """One side of a round: a label, and the options that it sets beside those of the start."""

    label: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Round:
    """The arms that are measured together to test a hypothesis; None: those of the confirmation.

    Where nothing is adopted yet, `best` is `default` and `together` is `alone`. `twin` is the label of a
    second default, with runs of its own.
    """

    name: str
    hypothesis: Hypothesis | None
    default: Arm
    alone: Arm
    best: Arm
    together: Arm
    twin: str | None = None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Each arm once; arms of equal options are one."""
        return tuple(
            {arm.label: arm for arm in (self.default, self.alone, self.best, self.together)}.values()
        )


@dataclass(frozen=True)
class Values:
    """A metric of one arm at one workload over `n` repetitions, in `unit`. `low`, `high` are the median's."""

    mean: float
    median: float
    low: float | None
    high: float | None
    n: int
    unit: str


@dataclass(frozen=True)
class Change:
    """A metric after over before at one workload, with what both arms did.

    `p_inside` and `p_outside` test that the ratio is not inside, not outside of the bounds (ClaimPoint); None
    where nothing was shown, for the reason in `doubt`.
    """

    workload: str
    ratio: float | None
    low: float | None
    high: float | None
    n: int
    p_inside: float | None
    p_outside: float | None
    doubt: str
    before: Mapping[str, Values]
    after: Mapping[str, Values]


@dataclass(frozen=True)
class Tested:
    """One comparison of a hypothesis: `before` and `after` are labels of arms.

    `p` is adjusted for the number of hypotheses. `why` explains the verdict.
    """

    before: str
    after: str
    changes: tuple[Change, ...]
    p_inside: float
    p_outside: float
    p: float = 1.0
    verdict: HypothesisVerdict = "undecided"
    why: str = ""


@dataclass(frozen=True)
class Interaction:
    """How much larger (above 1) or smaller a hypothesis' ratio is on the best so far than on the default."""

    workload: str
    ratio: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Trial:
    """A hypothesis after its round: over the default alone, and over the best so far, which decides.

    `best` are the options of the best so far before the round; `page` is the round's ordinary report.
    `failures` are runs that ended in something other than a measurement.
    """

    hypothesis: Hypothesis
    best: Mapping[str, str]
    alone: Tested
    on_best: Tested
    interactions: tuple[Interaction, ...]
    adopted: bool
    page: Path
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cost:
    """A metric of the best options over the default's in the confirmation, not judged."""

    workload: str
    metric: str
    ratio: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class WorkloadFacts:
    """A workload as its file and the plan define it. Sizes are bytes at the profile's scale.

    `hot_share` of the records receive nine draws in ten; `mix` maps operations to shares.
    """

    name: str
    mix: Mapping[str, float]
    distribution: str
    record_bytes: int
    records: int
    cap_bytes: int
    hot_share: float

    @property
    def data_bytes(self) -> int:
        """Keys and values."""
        return self.record_bytes * self.records

    @property
    def hot_bytes(self) -> float:
        """The working set: the records that receive nine draws in ten."""
        return self.data_bytes * self.hot_share


@dataclass(frozen=True)
class OptionRow:
    """An option of the engine: its own default, the start's value, the best one, and its effect."""

    name: str
    default: str
    start: str
    best: str
    effect: str


@dataclass(frozen=True)
class StudyFound:
    """What a study found. `gains` compares best with default in the confirmation, `twin` its second default
    with the first; both are empty if nothing is adopted. `records` are all runs, by the round that
    measured them.
    """

    study: Study
    profile: str
    scale: float
    workloads: tuple[WorkloadFacts, ...]
    options: tuple[OptionRow, ...]
    trials: tuple[Trial, ...]
    best: Mapping[str, str]
    gains: tuple[Change, ...]
    twin: tuple[Change, ...]
    costs: tuple[Cost, ...]
    confirmation: Path | None
    records: Mapping[str, tuple[Record, ...]]
    cautions: tuple[str, ...] = ()

    @property
    def adopted(self) -> tuple[Hypothesis, ...]:
        """The hypotheses whose options are the best, in order."""
        return tuple(trial.hypothesis for trial in self.trials if trial.adopted)
