"""What a person asks of a search, and the bench that measures its candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kvdyno import catalog, spec
from kvdyno.errors import UsageError
from kvdyno.model.axes import WORKLOAD, axis_of
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.experiment import Profile
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.search import Options, Try
from kvdyno.model.units import parse_bytes
from kvdyno.model.words import unknown
from kvdyno.tuning import search as parts
from kvdyno.tuning.candidates import placed
from kvdyno.tuning.strategies import STRATEGIES

from .planning import Request, plan_with
from .reuse import SweepSettings
from .sweep import sweep
from .written import Watch, write_yaml

#: Workloads of YCSB's core, of which those that the search does not see are confirmed as well.
_CORE = ("a", "b", "c", "d", "f")
_UNSEEN = 2
_DATASET = "64GiB"
#: A try has one load. What was chosen for it is confirmed on another one, too.
_CONFIRMING_LOADS = 2


@dataclass(frozen=True)
class SearchRequest:
    """What a person asked for. `workloads` are values of `axis`; "" and none: what suits the driver
    (`placed`). `unseen` None: others that are not searched.

    `ranges` replace those of the adapter's tuning.yaml. `tries` bounds their number beside the budget.
    `dataset`, `cap` and `properties` are at paper scale. `short` is the share of the measured phase after
    which candidates without hope are dropped; None: all are measured in full length. `rivals` are other
    engines for the confirmation: "rocksdb-adoc", or "rocksdb-adoc=plus" with a preset.
    """

    engine: str
    workloads: tuple[str, ...]
    objectives: tuple[str, ...]
    budget_seconds: float
    preset: str = "default"
    profile: str = "quick"
    runner: RunnerName = "local"
    strategy: str = "gp"
    ranges: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] | None = None
    tries: int | None = None
    short: float | None = None
    seed: int = 1
    repeat: int | None = None
    dataset: str | None = None
    cap: str = "16GiB"
    axis: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()

    @property
    def confirmed_beside(self) -> tuple[str, ...]:
        """The workloads of the confirmation that the search does not see."""
        return tuple(name for name in self.unseen or () if name not in self.workloads)

    def placed(self, engine: Engine) -> SearchRequest:
        """The request with the driver's own axis and workloads where it names none.

        Raises UsageError for what the driver does not have.
        """
        if axis_of(engine, WORKLOAD):
            if self.axis:
                raise UsageError(f"expected workloads, found the axis {self.axis!r}", where="--workload")
            names = self.workloads or _CORE[:1]
            return self._beside(WORKLOAD, names, others=_CORE, dataset=self.dataset or _DATASET)
        if self.dataset:
            raise UsageError(
                f"expected none: the driver of {engine.name} has no dataset",
                where="--dataset",
                remedy="set the size with --property",
            )
        choices = [each for each in engine.description.properties if len(each.choices) > 1]
        if self.axis:
            known = [each.choices for each in choices if each.name == self.axis]
            return self._beside(self.axis, self.workloads, others=known[0] if known else (), dataset=None)
        if self.workloads or not choices:
            raise UsageError("expected AXIS=A,B: the driver has no workloads", where="--workload")
        first = choices[0]
        return self._beside(first.name, (first.default,), others=first.choices, dataset=None)

    def _beside(
        self, axis: str, workloads: tuple[str, ...], *, others: tuple[str, ...], dataset: str | None
    ) -> SearchRequest:
        beside = tuple(name for name in others if name not in workloads)[:_UNSEEN]
        unseen = beside if self.unseen is None else self.unseen
        return replace(self, axis=axis, workloads=workloads, unseen=unseen, dataset=dataset)


class SearchBench:
    """What one search works with, checked: nothing of it runs."""

    def __init__(
        self, project: Project, asked: SearchRequest, *, how: SweepSettings, watch: Watch, wait: bool
    ) -> None:
        self.engines = catalog.discover(project, runner=asked.runner)
        self.engine = _engine(asked, self.engines, project)
        asked = asked.placed(self.engine)
        self.profile = _profile(asked, project)
        self.objectives = parts.objectives_of(asked.objectives, engine=self.engine)
        if asked.strategy not in STRATEGIES:
            raise UsageError(unknown("strategy", asked.strategy, STRATEGIES), where="--strategy")
        if asked.short is not None and not 0 < asked.short < 1:
            raise UsageError(f"expected a share between 0 and 1, found {asked.short:g}", where="--short")
        try:
            cap_bytes = parse_bytes(asked.cap)
        except ValueError as error:
            raise UsageError(str(error), where="--cap") from None
        self.space = spec.load_space(self.engine, project=project, cap_bytes=cap_bytes, ranges=asked.ranges)
        self.rivals = dict(_rival(text, asked, self.engines, project) for text in asked.rivals)
        self._loads = _loads(asked, project)
        self.project, self.asked, self._watch, self._wait = project, asked, watch, wait
        self.how = replace(how, earliest=True)
        #: What was measured so far, by experiment.
        self.records: dict[str, tuple[Record, ...]] = {}
        #: Identities of the snapshots that each try starts from, by its number; and the tries that keep them.
        self._snapshots: dict[int, Set[str]] = {}
        self._kept: Set[int] = frozenset()

    @property
    def name(self) -> str:
        """What the search and its folder are called."""
        return "-".join(["tune", self.asked.engine, *self.asked.workloads, self.asked.profile])

    @property
    def folder(self) -> Path:
        """Where its report and experiments are."""
        return self.project.reports / self.name

    @property
    def start(self) -> Options:
        """The compared preset in the space."""
        compared = self.engine.presets[self.asked.preset].options
        return placed(self.space, self.space.start(compared, scale=self.profile.scale))

    def in_force(self, options: Options) -> Mapping[str, object]:
        """What the driver gets of the candidate at the profile's scale."""
        return parts.in_force(self.engine, self.asked.preset, options, scale=self.profile.scale)

    def document(
        self,
        title: str,
        candidates: Mapping[str, Options],
        *,
        confirming: bool = False,
        twin: bool = False,
        repetitions: int = 1,
        phases: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """An experiment with these candidates: so many repetitions of a try, the profile's for a
        confirmation, which has the other engines too. `phases` replace the profile's.
        """
        grid = {"dataset": [self.asked.dataset], "threads": [2]} if self.asked.dataset else {}
        shared: dict[str, Any] = {"grid": grid, "cap": self.asked.cap}
        if self.asked.properties:
            shared |= {"properties": dict(self.asked.properties)}
        if confirming:  # tuned.yaml, too, which has the loads of another profile where it runs at that one
            shared |= {"profiles": {self.profile.name: {"loads": self._loads}}}
        else:
            shared |= {"loads": 1, "repetitions": repetitions}
        if phases:
            shared |= {"phases": dict(phases)}
        beside = self.asked.confirmed_beside if confirming else ()
        return parts.experiment_of(
            title=title,
            engine=self.asked.engine,
            preset=self.asked.preset,
            candidates=candidates,
            spans={value: self._span(value) for value in (*self.asked.workloads, *beside)},
            axis=self.asked.axis,
            shared=shared,
            twin=twin,
            rivals=self.rivals if confirming else {},
        )

    def _span(self, value: str) -> str:
        """What a value of the axis is judged by. An unknown workload is a mistake of the plan."""
        spans = spec.spans_of({self.asked.axis: (value,)}, project=self.project)
        return next(iter(spans), "run")

    def planned(self, name: str, document: Mapping[str, Any], *, repeat: int | None = None) -> Plan:
        """The experiment's plan, after it was written beside the report."""
        path = write_yaml(self.folder / "experiments" / f"{self.name}-{name}.yaml", document)
        request = Request(str(path), profile=self.asked.profile, runner=self.asked.runner, repeat=repeat)
        return plan_with(self.project, request, engines=self.engines)

    def planned_try(self, number: int, options: Options, *, repetitions: int = 1) -> Plan:
        """The plan of a candidate beside the default, in full length."""
        document = self.document(f"Try {number}", {parts.CANDIDATE: options}, repetitions=repetitions)
        plan = self.planned(str(number), document)
        self._snapshots[number] = _snapshots(plan)
        return plan

    def planned_short(self, number: int, options: Options) -> Plan:
        """The same with the measured phase cut to the share that was asked for.

        Raises UsageError if nothing of it becomes shorter.
        """
        full = self.planned_try(number, options)
        phases = {"measure": parts.shortened(full.experiment.phases, share=self.asked.short or 1)}
        document = self.document(f"Try {number}, short", {parts.CANDIDATE: options}, phases=phases)
        short = self.planned(f"{number}-short", document)
        same = {point.identity for point in full.points} & {point.identity for point in short.points}
        if same:
            raise UsageError(
                "expected workloads whose measured phase can be shorter, found one that measures its load, "
                "or a driver without such a phase",
                where="--short",
                remedy="leave --short out",
            )
        return short

    def measured(self, whole: Plan) -> tuple[Record, ...]:
        """Records of the plan, of which what is stored is not measured again. Snapshots that neither it nor a
        kept try starts from are removed before: those of all tries would fill the disk.
        """
        needed = _snapshots(whole).union(*(self._snapshots[number] for number in self._kept))
        unneeded = frozenset[str]().union(*self._snapshots.values()) - needed
        with self._watch(whole) as observer:
            result = sweep(
                self.project, whole, how=self.how, observer=observer, wait=self._wait, unneeded=unneeded
            )
        self.records[whole.experiment.name] = result.records
        return result.records

    def keep(self, tries: Iterable[Try]) -> None:
        """Only these may be measured again before the confirmation. A copy of another has no data."""
        self._kept = frozenset(one.number for one in tries if one.each)


def _snapshots(whole: Plan) -> frozenset[str]:
    return frozenset(dataset.identity for point in whole.points for dataset in point.loads)


def _engine(asked: SearchRequest, engines: Mapping[str, Engine], project: Project) -> Engine:
    engine = spec.engine_named(
        asked.engine, catalog=engines, project=project, where="kvdyno tune", runner=asked.runner
    )
    if asked.preset not in engine.presets:
        raise UsageError(unknown("preset", asked.preset, engine.presets), where="--preset")
    return engine


def _rival(
    text: str, asked: SearchRequest, engines: Mapping[str, Engine], project: Project
) -> tuple[str, parts.EnginePreset]:
    """The label, engine and preset of "rocksdb-adoc=plus". Raises UsageError or EngineError for one that is
    not here.
    """
    name, _, preset = text.partition("=")
    presets = spec.engine_named(
        name, catalog=engines, project=project, where="--beside", runner=asked.runner
    ).presets
    if preset and preset not in presets:
        raise UsageError(unknown("preset", preset, presets), where=f"--beside {text}")
    return (f"{name}-{preset}" if preset else name), (name, preset or "default")


def _loads(asked: SearchRequest, project: Project) -> int:
    """How often the confirmation loads its data: as the profile has it, and twice where repetitions allow."""
    form = spec.read_profiles(project)[asked.profile]
    return max(form.loads or 1, min(_CONFIRMING_LOADS, form.repetitions))


def _profile(asked: SearchRequest, project: Project) -> Profile:
    profiles = spec.load_profiles(project)
    if asked.profile not in profiles:
        raise UsageError(unknown("profile", asked.profile, profiles), where="--profile")
    return profiles[asked.profile]
