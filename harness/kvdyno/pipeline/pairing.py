"""The pairs of a gate, point by point: what they show so far, and which comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kvdyno import regress
from kvdyno.errors import HostError
from kvdyno.model.noise import HostNoise
from kvdyno.model.point import Plan
from kvdyno.model.record import CONCLUSIVE, LASTING_FACTS, Record
from kvdyno.regress import Pair, Verdict

from .gate import Gate, GatePoint


class Pairing:
    """The pairs so far, point by point, and what they show."""

    def __init__(self, gate: Gate, *, noise: HostNoise | None) -> None:
        self.noise = noise
        self._gate = gate
        self._records: dict[str, Record] = {}
        self._pairs: dict[str, int] = {each.name: 0 for each in gate.points}
        self._failures: dict[str, tuple[str, bool]] = {}
        self._values: dict[tuple[str, str, str], list[Pair]] = {}
        self._units: dict[str, str] = {}

    @property
    def pairs(self) -> int:
        """All pairs of all points."""
        return sum(self._pairs.values())

    def records(self) -> tuple[Record, ...]:
        """In the plan's order."""
        named = (self._records.get(run.name) for run in self._gate.whole.runs)
        return tuple(record for record in named if record)

    def next_point(self) -> GatePoint | None:
        """Points in turn until each has the pairs that a verdict needs, then by doubt."""
        going = [each for each in self._gate.points if each.name not in self._failures]
        young = [each for each in going if self._pairs[each.name] < self._gate.pairs_least]
        if young:
            return min(young, key=lambda each: self._pairs[each.name])
        judged = {each.name: [v.judged for v in self._verdicts_of(each)] for each in going}
        most = self._gate.whole.experiment.repetitions
        chosen = regress.next_point(judged, pairs_most=most)
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
        for gated in self._gate.spec.metrics:
            sides = [found.get((each.run_id, gated.metric, gated.phase)) for each in (base, head)]
            if sides[0] and sides[1]:
                pair = Pair(float(sides[0][0]), float(sides[1][0]))
                self._values.setdefault((point.name, gated.metric, gated.phase), []).append(pair)
                self._units[gated.metric] = sides[0][1]

    def verdicts(self) -> tuple[Verdict, ...]:
        """A verdict for each metric that a point's runs have, in the order of points and metrics."""
        return tuple(verdict for point in self._gate.points for verdict in self._verdicts_of(point))

    def _verdicts_of(self, point: GatePoint) -> list[Verdict]:
        failure, head_fails = self._failures.get(point.name, ("", False))
        verdicts = []
        for gated in self._gate.spec.metrics:
            pairs = self._values.get((point.name, gated.metric, gated.phase), [])
            if not pairs and self._pairs[point.name] and not failure:
                continue  # its mix has no such operation
            unit = self._units.get(gated.metric, "")
            margin = self._margin(point, gated.metric)
            judged = regress.judge(pairs, unit=unit, margin=margin, level=self._gate.level, exact=gated.exact)
            verdicts.append(Verdict(point.name, gated.metric, gated.phase, unit, judged, failure, head_fails))
        return verdicts

    def _margin(self, point: GatePoint, metric: str) -> float:
        """The margin that was asked for, or this host's noise if that is more."""
        noise = regress.noise_share(
            self.noise,
            engine=point.base.engine.name,
            metric=metric,
            workload=point.base.axes.get("workload"),
            loads=self._gate.whole.experiment.loads,
        )
        return max(self._gate.spec.margin, noise or 0.0)


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


def _failure(base: Record, head: Record) -> str:
    """Which arm's run failed, and how."""
    failed = [(name, r) for name, r in (("BASE", base), ("HEAD", head)) if r.status != "ok"]
    return ", ".join(f"{name}: {record.status.replace('_', ' ')}" for name, record in failed)
