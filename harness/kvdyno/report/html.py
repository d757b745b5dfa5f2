"""The HTML report: one file that needs nothing else, for a screen, a phone or paper.

Five questions in a reader's order: what was found, whether it can be believed, where contenders differ, why,
and how it was made. Each has a template, and modules that prepare what it places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from kvdyno.model.experiment import Experiment, TableSpec
from kvdyno.model.results import Analysis, Earlier
from plots.units import axis_text, quantity, three_digits

from . import forest, found, grouping, listings, looks, made, runs, trust, workloads
from .earlier import beside
from .figures import Drawn
from .pagedata import page_data
from .pictures import embedded
from .spots import Spots
from .summary import phases_text, power_loss_text
from .tables import Grid, Key, build_grid, heading
from .timeline import build_timeline
from .words import define, metric_title

_CODE = re.compile("`([^`]*)`")
#: A table shows as many rows; the page's script shows the rest on demand.
ROWS_AT_FIRST = 12


def render_html(
    analysis: Analysis,
    experiment: Experiment,
    *,
    out: Path,
    figures: Sequence[Drawn],
    grids: Sequence[Grid],
    left_out: Sequence[str],
    commands: Sequence[str],
    earlier: Earlier | None = None,
) -> str:
    """The whole page, for the folder `out`. `left_out` names what no record has values for; `commands` are
    how to run it all again, one a line.
    """
    spots = Spots(analysis)
    medians = listings.Medians(analysis, spots)
    pictures = [grouping.Picture(figure, _markup(figure)) for figure in figures]
    return (
        _environment(spots)
        .get_template("report.html.j2")
        .render(
            a=analysis,
            experiment=experiment,
            left_out=left_out,
            commands=commands,
            phases=phases_text(analysis),
            timeline=(timeline := build_timeline(analysis, spots)),
            earlier=earlier and beside(earlier, analysis),
            data=page_data(analysis, spots, timeline),
            found=found.what_was_found(analysis, spots),
            **_trust(analysis, spots, medians),
            **_differences(analysis, spots, medians, pictures, grids),
            **_why(analysis, spots, medians, pictures, grids, out=out),
            **_made(analysis, experiment),
        )
    )


def _environment(spots: Spots) -> Environment:
    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = coded
    environment.globals.update(
        axis_text=axis_text,
        quantity=quantity,
        three_digits=three_digits,
        heading=heading,
        title=metric_title,
        power_loss=power_loss_text,
        colour_class=looks.colour_class,
        colour_rules=looks.colour_rules(),
        glyphs=looks.GLYPHS,
        flat=made.flat_facts,
        spots=spots,
        telling_axes=grouping.telling_axes,
        row_filter=partial(_row_filter, spots),
        rows_at_first=ROWS_AT_FIRST,
    )
    return environment


def coded(text: str) -> Markup:
    """The text with what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def _row_filter(spots: Spots, grid: Grid, row: Key) -> str:
    """What filters ask of a table's row."""
    values = dict(zip(grid.row_axes, row, strict=True))
    return spots.filters(values, label=str(values["label"]) if "label" in values else None)


def template_text(name: str) -> str:
    """The text of one of the package's own templates, wherever it is installed."""
    return (files("kvdyno.report") / "templates" / name).read_text("utf-8")


def _markup(figure: Drawn) -> str:
    alt = f"{figure.title}. {figure.caption}"
    return embedded(figure.files.svg, name=f"picture-{figure.spec.id}", alt=alt)


def _trust(analysis: Analysis, spots: Spots, medians: listings.Medians) -> dict[str, Any]:
    doubts = trust.doubts_of(analysis)
    return {
        "weights": trust.by_weight(analysis.cautions),
        "doubtful": trust.points_with_doubts(spots.all, doubts),
        "failures": trust.failure_rows(analysis.failures),
        "spread": trust.spread_sentence(analysis),
        "drift": trust.drift(analysis, spots),
        "costs": listings.of_metrics(medians, spots, _costs(analysis)),
    }


def _costs(analysis: Analysis) -> tuple[str, ...]:
    """The headline metric and what it was paid with; nothing where records have no such metric."""
    known = set(analysis.estimates["metric"])
    paid = [m for m in ("write_amplification.net", "space_amplification", "debt.change") if m in known]
    return (analysis.headline_metric, *paid) if "space_amplification" in paid else ()


def _differences(
    analysis: Analysis,
    spots: Spots,
    medians: listings.Medians,
    pictures: Sequence[grouping.Picture],
    grids: Sequence[Grid],
) -> dict[str, Any]:
    shown = [*_headline_grid(analysis, grids), *grids]
    metrics = [m for m in medians.metrics if m.split(".")[0].endswith("_amplification")]
    every = {
        "latency": listings.latencies(analysis, spots),
        "amplification": listings.of_metrics(
            medians, spots, [m for m in metrics if not m.startswith("space")]
        ),
        "space": listings.of_metrics(medians, spots, ["disk.used", "space_amplification", "debt"]),
        "memory": listings.of_metrics(
            medians, spots, ["memory.peak_rss", "cpu.per_operation", "faults.major"]
        ),
    }
    groups = [
        grouping.Group(name, title, *grouping.those(name, pictures, shown), every.get(name))
        for name, title in grouping.TITLES.items()
    ]
    memory = listings.memory(analysis, medians, spots)
    texts = {str(name): workloads.workload_text(asked) for name, asked in analysis.workloads.items()}
    return {
        "forest": forest.forest(analysis, spots, doubts=trust.doubts_of(analysis)),
        "heat": forest.heat_map(analysis, spots),
        "groups": [
            g for g in groups if g.pictures or g.grids or g.listing or (g.name == "memory" and memory)
        ],
        "memory": memory,
        "workloads": {name: text for name, text in texts.items() if text},
        "record_sizes": {
            size for asked in analysis.workloads.values() if (size := workloads.record_text(asked))
        },
        "pairs": len(analysis.pairs) > 0,
    }


def _headline_grid(analysis: Analysis, grids: Sequence[Grid]) -> list[Grid]:
    """A table of the headline's medians, unless the experiment has one."""
    metric = analysis.headline_metric
    if any(grid.metric == metric and grid.unit != "ratio" for grid in grids):
        return []
    axes = tuple(axis.name for axis in analysis.varying)
    found = [
        build_grid(
            TableSpec(
                id="", title=metric_title(metric), metric=metric, phase=phase, rows=axes, columns=("engine",)
            ),
            analysis,
        )
        for phase in analysis.headline_phases
    ]
    return [grid for grid in found if grid]


def _why(
    analysis: Analysis,
    spots: Spots,
    medians: listings.Medians,
    pictures: Sequence[grouping.Picture],
    grids: Sequence[Grid],
    *,
    out: Path,
) -> dict[str, Any]:
    own_pictures, own_grids = grouping.those("why", pictures, grids)
    return {
        "why_pictures": own_pictures,
        "why_grids": own_grids,
        "stalls": listings.stalls(medians, spots),
        "beside": listings.phases_beside(medians, spots),
        "durations": listings.durations(medians, spots),
        "segment_names": listings.segment_names,
        "points": runs.points_with_runs(analysis, spots, out=out),
    }


def _made(analysis: Analysis, experiment: Experiment) -> dict[str, Any]:
    named = analysis.estimates[["metric", "unit"]].drop_duplicates().itertuples(index=False, name=None)
    return {
        "when": made.when_text(analysis),
        "machine_text": made.machine_text,
        "confinement_text": made.confinement_text,
        "differing": made.differing_options(analysis.contenders),
        "definitions": define(((str(metric), str(unit)) for metric, unit in named), own=experiment.metrics),
    }
