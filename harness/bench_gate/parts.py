"""The parts of the gate's measurement: how many gates each runs, of what, for how long, with which margin."""

from __future__ import annotations

from dataclasses import dataclass

from kvdyno.model.metrics import INSTRUCTIONS

#: How many instructions the build of part `cost` executes in vain; its gate shows their cost, about a tenth
#: of a get. That is the gate's margin: so near to it doubt stays, and the gate measures to its budget's end.
PROBE_INSTRUCTIONS = 440
#: The point and the metric that a slower get must show in.
POINT, METRIC = "c", "cpu.per_operation"
#: Points of the suite. A gate on one of them is judged as a part of the suite: false alarms are shared.
SUITE_POINTS = 3
#: The made history: so many commits, of which this one is slower by BISECT_SLOWDOWN.
COMMITS, PLANTED = 10, 6
BISECT_SLOWDOWN = 0.10


@dataclass(frozen=True)
class Part:
    """One session: `gates` gates of `budget_seconds` each; `slowdown` is the share of CPU that gets lose.

    `metric` is what `bisect` walks by. `builds` counts the builds that precede measuring,
    whose time no budget holds.
    """

    name: str
    gates: int
    budget_seconds: float
    margin: float
    slowdown: float = 0.0
    metric: str = METRIC
    first: int = 1
    builds: int = 0

    @property
    def numbers(self) -> range:
        """The numbers of its gates."""
        return range(self.first, self.first + self.gates)

    @property
    def kind(self) -> str:
        """What its gates are: parts of twins are one measurement, and those of bisect."""
        return self.name.split("-")[0] if self.name.startswith(("twins", "bisect")) else self.name

    @property
    def seconds(self) -> float:
        """The longest that it measures."""
        return self.gates * self.budget_seconds


#: Margins lie well below what is to be found; the gate widens them to the host's noise.
PARTS = (
    Part("twins-1", 10, 240, 0.05),
    Part("twins-2", 10, 240, 0.05, first=11),
    Part("cost", 1, 240, 0.10, builds=2),
    Part("slow-10", 10, 225, 0.05, slowdown=0.10, builds=1),
    Part("slow-5", 10, 225, 0.02, slowdown=0.05, builds=1),
    Part("slow-3", 10, 225, 0.01, slowdown=0.03, builds=1),
    Part("bisect-count", 1, 300, 0.05, slowdown=BISECT_SLOWDOWN, metric=INSTRUCTIONS, builds=6),
    Part("bisect-time", 1, 1800, 0.05, slowdown=BISECT_SLOWDOWN),
)
