"""Figures, tables and claims: whether they name things that the experiment has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kvdyno.model.axes import axis_of
from kvdyno.model.document import Mistakes, Place
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import (
    AxisValue,
    ClaimSpec,
    DerivedMetric,
    FigureSpec,
    GateMetric,
    Overlay,
    TableSpec,
)
from kvdyno.model.figure_options import option_mistake, words_of
from kvdyno.model.metrics import metrics_of
from kvdyno.model.options import parse_value
from kvdyno.model.published import PublishedDocument
from kvdyno.model.words import unknown

from .form import ExperimentForm
from .kinds import CHOICE, ESTIMATES, METRICS, FigureKind
from .overlays import claim_of, overlay_mistake, overlay_of
from .workloads import BUILD, RUN

SpecT = TypeVar("SpecT", FigureSpec, TableSpec, ClaimSpec)

_SPANS = (BUILD, RUN)


@dataclass(frozen=True)
class Words:
    """What figures, tables and claims may name: labels of engines, the grid in all profiles, kinds.

    `engines` are those of the labels that are built; an axis that none of them knows has no values. `derived`
    are the experiment's own metrics, `documents` what published numbers and claims are taken from.
    `only_loads`: no workload measures anything but its load.
    """

    labels: tuple[str, ...]
    engines: tuple[Engine, ...]
    presets: tuple[str, ...]
    grid: Mapping[str, tuple[AxisValue, ...]]
    kinds: Mapping[str, FigureKind]
    derived: tuple[str, ...] = ()
    documents: Mapping[str, PublishedDocument] = field(default_factory=dict)
    only_loads: bool = False

    def values(self, axis: str) -> tuple[AxisValue, ...]:
        """What the axis can be, in any profile."""
        named: Mapping[str, tuple[AxisValue, ...]] = {"engine": self.labels, "preset": self.presets}
        return named[axis] if axis in named else self.grid[axis]

    @property
    def axes(self) -> tuple[str, ...]:
        """Every axis that a point can have."""
        return ("engine", "preset", *self.grid)

    @property
    def phases(self) -> tuple[str, ...]:
        """Every phase and span of the drivers."""
        phases = {phase: None for engine in self.engines for phase in engine.description.phases}
        return tuple({**phases, **dict.fromkeys(_SPANS)})

    def is_measured(self, metric: str) -> bool:
        """Whether the runs of an engine that is built have the metric."""
        offers = [metrics_of(engine) for engine in self.engines]
        return any(offer and metric in offer.of(ESTIMATES) for offer in offers)

    def metric_mistake(self, metric: str, *, table: str) -> str | None:
        """What is wrong with a metric that is read from this table; None if an engine may have it."""
        if table == ESTIMATES and metric in self.derived:
            return None
        offers = [metrics_of(engine) for engine in self.engines]
        if len(offers) < len(self.labels):  # one that is not built may have it
            return None
        if any(offer is None or offer.has(metric, table=table) for offer in offers):
            return None
        known = dict.fromkeys(name for offer in offers if offer for name in offer.of(table))
        known |= dict.fromkeys(self.derived if table == ESTIMATES else ())
        return f"{unknown('metric', metric, known)}; `kvdyno describe <engine> --metrics` lists an engine's"


@dataclass(frozen=True)
class Bindings:
    """Figures, tables and claims that name nothing wrong, and the published numbers beside them by key."""

    figures: tuple[FigureSpec, ...]
    tables: tuple[TableSpec, ...]
    claims: tuple[ClaimSpec, ...]
    published: Mapping[str, Overlay]


def check_bindings(form: ExperimentForm, *, words: Words, mistakes: Mistakes) -> Bindings:
    """Every figure, table and claim, with filters typed as the axes are; and the baseline."""
    checker = _Checker(words, mistakes)
    checker.label(form.baseline, ("baseline",))
    # Ids name files: figures and tables share a folder.
    checker.ids({"figures": form.figures, "tables": form.tables})
    checker.ids({"claims": form.claims})
    checker.ids({"metrics": form.metrics})
    for index, metric in enumerate(form.metrics):
        checker.derived(metric, ("metrics", index))
    for index, gated in enumerate(form.gate.metrics if form.gate else ()):
        checker.gated(gated, ("gate", "metrics", index))
    return Bindings(
        figures=tuple(checker.figure(each, ("figures", index)) for index, each in enumerate(form.figures)),
        tables=tuple(checker.table(each, ("tables", index)) for index, each in enumerate(form.tables)),
        claims=tuple(checker.claim(each, ("claims", index)) for index, each in enumerate(form.claims)),
        published=checker.overlays,
    )


def _claim_mistakes(claim: ClaimSpec) -> Iterable[str]:
    """What a claim's keys contradict."""
    if claim.at_least is None and claim.at_most is None:
        yield "expected at_least or at_most, found neither"
    if claim.along and claim.relative_to is not None:
        yield "expected along or relative_to, found both"
    engines = claim.along.get("engine", ())
    if bool(claim.engine) == bool(engines):
        yield f"expected engine, or engines in along, found {'both' if engines else 'neither'}"
    if len(engines) == 2:
        yield "along: expected three engines or more; relative_to compares two"


class _Checker:
    """Adds what figures, tables and claims name wrongly to the mistakes."""

    def __init__(self, words: Words, mistakes: Mistakes) -> None:
        self._words = words
        self._mistakes = mistakes
        self.overlays: dict[str, Overlay] = {}

    def figure(self, figure: FigureSpec, place: Place) -> FigureSpec:
        kinds = self._words.kinds
        if figure.kind not in kinds:
            self._mistakes.add((*place, "kind"), unknown("kind of figure", figure.kind, kinds))
        else:
            self._options(figure, (*place, "options"))
            self._figure_metrics(figure, place)
            self._ratio(figure, (*place, "ratio_to"))
            self._overlay(figure, (*place, "published"))
            self._against(figure, place)
        self._axes((figure.x,) if figure.x else (), (*place, "x"))
        self._axes(figure.series, (*place, "series"))
        self._axes(figure.panels, (*place, "panels"))
        return self._phase_and_filter(figure, place)

    def _options(self, figure: FigureSpec, place: Place) -> None:
        forms = self._words.kinds[figure.kind].options
        for name, value in figure.options.items():
            if name not in forms:
                message: str | None = unknown(f"option of {figure.kind}", name, sorted(forms))
            else:
                message = option_mistake(name, value, forms)
            if message:
                self._mistakes.add((*place, name), message)

    def _figure_metrics(self, figure: FigureSpec, place: Place) -> None:
        """Its own metric, or the option's instead."""
        table = self._words.kinds[figure.kind].table
        if METRICS not in figure.options:
            self._metric(figure.metric, (*place, "metric"), table=table)
            return
        for index, metric in enumerate(words_of(figure.options[METRICS])):
            self._metric(str(metric), (*place, "options", METRICS, index), table=table)

    def _metric(self, metric: str, place: Place, *, table: str = ESTIMATES) -> None:
        mistake = self._words.metric_mistake(metric, table=table)
        if mistake:
            self._mistakes.add(place, mistake)

    def _ratio(self, figure: FigureSpec, place: Place) -> None:
        kinds = self._words.kinds
        self.label(figure.ratio_to, place)
        if figure.ratio_to is not None and not kinds[figure.kind].shows_ratios:
            able = ", ".join(name for name, kind in kinds.items() if kind.shows_ratios)
            self._mistakes.add(place, f"ratio_to: expected one of the kinds {able}, found {figure.kind}")

    def _against(self, figure: FigureSpec, place: Place) -> None:
        """The other cost of a mix, which the kinds that draw choices need, and no other."""
        chooses = self._words.kinds[figure.kind].table == CHOICE
        if chooses and figure.against is None:
            self._mistakes.add(place, f"{figure.kind}: expected against, the cost of the other operation")
        elif figure.against is not None and not chooses:
            able = ", ".join(name for name, kind in self._words.kinds.items() if kind.table == CHOICE)
            message = f"against: expected one of the kinds {able}, found {figure.kind}"
            self._mistakes.add((*place, "against"), message)
        elif figure.against is not None:
            self._metric(figure.against.metric, (*place, "against", "metric"))
            self._phase(figure.against.phase, (*place, "against", "phase"))

    def _overlay(self, spec: FigureSpec | TableSpec, place: Place) -> None:
        """Published numbers beside a figure or table; a kind that shows no single metric has no place."""
        if spec.published is None:
            return
        if isinstance(spec, FigureSpec) and not self._words.kinds[spec.kind].shows_ratios:
            able = ", ".join(name for name, kind in self._words.kinds.items() if kind.shows_ratios)
            self._mistakes.add(place, f"published: expected one of the kinds {able}, found {spec.kind}")
            return
        words = self._words
        try:
            overlay = overlay_of(
                spec.published,
                documents=words.documents,
                labels=words.labels,
                engines=words.engines,
                grid=words.grid,
            )
        except ValueError as error:
            self._mistakes.add(place, str(error))
            return
        if mistake := overlay_mistake(spec, overlay):
            self._mistakes.add(place, mistake)
        self.overlays[spec.published] = overlay

    def table(self, table: TableSpec, place: Place) -> TableSpec:
        self._axes(table.rows, (*place, "rows"))
        self._axes(table.columns, (*place, "columns"))
        self._metric(table.metric, (*place, "metric"))
        self.label(table.ratio_to, (*place, "ratio_to"))
        self._overlay(table, (*place, "published"))
        return self._phase_and_filter(table, place)

    def claim(self, claim: ClaimSpec, place: Place) -> ClaimSpec:
        if claim.engine:
            self.label(claim.engine, (*place, "engine"))
        self.label(claim.relative_to, (*place, "relative_to"))
        self._metric(claim.metric, (*place, "metric"))
        for mistake in _claim_mistakes(claim):
            self._mistakes.add(place, f"claim {claim.id!r}: {mistake}")
        if claim.published is not None:
            try:
                claim_of(claim.published, documents=self._words.documents)
            except ValueError as error:
                self._mistakes.add((*place, "published"), str(error))
        along = self._filters(claim.along, (*place, "along"))
        return self._phase_and_filter(claim, place).model_copy(update={"along": along})

    def derived(self, metric: DerivedMetric, place: Place) -> None:
        """Its terms are metrics of drivers and engines, and its name is none of theirs."""
        measured = replace(self._words, derived=())
        if measured.is_measured(metric.id):
            message = f"metric {metric.id!r} is one that runs have: expected a name of its own"
            self._mistakes.add((*place, "id"), message)
        for key, terms in (("sum", metric.sum), ("over", metric.over)):
            for index, term in enumerate(terms):
                if mistake := measured.metric_mistake(term, table=ESTIMATES):
                    self._mistakes.add((*place, key, index), mistake)
        for key, axis, above in (("over_axis", metric.over_axis, 0), ("over_log", metric.over_log, 1)):
            if axis is not None:
                self._divisor(axis, above, (*place, key))

    def _divisor(self, axis: str, above: int, place: Place) -> None:
        """An axis of numbers above that one: they, or their logarithms, divide."""
        self._axes((axis,), place)
        values = self._words.values(axis) if axis in self._words.axes else ()
        strange = [value for value in values if isinstance(value, (str, bool)) or value <= above]
        if strange:
            self._mistakes.add(
                place, f"expected an axis of numbers above {above}, found {axis} with {strange[0]!r}"
            )

    def gated(self, gated: GateMetric, place: Place) -> None:
        if gated.of_runs:
            self._metric(gated.metric, (*place, "metric"))
            self._phase(gated.phase, (*place, "phase"))
        elif "phase" in gated.model_fields_set:
            self._mistakes.add((*place, "phase"), f"{gated.metric}: expected no phase, no run measures it")

    def label(self, label: str | None, place: Place) -> None:
        if label is not None and label not in self._words.labels:
            self._mistakes.add(place, unknown("engine", label, self._words.labels))

    def ids(
        self, sections: Mapping[str, Sequence[DerivedMetric | FigureSpec | TableSpec | ClaimSpec]]
    ) -> None:
        seen = set()
        for section, items in sections.items():
            for index, item in enumerate(items):
                if item.id in seen:
                    message = f"id {item.id!r} is taken: expected an id of its own"
                    self._mistakes.add((section, index, "id"), message)
                seen.add(item.id)

    def _axes(self, axes: Iterable[str], place: Place) -> None:
        for axis in axes:
            if axis not in self._words.axes:
                self._mistakes.add(place, unknown("axis", axis, self._words.axes))

    def _phase(self, phase: str, place: Place) -> None:
        if phase not in self._words.phases:
            self._mistakes.add(place, unknown("phase", phase, self._words.phases))
        elif phase == RUN and self._words.only_loads:
            self._mistakes.add(
                place, "expected phase: build, because every workload of the grid only loads; found run"
            )

    def _phase_and_filter(self, spec: SpecT, place: Place) -> SpecT:
        self._phase(spec.phase, (*place, "phase"))
        return spec.model_copy(update={"where": self._filters(spec.where, (*place, "where"))})

    def _filters(
        self, filters: Mapping[str, Sequence[AxisValue]], place: Place
    ) -> Mapping[str, tuple[AxisValue, ...]]:
        checked = {}
        for axis, values in filters.items():
            self._axes((axis,), (*place, axis))
            if axis in self._words.axes:
                checked[axis] = self._filter(axis, values, (*place, axis))
        return checked

    def _filter(self, axis: str, values: Sequence[AxisValue], place: Place) -> tuple[AxisValue, ...]:
        readings = [reading for engine in self._words.engines if (reading := axis_of(engine, axis))]
        typed: list[AxisValue] = []
        for index, value in enumerate(values):
            try:
                typed.append(parse_value(readings[0], value) if readings else value)
            except ValueError as error:
                self._mistakes.add((*place, index), str(error))
                continue
            known = self._words.values(axis)
            # An axis without values has its own mistake already.
            if known and typed[-1] not in known:
                self._mistakes.add((*place, index), unknown(f"value of {axis}", str(value), map(str, known)))
        return tuple(typed)
