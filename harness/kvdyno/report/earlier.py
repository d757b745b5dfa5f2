"""An earlier sweep beside this one: the headline metric of each point that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvdyno.model.results import Analysis, Caution, Earlier
from kvdyno.model.words import verdict_words
from plots.units import quantity

from .looks import verdict_kind
from .summary import point_text, ratio_text


@dataclass(frozen=True)
class BesideRow:
    """A point: both medians with n, and now over then. `kind` gives the verdict its colour (looks)."""

    point: str
    label: str
    before: str
    after: str
    ratio: str
    n_before: int
    n_after: int
    kind: str
    explanation: str


@dataclass(frozen=True)
class Beside:
    """What a page shows of an earlier sweep. `gone` and `added` name points that one side lacks."""

    name: str
    when: str
    rows: Sequence[BesideRow]
    gone: Sequence[str]
    added: Sequence[str]
    cautions: Sequence[Caution]


def beside(earlier: Earlier, analysis: Analysis) -> Beside:
    """The points that both have, in the order of the report's own."""
    rows = earlier.comparison.rows
    rows = rows[(rows["metric"] == analysis.headline_metric) & rows["phase"].isin(analysis.headline_phases)]
    shown = rows.reindex(columns=list(dict.fromkeys([*rows.columns, *analysis.axis_names])))
    return Beside(
        name=earlier.name,
        when=f"{_minute(earlier.started_at)} to {_minute(earlier.ended_at)} UTC",
        rows=[_row(row, analysis) for _, row in shown.iterrows()],
        gone=earlier.comparison.only_before,
        added=earlier.comparison.only_after,
        cautions=earlier.comparison.cautions,
    )


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _row(row: Any, analysis: Analysis) -> BesideRow:
    margin = analysis.same_within
    return BesideRow(
        point=point_text(row, analysis),
        label=row["label"],
        before=quantity(row["before"], row["unit"]),
        after=quantity(row["after"], row["unit"]),
        ratio=ratio_text(row),
        n_before=int(row["n_before"]),
        n_after=int(row["n_after"]),
        kind=verdict_kind(row["verdict"]),
        explanation=verdict_words(row["verdict"], within=bool(row["within"]), margin=margin),
    )
