"""Points as the page knows them: an anchor, a name, and what a filter can ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from kvdyno.model.results import Analysis
from plots.units import axis_text

#: A row of one of the analysis' tables.
TableRow = Mapping[Any, Any] | pd.Series


@dataclass(frozen=True)
class Spot:
    """A point: `anchor` is its id on the page, `name` its name, `place` that without the contender.

    `rank` is its contender's place in the experiment. `filters` has "|axis=value" for each varying axis.
    """

    anchor: str
    name: str
    label: str
    rank: int
    place: str
    filters: str


@dataclass(frozen=True)
class Choice:
    """Something to filter by: an axis and its values, in words."""

    axis: str
    values: tuple[str, ...]


class Spots:
    """All points of an analysis that have a record, in the order of the plan."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self.labels = tuple(contender.label for contender in analysis.contenders)
        runs = analysis.runs.drop_duplicates(["label", *analysis.axis_names])
        rows = {self._key(row): row for row in runs.to_dict("records")}
        self._by_key = {key: self._spot(row, place) for place, (key, row) in enumerate(rows.items())}
        self.all = tuple(self._by_key.values())
        self.index = {spot.anchor: place for place, spot in enumerate(self.all)}
        self.places = tuple(dict.fromkeys(spot.place for spot in self.all))

    def of(self, row: TableRow) -> Spot:
        """The point of a row of one of the analysis' tables."""
        return self._by_key[self._key(row)]

    def rank(self, label: str) -> int:
        """A contender's place in the experiment."""
        return self.labels.index(label)

    def place(self, row: TableRow) -> str:
        """The varying axes of a row: "C 1 GiB"."""
        return " ".join(text for _, text in self._varying(row)) or "the only point"

    def filters(self, row: TableRow, *, label: str | None = None) -> str:
        """What filters ask of a row: the varying axes that it has, and its contender."""
        named = [("engine", label)] if label else []
        pairs = [*named, *self._varying(row)]
        return "".join(f"|{name}={text}" for name, text in pairs) + "|"

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The filters in whose values points differ."""
        axes = [
            Choice(a.name, tuple(dict.fromkeys(axis_text(v, a.unit) for v in a.values)))
            for a in self._analysis.varying
        ]
        engines = [Choice("engine", self.labels)] if len(self.labels) > 1 else []
        return (*engines, *axes)

    def find(self, names: Sequence[str], values: Sequence[Any], *, besides: str = "") -> Spot | None:
        """The one point with these values of these axes ("label" among them), of the contenders besides one;
        None if it is not one.
        """
        wanted = dict(zip(names, values, strict=True))
        every = ("label", *self._analysis.axis_names)
        places = [(every.index(name), _plain(value)) for name, value in wanted.items() if name in every]
        found = [spot for key, spot in self._by_key.items() if all(key[at] == v for at, v in places)]
        several = [spot for spot in found if spot.label != besides]
        return several[0] if len(several) == 1 else None

    def _varying(self, row: TableRow) -> list[tuple[str, str]]:
        known = [(a.name, row[a.name], a.unit) for a in self._analysis.varying if a.name in row]
        return [(name, axis_text(value, unit)) for name, value, unit in known if not pd.isna(value)]

    def _key(self, row: TableRow) -> tuple[Any, ...]:
        return tuple(_plain(row[name]) for name in ("label", *self._analysis.axis_names))

    def _spot(self, row: TableRow, place: int) -> Spot:
        label = str(row["label"])
        return Spot(
            anchor=f"p{place}",
            name=str(row["point"]),
            label=label,
            rank=self.rank(label),
            place=self.place(row),
            filters=self.filters(row, label=label),
        )


def _plain(value: Any) -> Any:
    """Equal for equal values, also where an axis has none."""
    return None if pd.isna(value) else value
