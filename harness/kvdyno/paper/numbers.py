"""Numbers of records in prose: each with its interval and n, or visibly "not measured"."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pandas as pd

from kvdyno.errors import SpecError
from kvdyno.model.experiment import AxisValue, Experiment
from kvdyno.model.papers import Chapter
from kvdyno.model.results import resolve_label
from kvdyno.model.units import parse_bytes
from kvdyno.model.words import unknown
from plots.units import quantity, three_digits

from .templates import Tex, tex

NOT_MEASURED = Tex(r"\notmeasured{}")


def value_text(row: Mapping[str, Any]) -> Tex:
    """A row of estimates: "48.7 kop/s (44.1 kop/s to 54.7 kop/s, n = 5)"."""
    unit = str(row["unit"])
    return _with_interval(quantity(row["median"], unit), row, lambda end: quantity(end, unit))


def ratio_text(row: Mapping[str, Any]) -> Tex:
    """A row of ratios: "1.28 times (1.21 to 1.34, n = 5)"; of a difference, with its unit."""
    if row["kind"] == "difference":
        unit = str(row["unit"])
        return _with_interval(
            f"a difference of {quantity(row['difference'], unit)}", row, lambda end: quantity(end, unit)
        )
    return _with_interval(f"{three_digits(row['ratio'])} times", row, three_digits)


def _with_interval(number: str, row: Mapping[str, Any], spelled: Any) -> Tex:
    n = f"n = {int(row['n'])}"
    if pd.isna(row["low"]):
        return kept_together(f"{number} ({n}, no interval)")
    return kept_together(f"{number} ({spelled(row['low'])} to {spelled(row['high'])}, {n})")


def kept_together(text: str) -> Tex:
    """A number stays in one line with its unit; "n = 5" stays whole."""
    words = tex(text).replace("n = ", "$n$~=~").split(" ")
    joined = [words[0]]
    for before, word in itertools.pairwise(words):
        ends_number = before.lstrip("(").replace(".", "").isdigit()
        is_unit = ends_number and not word.startswith("(") and word not in ("to", "times")
        joined.append(("~" if is_unit else " ") + word)
    return Tex("".join(joined))


def find_value(chapter: Chapter, metric: str, phase: str, where: Mapping[str, Any]) -> Tex | None:
    """The median of one point; None if no record has it. Raises SpecError for a wrong or vague question."""
    analysis = chapter.analysis
    rows = analysis.select(
        analysis.estimates, where=_checked(where, chapter.experiment), metric=metric, phase=phase
    )
    row = _one(_of_contender(rows, where), chapter)
    return None if row is None else value_text(row)


def find_ratio(chapter: Chapter, over: str, metric: str, phase: str, where: Mapping[str, Any]) -> Tex | None:
    """The paired ratio at one point; None if no record has it. Raises SpecError as `find_value` does."""
    analysis = chapter.analysis
    checked = _checked({**where, "engine": where.get("engine", "")}, chapter.experiment)
    _checked({"engine": over}, chapter.experiment)
    rows = analysis.select(analysis.ratios, where=checked, metric=metric, phase=phase)
    rows = rows[rows["baseline"] == resolve_label(over, analysis.frame)]
    row = _one(_of_contender(rows, where), chapter)
    return None if row is None else ratio_text(row)


def find_mean(chapter: Chapter, engine: str) -> Tex | None:
    """The geometric mean of an engine's ratios to the baseline over all points; None if there is none."""
    _checked({"engine": engine}, chapter.experiment)
    rows = chapter.analysis.overall
    rows = rows[rows["metric"] == chapter.analysis.headline_metric]
    rows = rows[rows["baseline"] == chapter.analysis.baseline]
    rows = rows[rows["label"] == resolve_label(engine, chapter.analysis.frame)]
    row = _one(rows, chapter)
    return None if row is None else ratio_text(row)


def _of_contender(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """A label may also be the name of an engine that others have: then the label counts."""
    mine = rows[rows["label"] == where.get("engine")]
    return mine if len(mine) else rows


def _one(rows: pd.DataFrame, chapter: Chapter) -> Mapping[str, Any] | None:
    if len(rows) > 1:
        vague = [name for name in ("label", *chapter.analysis.axis_names) if name in rows]
        vague = [name for name in vague if rows[name].nunique(dropna=False) > 1]
        raise SpecError(
            f"expected one point of {chapter.name}, found {len(rows)}",
            remedy=f"name {' and '.join(vague) or 'a baseline'}",
        )
    return {str(name): cell for name, cell in rows.iloc[0].items()} if len(rows) else None


def _checked(where: Mapping[str, Any], experiment: Experiment) -> Mapping[str, tuple[AxisValue, ...]]:
    """The values as `Analysis.select` takes them: sizes in bytes. Raises SpecError for an unknown word."""
    found: dict[str, tuple[AxisValue, ...]] = {}
    labels = [choice.label for choice in experiment.engines]
    for name, value in where.items():
        if name == "engine":
            engines = {*labels, *(choice.engine for choice in experiment.engines)}
            if value not in engines:
                raise SpecError(unknown(f"engine of {experiment.name}", str(value), labels))
        elif name not in experiment.grid:
            raise SpecError(unknown(f"axis of {experiment.name}", name, ("engine", *experiment.grid)))
        found[name] = (_axis_value(value, experiment.grid.get(name, ())),)
    return found


def _axis_value(value: AxisValue, known: tuple[AxisValue, ...]) -> AxisValue:
    """A size as bytes where the axis has numbers."""
    if isinstance(value, str) and all(isinstance(each, (int, float)) for each in known) and known:
        return parse_bytes(value)
    return value
