"""From hypotheses to the experiments that test them, one round each.

A study is sequential. Round i measures four arms together: the default, the default with the hypothesis'
options, the best so far, and the best so far with them: a 2 x 2 factorial design, whose contrast is the
interaction (Box, Hunter & Hunter, "Statistics for Experimenters", 2005, ch. 5). Whether a hypothesis joins
the best so far is decided before the next round, so that every arm of a round is known when it begins. A
last round compares the best options with the default again, with fresh runs: they were chosen for numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvdyno.model.axes import WORKLOAD
from kvdyno.model.study import Arm, Hypothesis, Round, Study

from .search import throughput_figures

DEFAULT, BEST, TWIN = "default", "best", "default-again"
#: Names of the comparisons in an experiment's claims: over the default, and over the best so far.
ALONE, ON_BEST = "alone", "on-best"


def best_of(adopted: Sequence[Hypothesis]) -> Mapping[str, str]:
    """The options of the adopted hypotheses; a later one replaces an earlier one's value."""
    options: dict[str, str] = {}
    for hypothesis in adopted:
        options |= hypothesis.options
    return options


def round_of(study: Study, hypothesis: Hypothesis, *, adopted: Sequence[Hypothesis]) -> Round:
    """The round that tests the hypothesis on what was adopted before it."""
    best = best_of(adopted)
    default = Arm(DEFAULT, {})
    alone = Arm(hypothesis.id, hypothesis.options)
    known = [default, alone]
    so_far = _arm(BEST, best, known=known)
    together = _arm(f"{BEST}+{hypothesis.id}", {**best, **hypothesis.options}, known=[*known, so_far])
    number = study.hypotheses.index(hypothesis) + 1
    return Round(f"{study.name}-{number}-{hypothesis.id}", hypothesis, default, alone, so_far, together)


def confirmation_of(study: Study, *, adopted: Sequence[Hypothesis]) -> Round:
    """Default, best, and a twin of the default: no earlier round has this block, so its runs are fresh."""
    default, best = Arm(DEFAULT, {}), Arm(BEST, best_of(adopted))
    return Round(f"{study.name}-confirmation", None, default, default, best, best, twin=TWIN)


def _arm(label: str, options: Mapping[str, str], *, known: Sequence[Arm]) -> Arm:
    """The arm; one of equal options that is known already."""
    return next((arm for arm in known if dict(arm.options) == dict(options)), Arm(label, options))


def experiment_of(study: Study, its: Round) -> dict[str, Any]:
    """The round as an experiment's document, in the form of docs/formats.md."""
    tested = its.hypothesis
    return {
        "title": f"{study.title}: {tested.statement if tested else 'confirmation'}",
        "description": tested.why if tested else "The best options against the default, with fresh runs.",
        "engines": [_engine(study, arm) for arm in its.arms]
        + ([_engine(study, Arm(its.twin, {})) | {"twin_of": DEFAULT}] if its.twin else []),
        "baseline": DEFAULT,
        **study.shared,
        "figures": throughput_figures(study.phases),
        "claims": _claims(study, its),
    }


def _engine(study: Study, arm: Arm) -> dict[str, Any]:
    options = {**study.start, **arm.options}
    return {"engine": study.choice, "preset": study.preset, "options": options, "label": arm.label}


def _claims(study: Study, its: Round) -> list[dict[str, Any]]:
    """A claim for each comparison and workload; an empty list for the confirmation."""
    if its.hypothesis is None:
        return []
    pairs = {ALONE: (its.alone, its.default), ON_BEST: (its.together, its.best)}
    return [
        _claim(study, its.hypothesis, name, after, before, workload)
        for name, (after, before) in pairs.items()
        if after != before
        for workload in its.hypothesis.expect.workloads
    ]


def _claim(
    study: Study, hypothesis: Hypothesis, name: str, after: Arm, before: Arm, workload: str
) -> dict[str, Any]:
    expect = hypothesis.expect
    bounds = {"at_least": expect.at_least, "at_most": expect.at_most}
    return {
        "id": claim_id(name, workload),
        "text": f"{hypothesis.statement} ({workload}, {after.label} over {before.label})",
        "source": study.title,
        "metric": expect.metric,
        "phase": study.phases[workload],
        "engine": after.label,
        "relative_to": before.label,
        "where": {WORKLOAD: [workload]},
        **{name: bound for name, bound in bounds.items() if bound is not None},
    }


def claim_id(name: str, workload: str) -> str:
    """What a round's experiment calls the claim of a comparison at a workload."""
    return f"{name}-{workload}"
