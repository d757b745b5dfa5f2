"""The report of a search: one HTML file, and its trail as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from os.path import relpath
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kvdyno.model.options import display_options
from kvdyno.model.search import Confirmed, ConfirmedRow, SearchFound, Try
from kvdyno.model.units import format_seconds
from plots.units import three_digits

from . import looks
from .files import make_folder, write_text
from .html import template_text

_KINDS = {True: "up", False: "down", None: "open"}


def write_search(found: SearchFound) -> tuple[Path, Path]:
    """Write search.html and trail.csv into the search's folder. Raises StoreError if that fails."""
    make_folder(found.folder)
    page = write_text(found.folder / "search.html", render(found))
    return page, write_text(found.folder / "trail.csv", trail_csv(found))


def render(found: SearchFound) -> str:
    """The whole page."""
    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        gain=gain_text,
        row=row_text,
        kind=_KINDS.get,
        number=three_digits,
        seconds=format_seconds,
        shown=lambda options: display_options(found.space.engine.description, options),
        share=lambda part: f"{100 * part:.0f} %",
        link=lambda path: relpath(path, found.folder),
        headline=headline(found),
        curse=curse_text,
    )
    page = environment.get_template("search.html.j2")
    return page.render(f=found, colour_rules=looks.colour_rules())


def headline(found: SearchFound) -> str:
    """What the search found, in a sentence."""
    failed = sum(one.gains is None for one in found.tries)
    tried = f"{len(found.tries)} candidates by {found.strategy}, {failed} of which failed"
    if found.winner is None:
        return f"{tried}: none was shown to be better than the default, which stays."
    return f"{tried}: try {found.winner.number} is better than the default in {found.objectives[0].metric}."


def curse_text(each: Confirmed) -> str:
    """The gain in the search beside the one in the confirmation."""
    fresh = "–" if each.fresh is None else three_digits(each.fresh)
    return f"{three_digits(each.searched)} in the search, {fresh} with fresh runs"


def gain_text(one: Try, place: int) -> str:
    """How many times better than the default, or why that is not known."""
    return one.failure if one.gains is None else three_digits(math.exp(one.gains[place]))


def row_text(row: ConfirmedRow) -> str:
    """ "1.32 (1.21 to 1.44), n = 5"."""
    ends = (
        ""
        if row.low is None or row.high is None
        else (f" ({three_digits(row.low)} to {three_digits(row.high)})")
    )
    return f"{three_digits(row.ratio)}{ends}, n = {row.n}"


def trail_csv(found: SearchFound) -> str:
    """A row for each try: number, gains (times better than the default), failure, seconds, options."""
    names = [each.name for each in found.space.dimensions]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    metrics = [f"gain.{each.metric}" for each in found.objectives]
    writer.writerow(["try", *metrics, "failure", "seconds", *names])
    for one in found.tries:
        gains: Sequence[object] = (
            [""] * len(metrics) if one.gains is None else [f"{math.exp(gain):.6g}" for gain in one.gains]
        )
        options = [one.options.get(name, "") for name in names]
        writer.writerow([one.number, *gains, one.failure, f"{one.seconds:.1f}", *options])
    return out.getvalue()
