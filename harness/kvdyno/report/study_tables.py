"""A study's tables as texts, for its LaTeX form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kvdyno.model.papers import PaperCell, PaperTable
from kvdyno.model.study import Change, StudyFound, Tested, Trial, WorkloadFacts
from plots.units import quantity, three_digits

from .study import comparisons, parts_of, published_rows, ratio_text, share_text, values_text

_CHANGES = ("throughput before", "after", "mean before", "mean after", "runtime before", "after")


def study_tables(found: StudyFound) -> Mapping[str, PaperTable]:
    """The tables that have rows, by what they show; a comparison's is "<hypothesis> <what it is over>"."""
    tables = [
        text_table("workloads", "Workloads", "From the workload files and the plan. "
               "The working set holds the fewest records that receive nine draws in ten.",
               ("workload", "mix", "keys"), ("record", "data", "working set", "over the cap"),
               map(_workload, found.workloads)),
        text_table("verdicts", "Verdicts", "Adjusted for the number of hypotheses (Holm).",
               ("hypothesis", "expected"), ("on the default", "on the best so far", "adopted"),
               map(_verdict, found.trials)),
        text_table("published", "Beside the published report",
               "Throughput over that of the step before, published; over the best so far, here.",
               ("hypothesis", "workload"), ("published", "here"),
               [((r.hypothesis, r.workload), (r.published, r.ours)) for r in published_rows(found)]),
        *(_changes(trial, name, tested) for trial in found.trials for name, tested in comparisons(trial)),
    ]  # fmt: skip
    return {table.id: table for table in tables if table.rows}


def _workload(facts: WorkloadFacts) -> tuple[Sequence[str], Sequence[str]]:
    mix = ", ".join(f"{share_text(part)} {name}" for name, part in facts.mix.items())
    sizes = (quantity(size, "byte") for size in (facts.record_bytes, facts.data_bytes, facts.hot_bytes))
    return (facts.name, mix, facts.distribution), (*sizes, three_digits(facts.hot_bytes / facts.cap_bytes))


def _verdict(trial: Trial) -> tuple[Sequence[str], Sequence[str]]:
    expect = trial.hypothesis.expect
    names = (trial.hypothesis.id, expect.text)
    return names, (trial.alone.verdict, trial.on_best.verdict, "yes" if trial.adopted else "no")


def _changes(trial: Trial, name: str, tested: Tested) -> PaperTable:
    """One comparison of a hypothesis at every workload."""
    its = trial.hypothesis
    return text_table(
        f"{its.id} {name}",
        f"{its.id}, {name}: {tested.verdict}",
        f"{tested.why}. Medians with 95 % intervals over repetitions; means are arithmetic.",
        ("workload",),
        (f"{its.expect.metric} ratio", *_CHANGES),
        [((change.workload,), _values(change)) for change in tested.changes],
    )


def _values(change: Change) -> Sequence[str]:
    before, after = change.before, change.after
    rates = [values_text(each.get("throughput")) for each in (before, after)]
    means = [values_text(each.get("throughput"), mean=True) for each in (before, after)]
    return (ratio_text(change), *rates, *means, *(values_text(e.get("seconds")) for e in (before, after)))


def text_table(
    name: str,
    title: str,
    caption: str,
    names: Sequence[str],
    columns: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Sequence[str]]],
) -> PaperTable:
    """A table of texts, of each row's names and cells."""
    filled = tuple((tuple(heads), tuple(map(_cell, cells))) for heads, cells in rows)
    return PaperTable(name, title, caption, tuple(names), tuple(columns), filled)


def _cell(text: str) -> PaperCell:
    """The value first, so that a table that is too wide has intervals below."""
    value, interval = parts_of(text)
    return PaperCell(value, (f"({interval})",) if interval else ())
