"""The HTML report: one file that needs nothing else, for a screen, a phone or paper."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kvdyno.model.experiment import Experiment
from kvdyno.model.results import Analysis, Earlier
from plots.units import axis_text, quantity, three_digits

from . import view
from .earlier import beside
from .figures import Drawn
from .summary import overall_sentences, phases_text, power_loss_text
from .tables import Grid, heading
from .timeline import build_timeline
from .words import define, metric_title


def _template(name: str) -> str:
    """The text of one of the package's own templates, wherever it is installed."""
    return (files("kvdyno.report") / "templates" / name).read_text("utf-8")


def render_html(
    analysis: Analysis,
    experiment: Experiment,
    *,
    figures: Sequence[Drawn],
    grids: Sequence[Grid],
    left_out: Sequence[str],
    commands: Sequence[str],
    earlier: Earlier | None = None,
) -> str:
    """The whole page. `left_out` names what no record has values for; `commands` are how to run it all
    again, one a line.
    """
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        axis_text=axis_text,
        quantity=quantity,
        three_digits=three_digits,
        heading=heading,
        title=metric_title,
        power_loss=power_loss_text,
    )
    grave, mild = view.split_cautions(analysis.cautions)
    ratios, factor = view.ratio_view(analysis)
    metrics = tuple(dict.fromkeys(analysis.estimates["metric"]))
    return environment.get_template("report.html.j2").render(
        a=analysis,
        experiment=experiment,
        grave=grave,
        mild=mild,
        sentences=overall_sentences(analysis),
        failures=view.failure_rows(analysis.failures),
        ratios=ratios,
        phases=phases_text(analysis),
        factor=factor,
        figures=[(figure, _inlined(figure.files.svg)) for figure in figures],
        grids=grids,
        left_out=left_out,
        amplification=view.metric_listing(analysis, metrics=[m for m in metrics if "amplification" in m]),
        costs=view.metric_listing(analysis, metrics=_costs(analysis)),
        latency=view.latency_listing(analysis),
        timeline=build_timeline(analysis),
        details=view.point_details(analysis),
        facts=[(machine, view.flat_facts(machine.facts)) for machine in analysis.machines],
        confinements=[(c, view.flat_facts(c.details)) for c in analysis.confinements],
        definitions=define(_named_units(analysis)),
        commands=commands,
        earlier=earlier and beside(earlier, analysis),
    )


def _costs(analysis: Analysis) -> tuple[str, ...]:
    """The headline metric and what it was paid with; nothing where records have no such metric."""
    known = set(analysis.estimates["metric"])
    paid = [m for m in ("write_amplification.net", "space_amplification", "debt.change") if m in known]
    return (analysis.headline_metric, *paid) if "space_amplification" in paid else ()


def _inlined(svg: Path) -> str:
    """A picture as a data URI. As an image its ids cannot clash with another picture's."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()


def _named_units(analysis: Analysis) -> list[tuple[str, str]]:
    pairs = analysis.estimates[["metric", "unit"]].drop_duplicates()
    return [(str(metric), str(unit)) for metric, unit in pairs.itertuples(index=False, name=None)]
