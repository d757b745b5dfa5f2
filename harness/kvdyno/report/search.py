"""The report of a search, as one HTML file, Markdown and LaTeX, and its trail as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from os.path import relpath
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kvdyno.errors import StoreError
from kvdyno.model.options import display_options
from kvdyno.model.search import (
    Confirmed,
    ConfirmedRow,
    Rival,
    SearchFound,
    SearchPaths,
    Share,
    Try,
    Untried,
)
from kvdyno.model.units import format_seconds
from plots.units import three_digits

from . import looks
from .files import make_folder, write_text
from .html import ROWS_AT_FIRST, coded, template_text
from .markdown import plain
from .search_figures import Picture, draw_search
from .study import cost_rows, noise_sentence, ratio_text

#: A table can be filtered by what has that many values at most.
_CHOICES = 8
_ORIGIN = "proposed by"
_KINDS = {True: "up", False: "down", None: "open"}


def draw(found: SearchFound) -> tuple[Picture, ...]:
    """Draw the figures of all forms into the search's folder. Raises StoreError if that fails."""
    figures = found.folder / "figures"
    make_folder(figures)
    try:
        return draw_search(found, folder=figures)
    except OSError as error:
        raise StoreError(f"cannot write: {error.strerror}", where=str(figures)) from error


def write_search(found: SearchFound, *, pictures: Sequence[Picture], latex: str) -> SearchPaths:
    """Write search.html, search.md, what was made of `words` as search.tex, and trail.csv into the search's
    folder, where `pictures` are.

    Raises StoreError if that fails.
    """
    shown = words(found, pictures=pictures)
    texts = {f"search.{suffix}": render(found, shown, suffix=suffix) for suffix in ("html", "md")}
    texts |= {"search.tex": latex, "trail.csv": trail_csv(found)}
    page, text, source, trail = (write_text(found.folder / name, text) for name, text in texts.items())
    return SearchPaths(html=page, markdown=text, latex=source, trail=trail)


def render(found: SearchFound, shown: Mapping[str, Any], *, suffix: str) -> str:
    """The report in one form, "html" or "md"; `shown` are its words."""
    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=suffix == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(coded=coded, plain=plain)
    environment.globals.update(kind=_KINDS.get, **shown)
    page = _page(found) if suffix == "html" else {}
    return environment.get_template(f"search.{suffix}.j2").render(f=found, **page)


def _page(found: SearchFound) -> Mapping[str, Any]:
    """What the page alone needs: a column for each option, and what its tables can be filtered by."""

    def known(one: Try) -> Mapping[str, str]:
        return {_ORIGIN: one.origin, **display_options(found.space.engine.description, one.options)}

    columns = [each.name for each in found.space.dimensions]
    values = {name: {known(one).get(name, "") for one in found.tries} for name in (_ORIGIN, *columns)}
    choices = {name: sorted(each) for name, each in values.items() if 1 < len(each) <= _CHOICES}
    return {
        "columns": columns,
        "choices": choices,
        "filters": lambda one: "|" + "".join(f"{name}={known(one).get(name, '')}|" for name in choices),
        "front": [one for one in found.tries if one.number in found.front],
        "colour_rules": looks.colour_rules(),
        "rows_at_first": ROWS_AT_FIRST,
    }


def words(found: SearchFound, *, pictures: Sequence[Picture]) -> Mapping[str, Any]:
    """What all forms of the report print: sentences, and functions that make texts of values."""
    return {
        "title": f"Options of {found.space.engine.name}, searched",
        "gain": gain_text,
        "place": place_text,
        "ratio": ratio_text,
        "seconds": format_seconds,
        "shown": lambda options: display_options(found.space.engine.description, options),
        "share": share_text,
        "link": lambda path: relpath(path, found.folder),
        "headline": headline(found),
        "gains": gain_rows(found),
        "costs": cost_rows(found.costs),
        "sure": sure_sentences(found),
        "curse": curse_text,
        "rivalry": rival_rows,
        "untried": untried_rows(found),
        "pictures": pictures,
        "runs": runs_text,
    }


def share_text(share: Share) -> str:
    """ "41 % (22 to 63)"."""
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f})"


def gain_rows(found: SearchFound) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """What the winner gains with fresh runs over the default, and over each other engine: by metric and
    workload. Empty if the default's options stay.
    """
    if found.winner is None:
        return {}
    number = found.winner.number
    over = [("the default", found.winner.rows)]
    over += [(rival.label, rival.candidates[number]) for rival in found.rivals]
    return {name: _by_metric(rows) for name, rows in over if rows}


def _by_metric(rows: Sequence[ConfirmedRow]) -> Mapping[str, Mapping[str, str]]:
    places = dict.fromkeys(map(place_text, rows), "–")
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        text = f"{ratio_text(row)}, {row.verdict}"
        found.setdefault(row.metric, dict(places))[place_text(row)] = text
    return found


def sure_sentences(found: SearchFound) -> Sequence[str]:
    """How sure the gain is: the noise, what the search had promised, and how verdicts are reached."""
    if not found.confirmed:
        return ("No candidate was measured well, so there was nothing to confirm.",)
    first = found.objectives[0].metric
    promised = f"Times better in {first}: {curse_text(found.winner)}." if found.winner else ""
    adjusted = (
        "The winner has the largest gain with fresh runs among the candidates whose interval is above 1; "
        "noise is that of all contenders. Verdicts of single rows are adjusted for the number of comparisons."
    )
    return tuple(filter(None, (noise_sentence(found.twin), promised, adjusted)))


def place_text(row: ConfirmedRow) -> str:
    """The workload, marked if the search did not measure it."""
    return f"{row.workload} (unseen)" if row.unseen else row.workload


def rival_rows(rival: Rival) -> Sequence[tuple[str, ConfirmedRow]]:
    """What is compared, and its values: the other engine over the default, then candidates over it."""
    pairs = [(f"{rival.label} over the default", row) for row in rival.over_default]
    for number, rows in rival.candidates.items():
        pairs += [(f"try {number} over {rival.label}", row) for row in rows]
    return pairs


def untried_rows(found: SearchFound) -> Sequence[tuple[str, str]]:
    """Options, and what no candidate had of them."""
    return [(each.name, untried_text(each, found)) for each in found.untried]


def untried_text(each: Untried, found: SearchFound) -> str:
    """What no candidate had: "true; nothing between 2 and 10"."""
    described = found.space.engine.description

    def value(text: str) -> str:
        return display_options(described, {each.name: text})[each.name]

    dimension = next(one for one in found.space.dimensions if one.name == each.name)
    gaps = [
        f"nothing between {' and '.join(value(number_text(end, whole=dimension.whole)) for end in gap)}"
        for gap in each.gaps
    ]
    return "; ".join([*map(value, each.values), *gaps])


def number_text(value: float, *, whole: bool) -> str:
    """A number as an option's text."""
    return str(round(value)) if whole else f"{value:.6g}"


def runs_text(one: Try) -> str:
    """The runs of a try: "short", "2", "short + 1"; "–" if it was not measured itself."""
    parts = ["short"] if one.short_seconds else []
    parts += [str(len(one.each))] if one.each else []
    return " + ".join(parts) or "–"


def headline(found: SearchFound) -> str:
    """What the search found, in two sentences."""
    failed = sum(one.gains is None for one in found.tries)
    pruned = sum(one.pruned for one in found.tries)
    tried = f"{found.strategy} tried {len(found.tries)} candidates"
    tried += f", {failed} of which failed" if failed else ""
    tried += f", and dropped {pruned} after a short run" if pruned else ""
    if found.winner is None:
        return f"{tried}. None was shown to be better than the default, which stays."
    fresh, metric = fresh_text(found.winner), found.objectives[0].metric
    return f"{tried}. Try {found.winner.number} is {fresh} times better than the default in {metric}."


def curse_text(each: Confirmed) -> str:
    """The gain in the search, what the search made of it, and the gain in the confirmation."""
    searched, promised = three_digits(each.searched), three_digits(each.promised)
    return f"{searched} in the search, {promised} promised, {fresh_text(each)} with fresh runs"


def fresh_text(each: Confirmed) -> str:
    """How many times better in the confirmation, with its interval: "1.32 (1.21 to 1.44)"; "–": not known."""
    if each.fresh is None:
        return "–"
    value, *ends = (each.fresh.value, each.fresh.low, each.fresh.high)
    interval = [three_digits(end) for end in ends if end is not None]
    return three_digits(value) + (f" ({' to '.join(interval)})" if interval else "")


def gain_text(one: Try, place: int) -> str:
    """How many times better than the default, or why that is not known."""
    return one.failure if one.gains is None else three_digits(math.exp(one.gains[place]))


def trail_csv(found: SearchFound) -> str:
    """A row for each try: number, gains (times better than the default), failure, seconds, what proposed it,
    its repetitions in full length, the gains of its short run, and options.
    """
    names = [each.name for each in found.space.dimensions]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    metrics = [f"gain.{each.metric}" for each in found.objectives]
    short = [f"short.{name}" for name in metrics]
    writer.writerow(["try", *metrics, "failure", "seconds", "origin", "repetitions", *short, *names])
    for one in found.tries:
        options = [one.options.get(name, "") for name in names]
        runs = [f"{one.seconds:.1f}", one.origin, len(one.each)]
        gains, before = (_times_better(each, len(metrics)) for each in (one.gains, one.short))
        writer.writerow([one.number, *gains, one.failure, *runs, *before, *options])
    return out.getvalue()


def _times_better(gains: Sequence[float] | None, count: int) -> list[str]:
    return [""] * count if gains is None else [f"{math.exp(gain):.6g}" for gain in gains]
