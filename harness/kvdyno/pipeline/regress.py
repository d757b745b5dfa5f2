"""`kvdyno regress`: pairs of runs until a gate is decided or its budget ends.

The runs are those of an ordinary experiment and their records ordinary records, so that the same command goes
on where a gate was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kvdyno import regress
from kvdyno.model.engine import RunnerName
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.plan import estimate
from kvdyno.regress import Verdict
from kvdyno.runner import host_id

from .aside import LeftAside, left_aside
from .gate import Gate
from .instructions import count_instructions
from .noise import host_noise
from .pairing import Pairing, SplitPair
from .reuse import SweepSettings, remaining, reusable
from .sweep import Observer, new_sweep_id, sweep

_SPLIT = "a gauge of this host stepped between its runs"


@dataclass(frozen=True)
class GateResult:
    """What a gate found. `pairs` counts all that are compared, `measured` the runs that were made now.

    `stopped` is why it ended: "decided", "budget" or "pairs" (the suite's most). `records` are in the plan's
    order. `noise_unknown`: the arms' runners for which no self-test has measured this host's noise.
    `split` are pairs that a step of the host split; `left_aside` counts them and other stored pairs that are
    not compared.
    """

    gate: Gate
    verdicts: tuple[Verdict, ...]
    records: tuple[Record, ...]
    pairs: int
    measured: int
    seconds: float
    stopped: str
    noise_unknown: tuple[RunnerName, ...]
    split: frozenset[SplitPair] = frozenset()
    left_aside: tuple[LeftAside, ...] = ()

    @property
    def plan(self) -> Plan:
        """The runs that were made: what an ordinary report shows."""
        made = {f"{record.point.slug}.r{record.repetition}" for record in self.records}
        whole = self.gate.whole
        return replace(whole, runs=tuple(run for run in whole.runs if run.name in made))

    @property
    def noise_known(self) -> bool:
        """Whether self-tests have measured this host's noise."""
        return not self.noise_unknown

    @property
    def status(self) -> int:
        """The exit status: 0 no regression, 1 regression, 2 undecided."""
        return regress.exit_status(self.verdicts)


def run_gate(
    project: Project,
    gate: Gate,
    *,
    how: SweepSettings,
    observer: Observer,
    wait: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> GateResult:
    """Measure pair after pair, each where doubt is greatest, until all is decided or the budget ends.

    Pairs that are stored cost nothing. With `wait`, and after the first pair, it waits for other sweeps.
    Raises what `sweep` raises, and HostError if the host changed since the first pair.
    """
    instructions = count_instructions(project, gate)
    begun, sweep_id, measured = clock(), new_sweep_id(), 0
    runners = dict.fromkeys(point.engine.runner for point in gate.whole.points)
    noise = {runner: host_noise(project, host_id(), runner=runner) for runner in runners}
    pairing = Pairing(gate, noise=noise, instructions=instructions)
    stopped = "decided"
    while (point := pairing.next_point()) is not None:
        part = pairing.next_pair(point)
        expected = estimate(remaining(part, reusable(project, part, how=how))).seconds
        if expected and clock() - begun + expected > gate.spec.budget_seconds:
            stopped = "budget"
            break
        done = sweep(project, part, how=how, observer=observer, wait=wait or measured > 0, sweep_id=sweep_id)
        measured += done.measured
        pairing.add(point, done.records)
    if stopped == "decided" and any(each.undecided and not each.failure for each in pairing.verdicts()):
        stopped = "pairs"
    records, split = pairing.records(), pairing.split
    aside = [LeftAside(len(split), _SPLIT)] if split else []
    if gate.points:
        aside += left_aside(project, gate.whole, how=how, used=records)
    return GateResult(
        gate=gate,
        verdicts=pairing.verdicts(),
        records=records,
        pairs=pairing.pairs,
        measured=measured,
        seconds=clock() - begun,
        stopped=stopped,
        noise_unknown=tuple(runner for runner, found in noise.items() if found is None),
        split=split,
        left_aside=tuple(aside),
    )
