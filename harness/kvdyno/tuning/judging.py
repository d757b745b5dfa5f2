"""What a round shows of its hypothesis, and verdicts over all rounds.

A hypothesis is **confirmed** if its metric is shown to lie inside the predicted bounds at every workload that
it names (an intersection-union test, Berger, Technometrics 24, 1982), **refuted** if it is shown to lie
outside at one (Bonferroni over the workloads), else undecided. Verdicts are adjusted for the number of
hypotheses by Holm. A round decides before later ones are measured, when Holm's order is not known: a
hypothesis joins the best so far if its p-value times the number of all hypotheses is at most 5 %
(Bonferroni), which Holm never takes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pandas as pd

from kvdyno.model.axes import WORKLOAD
from kvdyno.model.results import Analysis, ClaimPoint
from kvdyno.model.study import Arm, Change, Cost, HypothesisVerdict, Round, Study, Tested, Trial, Values

from .rounds import ALONE, ON_BEST, claim_id

LEVEL = 0.05
#: What the best options are paid with, shown beside their gain.
COSTS = ("memory.peak_rss", "cpu.per_operation", "write_amplification.net", "space_amplification")
_SHOWN = ("throughput", "seconds")

#: Adjusts p-values for being looked at together (analysis.verdicts.holm).
Adjust = Callable[[Sequence[float]], Iterable[float]]


def tested(study: Study, its: Round, found: Analysis) -> tuple[Tested, Tested]:
    """The hypothesis over the default, and over the best so far; the same where those are one arm."""
    alone = _tested(study, its, ALONE, its.alone, its.default, found)
    if (its.together, its.best) == (its.alone, its.default):
        return alone, alone
    return alone, _tested(study, its, ON_BEST, its.together, its.best, found)


def _tested(study: Study, its: Round, name: str, after: Arm, before: Arm, found: Analysis) -> Tested:
    assert its.hypothesis
    if after == before:
        why = "the best so far has these options already"
        return Tested(before.label, after.label, (), 1.0, 1.0, verdict="not tested", why=why)
    expect = its.hypothesis.expect
    points = {claim.id: claim.points for claim in found.claims}
    predicted = {name_: points.get(claim_id(name, name_), ()) for name_ in expect.workloads}
    known = [next(iter(at), None) for at in predicted.values()]
    changes = tuple(
        _change(found, study, workload, after=after.label, before=before.label, metric=expect.metric)
        if workload not in predicted
        else _predicted(found, study, workload, predicted[workload], after, before, expect.metric)
        for workload in study.workloads
    )
    inside = [p.p_inside if p and p.p_inside is not None else 1.0 for p in known]
    outside = [p.p_outside if p and p.p_outside is not None else 1.0 for p in known]
    return Tested(before.label, after.label, changes, max(inside), min(1.0, len(outside) * min(outside)))


def _predicted(
    found: Analysis,
    study: Study,
    workload: str,
    points: Sequence[ClaimPoint],
    after: Arm,
    before: Arm,
    metric: str,
) -> Change:
    """The change that a claim judged."""
    change = _change(found, study, workload, after=after.label, before=before.label, metric=metric)
    if not points:
        return replace(change, doubt="no run that ended well covers it")
    point = points[0]
    return replace(change, p_inside=point.p_inside, p_outside=point.p_outside, doubt=point.doubt)


def _change(found: Analysis, study: Study, workload: str, *, after: str, before: str, metric: str) -> Change:
    """The paired ratio of the metric at the workload, and what both arms did."""
    phase = study.phases[workload]
    ratio, low, high, n = ratio_of(found, workload, phase, metric, after=after, before=before)
    shown = tuple(dict.fromkeys((metric, *_SHOWN)))
    arms = (
        {name: v for name in shown if (v := _values(found, label, workload, phase, name))}
        for label in (before, after)
    )
    return Change(workload, ratio, low, high, n, None, None, "", *arms)


def ratio_of(
    found: Analysis, workload: str, phase: str, metric: str, *, after: str, before: str
) -> tuple[float | None, float | None, float | None, int]:
    """A metric of one arm over another's: the ratio, its interval and n. None without a ratio."""
    for table in (found.ratios, found.pairs):
        rows = table[
            (table["label"] == after)
            & (table["baseline"] == before)
            & (table["metric"] == metric)
            & (table[WORKLOAD] == workload)
            & (table["phase"] == phase)
        ]
        if len(rows) and pd.notna(rows["ratio"].iloc[0]):
            row = rows.iloc[0]
            low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
            return float(row["ratio"]), low, high, int(row["n"])
    return None, None, None, 0


def _values(found: Analysis, label: str, workload: str, phase: str, metric: str) -> Values | None:
    def its(table: pd.DataFrame) -> pd.DataFrame:
        mine = (table["label"] == label) & (table[WORKLOAD] == workload)
        return table[mine & (table["phase"] == phase) & (table["metric"] == metric)]

    rows = its(found.estimates)
    if not len(rows):
        return None
    row = rows.iloc[0]
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
    mean = float(its(found.frame)["value"].mean())
    return Values(mean, float(row["median"]), low, high, int(row["n"]), str(row["unit"]))


def adopts(on_best: Tested, *, gains: bool, among: int) -> bool:
    """Whether the hypothesis joins the best so far; `among` is the number of all hypotheses."""
    return gains and on_best.p_inside * among <= LEVEL


def concluded(trials: Sequence[Trial], *, adjust: Adjust) -> tuple[Trial, ...]:
    """The trials with their verdicts; those over the default and over the best are a family each."""
    alone = _verdicts([trial.alone for trial in trials], adjust=adjust)
    on_best = _verdicts([trial.on_best for trial in trials], adjust=adjust)
    return tuple(
        replace(trial, alone=first, on_best=second)
        for trial, first, second in zip(trials, alone, on_best, strict=True)
    )


def _verdicts(comparisons: Sequence[Tested], *, adjust: Adjust) -> list[Tested]:
    smallest = [min(each.p_inside, each.p_outside) for each in comparisons]
    return [_judged(each, float(p)) for each, p in zip(comparisons, adjust(smallest), strict=True)]


def _judged(each: Tested, p: float) -> Tested:
    if each.verdict == "not tested":
        return each
    verdict, why = _verdict(each, p)
    return replace(each, p=p, verdict=verdict, why=why)


def _verdict(each: Tested, p: float) -> tuple[HypothesisVerdict, str]:
    doubts = list(dict.fromkeys(change.doubt for change in each.changes if change.doubt))
    if p <= LEVEL and each.p_inside < each.p_outside:
        return "confirmed", f"inside the bounds wherever predicted, p = {p:.2g}"
    if p <= LEVEL:
        return "refuted", f"outside the bounds, p = {p:.2g}"
    if doubts:
        return "undecided", f"in doubt: {'; '.join(doubts)}"
    return "undecided", f"neither inside nor outside is shown, p = {p:.2g}"


def gains_of(study: Study, its: Round, found: Analysis, *, after: str) -> tuple[Change, ...]:
    """Throughput of an arm of the confirmation over the default's, at each workload."""
    return tuple(
        _change(found, study, workload, after=after, before=its.default.label, metric="throughput")
        for workload in study.workloads
    )


def costs_of(study: Study, its: Round, found: Analysis) -> tuple[Cost, ...]:
    """COSTS of the best options over the default's, where both have them."""
    costs = []
    for workload in study.workloads:
        for metric in COSTS:
            ratio, low, high, n = ratio_of(
                found,
                workload,
                study.phases[workload],
                metric,
                after=its.best.label,
                before=its.default.label,
            )
            if ratio is not None:
                costs.append(Cost(workload, metric, ratio, low, high, n))
    return tuple(costs)
