"""Figures and tables that no record has values for."""

from __future__ import annotations

from collections.abc import Sequence

from kvdyno.model.experiment import Experiment, FigureSpec, TableSpec
from kvdyno.model.figure_options import words_of


def absences(
    experiment: Experiment, *, figures: Sequence[object | None], tables: Sequence[object | None]
) -> tuple[str, ...]:
    """A sentence for each of the experiment's figures and tables that was not made (None in its place)."""
    return (
        *(_text("figure", spec) for spec, made in zip(experiment.figures, figures, strict=True) if not made),
        *(_text("table", spec) for spec, made in zip(experiment.tables, tables, strict=True) if not made),
    )


def _text(what: str, spec: FigureSpec | TableSpec) -> str:
    """ "table memory: no record has memory.peak_rss of phase measure"."""
    metrics = (
        words_of(spec.options.get("metrics", spec.metric)) if isinstance(spec, FigureSpec) else (spec.metric,)
    )
    return f"{what} {spec.id}: no record has {' or '.join(map(str, metrics))} of phase {spec.phase}"
