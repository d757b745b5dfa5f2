"""What a paper shows of an experiment: the report's figures, tables and sentences, for two columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import plots
from kvdyno.errors import StoreError
from kvdyno.model.experiment import Experiment, FigureSpec
from kvdyno.model.papers import Chapter, Missing, PaperCell, PaperTable, Picture
from kvdyno.model.results import Analysis
from plots.units import axis_text, status_text

from .absence import absences
from .figures import check_figures, compose
from .made import confinement_text, flat_facts, machine_text, when_text
from .summary import overall_sentences
from .tables import Cell, Grid, build_grid, heading, unit_note


def make_chapter(
    analysis: Analysis,
    experiment: Experiment,
    *,
    folder: Path,
    inside: Path,
    notes: Sequence[str] = (),
) -> Chapter:
    """The chapter of an experiment; its figures are drawn as `folder`/`inside`/<id>.pdf.

    Raises StoreError if a figure cannot be written, SpecError if its kind or option is unknown.
    """
    check_figures(experiment.figures)
    drawn = [_picture(spec, analysis, folder, inside) for spec in experiment.figures]
    built = [build_grid(spec, analysis) for spec in experiment.tables]
    return Chapter(
        experiment=experiment,
        analysis=analysis,
        pictures=tuple(picture for picture in drawn if picture),
        tables=tuple(paper_table(grid) for grid in built if grid),
        machines=tuple(map(machine_text, analysis.machines)),
        facts=tuple(flat_facts(analysis.machines[0].facts)),
        confinements=tuple(map(confinement_text, analysis.confinements)),
        overall=overall_sentences(analysis),
        when=when_text(analysis),
        left_out=absences(experiment, figures=drawn, tables=built),
        missing=_missing(analysis),
        notes=tuple(notes),
    )


def _picture(spec: FigureSpec, analysis: Analysis, folder: Path, inside: Path) -> Picture | None:
    composed = compose(spec, analysis, sheet=plots.COLUMNS)
    if composed is None:
        return None
    try:
        (folder / inside).mkdir(parents=True, exist_ok=True)
        file = plots.save_pdf(composed.figure, folder / inside / spec.id)
    except OSError as error:
        raise StoreError(f"cannot write figure {spec.id!r}: {error.strerror}", where=str(folder)) from error
    wide = composed.figure.get_figwidth() > plots.COLUMNS.alone
    return Picture(spec.id, composed.title, composed.caption, file.relative_to(folder), wide)


def paper_table(grid: Grid) -> PaperTable:
    """The grid as texts."""
    return PaperTable(
        id=grid.id,
        title=f"{grid.title}{unit_note(grid)}",
        caption=grid.caption,
        names=tuple(map(heading, grid.row_axes)),
        columns=tuple(", ".join(grid.column_texts(column)) for column in grid.columns),
        rows=tuple(
            (grid.row_texts(row), tuple(_cell(grid, grid.cell(row, column)) for column in grid.columns))
            for row in grid.rows
        ),
    )


def _cell(grid: Grid, cell: Cell) -> PaperCell:
    value, *notes = grid.parts(cell)
    return PaperCell(value, tuple(notes), strong=cell.decided)


def _missing(analysis: Analysis) -> tuple[Missing, ...]:
    """The points of the plan without a run that ended well, by the reason; only axes that vary name them."""
    every = ("label", *analysis.axis_names)
    runs = analysis.frame.drop_duplicates("run_id")
    ended: dict[tuple[str, ...], list[str]] = {}
    for run in runs.to_dict("records"):
        ended.setdefault(tuple(str(run[name]) for name in every), []).append(str(run["status"]))
    found: dict[str, list[str]] = {}
    for point in analysis.planned.to_dict("records"):
        statuses = ended.get(tuple(str(point[name]) for name in every), [])
        if "ok" not in statuses:
            reason = status_text(statuses[0]) if statuses else "no run"
            texts = (axis_text(point[axis.name], axis.unit) for axis in analysis.varying)
            found.setdefault(reason, []).append(" ".join((str(point["label"]), *texts)))
    return tuple(Missing(reason, tuple(points)) for reason, points in found.items())
