"""What documents publish: results/published/<document>.yaml as it is written.

The YAML form is described in docs/formats.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from .engine import Frozen
from .experiment import AxisValue

#: Units of documents, and what a value is multiplied by to have the metric's own unit.
UNITS: Mapping[str, tuple[str, float]] = {
    "ratio": ("ratio", 1),
    "%": ("ratio", 0.01),
    "op/s": ("op/s", 1),
    "kop/s": ("op/s", 1000),
    "call/op": ("call/op", 1),
    "s": ("s", 1),
    "ms": ("ns", 1e6),
}

Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Axes = Mapping[str, AxisValue]


class _Written(Frozen):
    """Base of what stands in the file: unknown keys are mistakes, and so is a number that is none."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PublishedSeries(_Written):
    """One engine's values, in the order of `along`; None: the document has no value there. `at` are axes that
    the whole series shares.
    """

    engine: str
    at: Axes = Field(default_factory=dict)
    values: tuple[float | None, ...]


class PublishedNumbers(_Written):
    """Numbers of one table or sentence of a document, values and sizes as printed.

    `source` names the place, `what` the quantity. `metric` is what measures the same here; None: nothing
    does. `ratio_to`: the values are ratios to that engine. `at` are axes that all series share, `along` the
    axis along which a series has its values; without it, a series has one.
    """

    id: Id
    source: str
    what: str
    metric: str | None = None
    unit: Literal["ratio", "%", "op/s", "kop/s", "call/op", "s", "ms"]
    ratio_to: str | None = None
    at: Axes = Field(default_factory=dict)
    along: Annotated[Mapping[str, tuple[AxisValue, ...]], Field(max_length=1)] = Field(default_factory=dict)
    series: Annotated[tuple[PublishedSeries, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> PublishedNumbers:
        expected = math.prod(len(values) for values in self.along.values())
        for series in self.series:
            if len(series.values) != expected:
                found = f"{len(series.values)} of {series.engine}"
                raise ValueError(f"{self.id}: expected {expected} values in a series, found {found}")
            twice = [axis for axis in series.at if axis in self.at or axis in self.along]
            if twice:
                raise ValueError(f"{self.id}: expected {twice[0]} once, found it around a series and in it")
        return self

    @property
    def axes(self) -> tuple[str, ...]:
        """Every axis that places a value."""
        inside = (axis for series in self.series for axis in series.at)
        return tuple(dict.fromkeys((*self.at, *inside, *self.along)))

    def placed(self) -> Iterator[tuple[str, Axes, float]]:
        """Engine, axes as written, and value in the metric's unit, of all that the document prints."""
        factor = UNITS[self.unit][1]
        for series in self.series:
            for place, value in zip(self._places(), series.values, strict=True):
                if value is not None:
                    yield series.engine, {**self.at, **series.at, **place}, value * factor

    def _places(self) -> list[Axes]:
        return [{axis: value} for axis, values in self.along.items() for value in values] or [{}]


class PublishedFigure(_Written):
    """A figure of a document that is a picture: `what` it shows; its values are not known."""

    id: Id
    source: str
    what: str


class PublishedClaim(_Written):
    """A statement of a document, with the bounds that it states for a ratio."""

    id: Id
    source: str
    text: str
    at_least: float | None = None
    at_most: float | None = None


class PublishedDocument(_Written):
    """One document. `short` is how figures cite it, `engines` names what its engines are, `conditions` how it
    measured.
    """

    schema_version: Literal["kvdyno.published/1"]
    citation: str
    short: str
    note: str = ""
    engines: Mapping[str, str]
    conditions: Mapping[str, AxisValue] = Field(default_factory=dict)
    numbers: tuple[PublishedNumbers, ...] = ()
    figures: tuple[PublishedFigure, ...] = ()
    claims: tuple[PublishedClaim, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> PublishedDocument:
        for kind in (self.numbers, self.figures, self.claims):
            ids = [each.id for each in kind]
            twice = [each for each in ids if ids.count(each) > 1]
            if twice:
                raise ValueError(f"expected an id of its own, found {twice[0]!r} twice")
        for numbers in self.numbers:
            named = [*(series.engine for series in numbers.series), *filter(None, [numbers.ratio_to])]
            unknown = [engine for engine in named if engine not in self.engines]
            if unknown:
                known = ", ".join(self.engines)
                raise ValueError(f"{numbers.id}: expected an engine of {known}, found {unknown[0]!r}")
        return self
