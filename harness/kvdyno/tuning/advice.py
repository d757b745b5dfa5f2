"""Advice from counters: which rules fire on a run's facts, and the experiment that tests one.

In the manner of RocksDB's Advisor: a rule has conditions, and suggests a change of options. Here every
suggestion is a hypothesis that an experiment tests before anyone believes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvdyno.model.advice import Change, Condition, Evidence, Finding, Rule, Step
from kvdyno.model.engine import OptionDescription
from kvdyno.model.experiment import AxisValue
from kvdyno.model.options import display_value, parse_value, scale_value, value_text

BEFORE, ADVISED = "before", "advised"


def judge_rule(rule: Rule, facts: Mapping[str, float]) -> Finding | None:
    """The finding if all conditions hold; None if one does not, or if a fact is not known."""
    found = []
    for condition in rule.when:
        value = value_of(condition, facts)
        if value is None or not _holds(condition, value):
            return None
        found.append(Evidence(condition, value))
    return Finding(rule, tuple(found))


def value_of(condition: Condition, facts: Mapping[str, float]) -> float | None:
    """What the condition compares with its bound; None where a fact is missing, or what divides is 0."""
    if any(name not in facts for name in (*condition.sum, *condition.over)):
        return None
    above = sum(facts[name] for name in condition.sum)
    below = sum(facts[name] for name in condition.over) if condition.over else 1.0
    return condition.times * above / below if below else None


def _holds(condition: Condition, value: float) -> bool:
    if condition.above is not None:
        return value > condition.above
    return condition.below is not None and value < condition.below


def step_of(option: OptionDescription, change: Change, *, current: AxisValue, scale: float) -> Step | None:
    """What the change makes of an option that has the value `current` at the profile's scale.

    None where the option already has that value, or where its range ends, so that nothing would change.
    """
    after: AxisValue
    wanted: AxisValue
    if change.to is not None:
        wanted = parse_value(option, change.to)
        after = scale_value(option, wanted, scale=scale)
    elif isinstance(current, (bool, str)):
        return None
    else:
        multiple = _multiplied(option, current, float(change.times or 1))
        scaled = multiple / scale if option.scales else multiple
        after, wanted = multiple, _whole(option, scaled)
    if after == current:
        return None
    return Step(option.name, display_value(option, current), display_value(option, after), value_text(wanted))


def _multiplied(option: OptionDescription, current: float, times: float) -> float:
    """The multiple, within the option's range."""
    value = current * times
    value = value if option.min is None else max(value, option.min)
    value = value if option.max is None else min(value, option.max)
    return _whole(option, value)


def _whole(option: OptionDescription, value: float) -> float:
    """As the option's type has it."""
    return value if option.type in ("real", "seconds") else round(value)


def experiment_of(
    finding: Finding,
    steps: Sequence[Step],
    *,
    title: str,
    engine: Mapping[str, Any],
    grid: Mapping[str, Sequence[AxisValue]],
    shared: Mapping[str, Any],
) -> dict[str, Any]:
    """An experiment's document: the point as it was, beside itself with the advised options.

    `engine` is the point's own entry of `engines`, `shared` are the keys of its experiment that stay.
    """
    expect = finding.rule.expect
    bounds = {"at_least": expect.at_least, "at_most": expect.at_most}
    options = dict(engine.get("options", {}))
    return {
        "title": title,
        "description": f"{finding.rule.problem}. {finding.rule.why}",
        "engines": [
            {**engine, "options": options, "label": BEFORE},
            {**engine, "options": {**options, **{s.option: s.written for s in steps}}, "label": ADVISED},
        ],
        "baseline": BEFORE,
        "grid": {name: list(values) for name, values in grid.items()},
        **shared,
        "figures": [{"id": "throughput", "kind": "bars", "title": "Throughput", "x": "engine"}],
        "tables": [
            {"id": "throughput-table", "rows": ["workload"], "columns": ["engine"], "ratio_to": BEFORE},
        ],
        "claims": [
            {
                "id": finding.rule.id,
                "text": f"With the advised options {expect.metric} changes as expected",
                "source": "kvdyno advise",
                "metric": expect.metric,
                "phase": expect.phase,
                "engine": ADVISED,
                "relative_to": BEFORE,
                **{name: bound for name, bound in bounds.items() if bound is not None},
            }
        ],
    }
