"""What a search or a study confirmed, as CSV: the data of a folder that is published."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from kvdyno.model.search import ConfirmedRow, SearchFound
from kvdyno.model.study import Change, StudyFound, Trial

_RATIO = ("ratio", "low", "high", "n")


def confirmed_csv(found: SearchFound) -> str:
    """A row for each ratio of the confirmation: which candidate over what, where, in which metric."""
    head = ("candidate", "over", "workload", "unseen", "metric", *_RATIO, "verdict")
    return _text(head, _confirmed(found))


def _confirmed(found: SearchFound) -> Iterator[Sequence[object]]:
    yield from _rows("default, again", "default", found.twin)
    for each in found.confirmed:
        yield from _rows(f"try {each.number}", "default", each.rows)
    for rival in found.rivals:
        yield from _rows(rival.label, "default", rival.over_default)
        for number, rows in rival.candidates.items():
            yield from _rows(f"try {number}", rival.label, rows)


def _rows(candidate: str, over: str, rows: Iterable[ConfirmedRow]) -> Iterator[Sequence[object]]:
    for row in rows:
        unseen = "unseen" if row.unseen else ""
        yield (candidate, over, row.workload, unseen, row.metric, *_numbers(row), row.verdict)


def gains_csv(found: SearchFound) -> str:
    """A row for each confirmed candidate: its gain in the first objective, in the search and afterwards."""
    rows = (
        (
            f"try {each.number}",
            each.searched,
            each.promised,
            *((each.fresh.value, each.fresh.low, each.fresh.high) if each.fresh else (None, None, None)),
            "yes" if each is found.winner else "no",
        )
        for each in found.confirmed
    )
    return _text(("candidate", "searched", "promised", "fresh", "low", "high", "winner"), rows)


def best_csv(found: StudyFound) -> str:
    """A row for each workload: throughput of best and of the second default over the default's, confirmed."""
    pairs = (("default, again", found.twin), ("best", found.gains))
    rows = ((name, each.workload, *_numbers(each)) for name, changes in pairs for each in changes)
    return _text(("candidate", "workload", *_RATIO), rows)


def hypotheses_csv(found: StudyFound) -> str:
    """A row for each comparison of a hypothesis at each workload."""
    head = ("hypothesis", "expected", "over", "workload", "metric", *_RATIO, "verdict", "adopted")
    return _text(head, (row for trial in found.trials for row in _tested(trial)))


def _tested(trial: Trial) -> Iterator[Sequence[object]]:
    its, adopted = trial.hypothesis, "yes" if trial.adopted else "no"
    comparisons = [("default", trial.alone)]
    comparisons += [("best so far", trial.on_best)] if trial.best else []
    for over, tested in comparisons:
        for change in tested.changes:
            place = (its.id, its.expect.text, over, change.workload, its.expect.metric)
            yield (*place, *_numbers(change), tested.verdict, adopted)


def _numbers(row: ConfirmedRow | Change) -> Sequence[object]:
    return (row.ratio, row.low, row.high, row.n)


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Numbers to nine digits; what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([f"{each:.9g}" if isinstance(each, float) else each for each in row] for row in rows)
    return out.getvalue()
