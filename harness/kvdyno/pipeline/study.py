"""A study: its rounds in order, each an ordinary experiment, then the confirmation of the best options.

What is stored is not measured again, so an interrupted study goes on where it stopped: verdicts on the same
records are the same, and so are the rounds that follow from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kvdyno import catalog, spec
from kvdyno.model.axes import WORKLOAD
from kvdyno.model.engine import Engine, RunnerName
from kvdyno.model.options import display_value, parse_value, scale_value
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis
from kvdyno.model.study import Hypothesis, Interaction, OptionRow, Round, Study, StudyFound, Trial
from kvdyno.tuning import judging, rounds
from kvdyno.tuning.workloads import facts_of

from .conclusions import analyse, write_report
from .papers import PAPER_BASE
from .planning import Request, demand_memory, plan_with
from .reuse import SweepSettings
from .sweep import sweep
from .written import Watch, write_yaml


@dataclass(frozen=True)
class StudyRequest:
    """What a person asked for: a study's name or file, a profile, a runner, and repetitions if other."""

    study: str
    profile: str = "quick"
    runner: RunnerName = "local"
    repeat: int | None = None


@dataclass(frozen=True)
class _Measured:
    """A round's analysis, and the page of its ordinary report."""

    found: Analysis
    page: Path


class _Bench:
    """Measures rounds of one study."""

    def __init__(
        self, project: Project, asked: StudyRequest, *, how: SweepSettings, watch: Watch, wait: bool
    ) -> None:
        self.engines = catalog.discover(project, runner=asked.runner)
        self.study = spec.load_study(asked.study, project=project, catalog=self.engines)
        self._project, self._asked, self._watch, self._wait = project, asked, watch, wait
        self._how = replace(how, earliest=True)
        #: What was measured so far, by round.
        self.records: dict[str, tuple[Record, ...]] = {}

    @property
    def folder(self) -> Path:
        """Where the study's report and its rounds' experiments are."""
        return self._project.reports / f"study-{self.study.name}-{self._asked.profile}"

    def planned(self, name: str, document: Mapping[str, Any]) -> Plan:
        """The plan of a round's experiment, which is written beside the report."""
        path = write_yaml(self.folder / "rounds" / f"{name}.yaml", document)
        request = Request(
            str(path), profile=self._asked.profile, runner=self._asked.runner, repeat=self._asked.repeat
        )
        return plan_with(self._project, request, engines=self.engines)

    def rehearse(self) -> Plan:
        """Plan the default beside every hypothesis: what no round could run is found before anything runs."""
        arms = {each.id: each for each in self.study.hypotheses}
        first = rounds.round_of(self.study, self.study.hypotheses[0], adopted=())
        document = rounds.experiment_of(self.study, first) | {"claims": []}
        base = document["engines"][0]
        document["engines"] = [base] + [
            base | {"label": label, "options": {**base["options"], **each.options}}
            for label, each in arms.items()
        ]
        whole = self.planned(f"{self.study.name}-all", document)
        demand_memory(whole, uncapped=self._how.uncapped)
        return whole

    def measure(self, its: Round) -> _Measured:
        """Run what is not stored of the round, and write its ordinary report."""
        whole = self.planned(its.name, rounds.experiment_of(self.study, its))
        with self._watch(whole) as observer:
            result = sweep(self._project, whole, how=self._how, observer=observer, wait=self._wait)
        self.records[its.name] = result.records
        found = analyse(self._project, whole, records=result.records)
        again = [f"kvdyno run {whole.experiment.path} --profile {self._asked.profile}"]
        page = write_report(
            self._project, found, whole.experiment, commands=again, uncapped=self._how.uncapped
        ).html
        return _Measured(found, page)


def measure_study(
    project: Project, asked: StudyRequest, *, how: SweepSettings, watch: Watch, wait: bool = False
) -> StudyFound:
    """Every round of the study and its confirmation. Raises what load_study, make_plan and sweep raise."""
    bench = _Bench(project, asked, how=how, watch=watch, wait=wait)
    study = bench.study
    rehearsed = bench.rehearse()
    adopted: list[Hypothesis] = []
    trials: list[Trial] = []
    for hypothesis in study.hypotheses:
        trials.append(_trial(bench, hypothesis, adopted))
        adopted += [hypothesis] if trials[-1].adopted else []
    from kvdyno.analysis.verdicts import holm

    return _found(bench, rehearsed, judging.concluded(trials, adjust=holm), adopted)


def _trial(bench: _Bench, hypothesis: Hypothesis, adopted: list[Hypothesis]) -> Trial:
    study = bench.study
    its = rounds.round_of(study, hypothesis, adopted=adopted)
    measured = bench.measure(its)
    alone, on_best = judging.tested(study, its, measured.found)
    return Trial(
        hypothesis=hypothesis,
        best=rounds.best_of(adopted),
        alone=alone,
        on_best=on_best,
        interactions=_interactions(study, its, measured.found),
        adopted=judging.adopts(on_best, gains=hypothesis.expect.gains, among=len(study.hypotheses)),
        page=measured.page,
        failures=_failures(measured.found),
    )


def _interactions(study: Study, its: Round, found: Analysis) -> tuple[Interaction, ...]:
    """At each workload; none where the round has fewer than four arms."""
    from kvdyno.analysis.interaction import contrast

    arms = (its.together.label, its.best.label, its.alone.label, its.default.label)
    if its.hypothesis is None or len(set(arms)) < len(arms):
        return ()
    frame = found.frame[found.frame["metric"] == its.hypothesis.expect.metric]
    contrasts = {
        name: contrast(frame[(frame[WORKLOAD] == name) & (frame["phase"] == study.phases[name])], arms=arms)
        for name in study.workloads
    }
    return tuple(Interaction(name, *each) for name, each in contrasts.items() if each)


def _failures(found: Analysis) -> tuple[str, ...]:
    return tuple(f"{each.point}: {each.status.replace('_', ' ')}" for each in found.failures)


def _found(
    bench: _Bench, rehearsed: Plan, trials: tuple[Trial, ...], adopted: list[Hypothesis]
) -> StudyFound:
    study, experiment = bench.study, rehearsed.experiment
    confirmed = rounds.confirmation_of(study, adopted=adopted)
    last = bench.measure(confirmed) if adopted else None
    facts = {str(point.axes[WORKLOAD]): facts_of(point) for point in rehearsed.points}
    best = rounds.best_of(adopted)
    return StudyFound(
        study=study,
        profile=experiment.profile.name,
        scale=experiment.profile.scale,
        workloads=tuple(facts[name] for name in study.workloads),
        options=_options(study, best, scale=experiment.profile.scale),
        trials=trials,
        best=best,
        gains=judging.gains_of(study, confirmed, last.found, after=rounds.BEST) if last else (),
        twin=judging.gains_of(study, confirmed, last.found, after=rounds.TWIN) if last else (),
        costs=judging.costs_of(study, confirmed, last.found) if last else (),
        confirmation=last.page if last else None,
        records=bench.records,
        cautions=tuple(dict.fromkeys(c.message for c in last.found.cautions)) if last else (),
    )


def _options(study: Study, best: Mapping[str, str], *, scale: float) -> tuple[OptionRow, ...]:
    """Every option that the study sets, as the drivers get it at the profile's scale."""
    start = {**study.engine.presets[study.preset].options, **study.start}
    named = {*start, *(name for each in study.hypotheses for name in each.options)}
    return tuple(
        OptionRow(
            name=option.name,
            default=option.default,
            start=_shown(study.engine, option.name, start, scale=scale),
            best=_shown(study.engine, option.name, {**start, **best}, scale=scale),
            effect=option.effect,
        )
        for option in study.engine.description.options
        if option.name in named
    )


def _shown(engine: Engine, name: str, options: Mapping[str, str], *, scale: float) -> str:
    """The value that drivers get. A default that is not written out is not scaled."""
    option = engine.description.option(name)
    assert option
    if name not in options:
        return option.default
    return display_value(option, scale_value(option, parse_value(option, options[name]), scale=scale))


def write_study(project: Project, found: StudyFound) -> tuple[Path, Path, Path]:
    """The study's report as HTML, Markdown and LaTeX. Raises StoreError if it cannot be written."""
    from kvdyno import paper
    from kvdyno.report import study as report
    from kvdyno.report.study_tables import study_tables

    out = project.reports / f"study-{found.study.name}-{found.profile}"
    latex = paper.render_report(
        "study",
        found,
        words=report.words(found),
        tables=study_tables(found),
        base=project.paper_texts / PAPER_BASE,
    )
    return report.write_study(found, latex=latex, out=out)
