"""A search's tables as texts, for its LaTeX form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kvdyno.model.options import display_options
from kvdyno.model.papers import PaperTable
from kvdyno.model.search import ConfirmedRow, Rival, SearchFound, Try
from kvdyno.model.units import format_seconds

from .search import gain_text, place_text, rival_rows, runs_text, share_text
from .study import ratio_text
from .study_tables import text_table

_PLACE = ("workload", "metric")
_TIMES = "Numbers are how many times better than the default."


def search_tables(found: SearchFound) -> Mapping[str, PaperTable]:
    """The tables that have rows, by what they show: "try 3" is a confirmed candidate's, "beside
    rocksdb-adoc" another engine's, "importances throughput" those of an objective.
    """
    front = [one for one in found.tries if one.number in found.front]
    tables = [
        *(text_table(f"try {c.number}", f"Try {c.number}", "Over the default, with fresh runs.",
                     _PLACE, ("over the default", "verdict"), map(_confirmed, c.rows))
          for c in found.confirmed),
        *map(_rival, found.rivals),
        _tries("front", "Front", f"The tries that no other one beats in every objective. {_TIMES}",
               front, found, {}),
        *(text_table(f"importances {metric}", metric, "Shares of importance with 95 % intervals.",
                     ("option",), ("share",),
                     [((name,), (share_text(share),)) for name, share in shares.items()])
          for metric, shares in found.importances.items()),
        _tries("trail", "Trail", f"All tries in their order. {_TIMES}", found.tries, found,
               {"runs": runs_text, "time": lambda one: format_seconds(one.seconds),
                "proposed by": lambda one: one.origin}),
    ]  # fmt: skip
    return {table.id: table for table in tables if table.rows}


def _confirmed(row: ConfirmedRow) -> tuple[Sequence[str], Sequence[str]]:
    return (place_text(row), row.metric), (ratio_text(row), row.verdict)


def _rival(rival: Rival) -> PaperTable:
    rows = [
        ((what, place_text(row), row.metric), (ratio_text(row), row.verdict))
        for what, row in rival_rows(rival)
    ]
    return text_table(
        f"beside {rival.label}",
        f"Beside {rival.label}",
        "In the runs of the confirmation.",
        ("compared", *_PLACE),
        ("ratio", "verdict"),
        rows,
    )


def _tries(
    name: str,
    title: str,
    caption: str,
    tries: Iterable[Try],
    found: SearchFound,
    more: Mapping[str, Callable[[Try], str]],
) -> PaperTable:
    """A row for each try, a column for each option: a table that is too wide becomes several."""
    metrics = [each.metric for each in found.objectives]
    options = [each.name for each in found.space.dimensions]
    rows = []
    for one in tries:
        gains = ["failed" if one.gains is None else gain_text(one, i) for i in range(len(metrics))]
        values = display_options(found.space.engine.description, one.options)
        cells = (*gains, *(text(one) for text in more.values()), *(values.get(o, "\u2013") for o in options))
        rows.append(((str(one.number),), cells))
    return text_table(name, title, caption, ("try",), (*metrics, *more, *options), rows)
