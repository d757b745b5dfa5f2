"""An analysis as files: figures, tables and a self-contained HTML report. Computes no statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kvdyno.model.experiment import Experiment, TableSpec
from kvdyno.model.results import Analysis, Earlier, ReportPaths

from .absence import absences
from .chapters import make_chapter
from .claims import claim_lines, claims_document
from .figures import check_figures, draw_figure
from .files import make_folder, write_text
from .flames import write_flames
from .forest import headline_ratios
from .html import render_html
from .origins import first_texts
from .summary import summarise
from .tables import build_grid, claims_table, to_csv, to_latex, to_markdown

__all__ = [
    "check_figures",
    "claim_lines",
    "claims_document",
    "csv_tables",
    "first_texts",
    "make_chapter",
    "summarise",
    "write_claims",
    "write_flames",
    "write_report",
]


#: Columns of _medians.csv beside the point: there are a hundred metrics, five phases, and many points.
_MEDIAN = ("phase", "metric", "unit", "n", "median", "low", "high")


def write_report(
    analysis: Analysis,
    experiment: Experiment,
    *,
    out: Path,
    commands: Sequence[str],
    earlier: Earlier | None = None,
) -> ReportPaths:
    """Write `out`/report.html, `out`/figures/<id>.{pdf,svg,png} and `out`/tables/<id>.{md,tex,csv}.

    Beside the tables, _overall.csv has ratios over all points, _points.csv those of each point, _pairs.csv
    those of every pair of contenders, _claims.csv the verdicts, and _medians.csv all estimates. With
    `earlier`, the page shows those records beside these, and _earlier.csv has all of that comparison. Runs
    link to their records, wherever `out` is.

    claims.json has the verdicts for scripts. Figures and tables of which no record has a value are left out,
    and named instead. Each file appears whole or not at all.

    Raises StoreError if something cannot be written, SpecError if a figure's kind or option is unknown.
    """
    check_figures(experiment.figures)
    figures_folder, tables_folder = out / "figures", out / "tables"
    for folder in (figures_folder, tables_folder):
        make_folder(folder)
    drawn = [draw_figure(spec, analysis, folder=figures_folder) for spec in experiment.figures]
    figures = [figure for figure in drawn if figure is not None]
    built = [build_grid(spec, analysis) for spec in experiment.tables]
    grids = [grid for grid in built if grid is not None]
    left_out = absences(experiment, figures=drawn, tables=built)
    page = render_html(
        analysis,
        experiment,
        out=out,
        figures=figures,
        grids=grids,
        left_out=left_out,
        commands=commands,
        earlier=earlier,
    )
    texts = {
        f"{grid.id}.{suffix}": form(grid)
        for grid in grids
        for suffix, form in {"md": to_markdown, "tex": to_latex}.items()
    }
    texts |= csv_tables(analysis, experiment.tables)
    texts |= _computed(
        {
            "_pairs": analysis.pairs,
            "_medians": analysis.estimates[["label", *analysis.axis_names, *_MEDIAN]],
            "_earlier": earlier.comparison.rows if earlier else analysis.pairs.iloc[:0],
        }
    )
    tables = [write_text(tables_folder / name, text) for name, text in texts.items()]
    write_claims(analysis, out=out)
    return ReportPaths(
        html=write_text(out / "report.html", page),
        figures=tuple(path for f in figures for path in (f.files.pdf, f.files.svg, f.files.png)),
        tables=tuple(tables),
        left_out=left_out,
    )


def write_claims(analysis: Analysis, *, out: Path) -> Path:
    """Write `out`/claims.json, the verdicts for scripts. Raises StoreError if it cannot be written."""
    make_folder(out)
    text = json.dumps(claims_document(analysis), indent=1, ensure_ascii=False, allow_nan=False)
    return write_text(out / "claims.json", text + "\n")


def csv_tables(analysis: Analysis, specs: Sequence[TableSpec]) -> dict[str, str]:
    """Tables for computing, by file name: those of the specifications that have a value, then _overall.csv,
    _points.csv and _claims.csv where they have rows.
    """
    grids = (build_grid(spec, analysis) for spec in specs)
    texts = {f"{grid.id}.csv": to_csv(grid) for grid in grids if grid is not None}
    return texts | _computed(
        {
            "_overall": analysis.overall,
            "_points": headline_ratios(analysis),
            "_claims": claims_table(analysis.claims),
        }
    )


def _computed(tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Those that have rows, by file name. No table of an experiment has a name that begins so."""
    return {
        f"{name}.csv": table.to_csv(index=False, lineterminator="\n")
        for name, table in tables.items()
        if len(table)
    }
