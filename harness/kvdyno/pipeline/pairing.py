"""The pairs of a gate, point by point: what they show so far, and which comes next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kvdyno import regress
from kvdyno.errors import HostError
from kvdyno.host.build import build_bytes
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.experiment import GateMetric
from kvdyno.model.metrics import INSTRUCTIONS
from kvdyno.model.noise import HostNoise
from kvdyno.model.point import Plan
from kvdyno.model.record import CONCLUSIVE, LASTING_FACTS, Record
from kvdyno.regress import Pair, Verdict

from .gate import BUILD, Gate, GatePoint
from .instructions import judge_instructions

#: A point's name and a repetition.
SplitPair = tuple[str, int]


class Pairing:
    """The pairs so far, point by point, and what they show. `noise` is this host's, by runner."""

    def __init__(
        self,
        gate: Gate,
        *,
        noise: Mapping[RunnerName, HostNoise | None],
        instructions: Mapping[str, Sequence[Pair]] | None = None,
    ) -> None:
        self._noise = noise
        self._gate = gate
        self._records: dict[str, Record] = {}
        self._pairs: dict[str, int] = {each.name: 0 for each in gate.points}
        self._failures: dict[str, tuple[str, bool]] = {}
        self._values: dict[tuple[str, GateMetric], dict[int, Pair]] = {}
        self._split: frozenset[SplitPair] = frozenset()
        self._units: dict[GateMetric, str] = {}
        self._counted = (*_verdicts_on_instructions(gate, instructions or {}), *_verdicts_of_builds(gate))

    @property
    def pairs(self) -> int:
        """All pairs of all points that are compared."""
        return sum(self._pairs.values()) - len(self._split)

    @property
    def split(self) -> frozenset[SplitPair]:
        """The pairs that a step of the host split: only exact metrics count them."""
        return self._split

    def records(self) -> tuple[Record, ...]:
        """In the plan's order."""
        named = (self._records.get(run.name) for run in self._gate.whole.runs)
        return tuple(record for record in named if record)

    def next_point(self) -> GatePoint | None:
        """Points in turn until each has the pairs that a verdict needs, then by doubt; none that has the
        suite's most pairs.
        """
        if not self._gate.spec.of_runs:
            return None
        most = self._gate.whole.experiment.repetitions
        going = [
            each
            for each in self._gate.points
            if each.name not in self._failures and self._pairs[each.name] < most
        ]
        young = [each for each in going if self._pairs[each.name] < self._gate.pairs_least]
        if young:
            return min(young, key=lambda each: self._pairs[each.name])
        judged = {each.name: [v.judged for v in self._verdicts_of(each)] for each in going}
        chosen = regress.next_point(judged)
        return next((each for each in going if each.name == chosen), None)

    def next_pair(self, point: GatePoint) -> Plan:
        """The plan of the point's next repetition, by both arms in the whole plan's order."""
        repetition = self._pairs[point.name] + 1
        arms = {point.base.identity, point.head.identity}
        whole = self._gate.whole
        runs = [run for run in whole.runs if run.repetition == repetition and run.point.identity in arms]
        return replace(whole, points=(point.base, point.head), runs=tuple(runs))

    def add(self, point: GatePoint, records: Sequence[Record]) -> None:
        """A repetition's two records. Raises HostError if the host has changed since the first."""
        by_arm = {record.point.identity: record for record in records}
        base, head = by_arm[point.base.identity], by_arm[point.head.identity]
        for record in (base, head):
            self._records[f"{record.point.slug}.r{record.repetition}"] = record
        _demand_same_host(self._records.values())
        self._split = _split_pairs(self._gate.points, self._records.values())
        self._pairs[point.name] += 1
        if base.status != "ok" or head.status != "ok":
            self._failures[point.name] = (
                _failure(base, head),
                base.status == "ok" and head.status in CONCLUSIVE,
            )
            return
        from kvdyno import analysis
        from kvdyno.analysis.derived import with_derived

        frame = with_derived(analysis.tidy([base, head]), self._gate.whole.experiment.metrics)
        rows = frame[["run_id", "phase", "metric", "value", "unit"]].itertuples(index=False, name=None)
        found = {(run, metric, phase): (value, unit) for run, phase, metric, value, unit in rows}
        for gated in self._gate.spec.of_runs:
            before, after = (found.get((each.run_id, gated.metric, gated.phase)) for each in (base, head))
            if before or after:
                pairs = self._values.setdefault((point.name, gated), {})
            if before and after:
                pairs[base.repetition] = Pair(float(before[0]), float(after[0]))
                self._units[gated] = before[1]

    def verdicts(self) -> tuple[Verdict, ...]:
        """A verdict for each metric that a point's runs have, in the order of points and metrics; then those
        on what is counted once.

        A metric that no run has is undecided once, or a suite would pass whatever happens to it.
        """
        found = [verdict for point in self._gate.points for verdict in self._verdicts_of(point)]
        named = {(each.metric, each.phase) for each in found}
        for gated in self._gate.spec.of_runs if self._gate.points else ():
            if (gated.metric, gated.phase) not in named:
                margin = self._gate.spec.margin_of(gated)
                judged = regress.judge([], unit="", margin=margin, level=self._gate.level)
                found.append(Verdict("every point", gated.metric, gated.phase, "", judged))
        return (*found, *self._counted)

    def _verdicts_of(self, point: GatePoint) -> list[Verdict]:
        failure, head_fails = self._failures.get(point.name, ("", False))
        verdicts = []
        for gated in self._gate.spec.of_runs:
            pairs = self._values.get((point.name, gated))
            if pairs is None and self._pairs[point.name] and not failure:
                continue  # its mix has no such operation
            unit = self._units.get(gated, "")
            margin = self._margin(point, gated)
            counted = [
                pair
                for repetition, pair in (pairs or {}).items()
                if gated.exact or (point.name, repetition) not in self._split
            ]
            judged = regress.judge(
                counted, unit=unit, margin=margin, level=self._gate.level, exact=gated.exact
            )
            verdicts.append(Verdict(point.name, gated.metric, gated.phase, unit, judged, failure, head_fails))
        return verdicts

    def _margin(self, point: GatePoint, gated: GateMetric) -> float:
        """The margin that was asked for, or this host's noise with the arms' runners if that is more; exact
        metrics have none.
        """
        asked = self._gate.spec.margin_of(gated)
        if gated.exact:
            return asked
        shares = [
            regress.noise_share(
                self._noise[arm.engine.runner],
                engine=point.base.engine.name,
                metric=gated.metric,
                workload=point.base.axes.get("workload"),
                loads=self._gate.whole.experiment.loads,
            )
            for arm in (point.base, point.head)
        ]
        return max(asked, *(share or 0.0 for share in shares))


def _verdicts_on_instructions(gate: Gate, instructions: Mapping[str, Sequence[Pair]]) -> Iterator[Verdict]:
    """A verdict for each point that could be counted, or a suite would pass whatever happens: one without.

    What runs in images is left out where runs show something else.
    """
    left_out = gate.has_images and gate.spec.of_runs
    for gated in (each for each in gate.spec.metrics if each.metric == INSTRUCTIONS):
        if gate.points and not instructions and not left_out:
            yield _once(gate, gated, "every point", [], unit="")
        for point, pairs in instructions.items():
            judged = judge_instructions(gate, gated, pairs)
            yield Verdict(point, gated.metric, "", "instruction", judged)


def _verdicts_of_builds(gate: Gate) -> Iterator[Verdict]:
    """Verdicts on the sizes of both arms' builds, once for all points."""
    if not gate.points:
        return
    arms = gate.points[0].base.engine, gate.points[0].head.engine
    for gated in (each for each in gate.spec.metrics if each.of_build):
        yield _once(gate, gated, BUILD, [Pair(*(float(_bytes(each)) for each in arms))], unit="byte")


def _bytes(engine: Engine) -> int:
    if not engine.image:
        return build_bytes(engine.binary)
    from kvdyno.host.image_build import image_bytes  # its library takes its time to import

    return image_bytes(engine.image, engine.binary)


def _once(gate: Gate, gated: GateMetric, point: str, pairs: list[Pair], *, unit: str) -> Verdict:
    margin = gate.spec.margin_of(gated)
    judged = regress.judge(pairs, unit=unit, margin=margin, level=gate.level, exact=True)
    return Verdict(point, gated.metric, "", unit, judged)


def _demand_same_host(records: Iterable[Record]) -> None:
    """Raises HostError if a lasting fact of the machine is not the same in all records."""
    for name in LASTING_FACTS:
        found = list(dict.fromkeys(str(record.environment.facts.get(name)) for record in records))
        if len(found) > 1:
            raise HostError(
                f"{name} changed during the gate: expected {found[0]}, found {found[1]}",
                remedy="keep it as it is and run the same command again: pairs of other conditions are "
                "measured once more",
            )


def _split_pairs(points: Iterable[GatePoint], records: Collection[Record]) -> frozenset[SplitPair]:
    """The pairs between whose runs a gauge of their host stepped, by the gauges of all the gate's runs."""
    from kvdyno.analysis.drift import stretches  # brings libraries that take seconds to import

    stretch = stretches(records)
    of_run = {(r.point.identity, r.repetition): stretch[r.sweep_id, r.run_id] for r in records}
    return frozenset(
        (point.name, repetition)
        for point in points
        for (identity, repetition), own in of_run.items()
        if identity == point.base.identity and of_run.get((point.head.identity, repetition), own) != own
    )


def _failure(base: Record, head: Record) -> str:
    """Which arm's run failed, and how."""
    failed = [(name, r) for name, r in (("BASE", base), ("HEAD", head)) if r.status != "ok"]
    return ", ".join(f"{name}: {record.status.replace('_', ' ')}" for name, record in failed)
