"""A history as one HTML file: every track drawn over its revisions, and where the latest stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined

import plots
from kvdyno.model.history import Standing
from plots import Binding, revisions
from plots.units import change_text, quantity

from . import looks
from .files import make_folder, write_text
from .html import template_text
from .pictures import embedded
from .words import metric_title

_ACROSS_HOSTS = "Hosts differ in speed, so only ratios to an anchor that ran beside are drawn together."


@dataclass(frozen=True)
class Chapter:
    """A metric of a suite: its picture's markup, what that shows, and where its tracks stand."""

    title: str
    note: str
    picture: str
    rows: tuple[Standing, ...]


def write_page(standings: Sequence[Standing], *, out: Path) -> Path:
    """Write `out`/history.html and `out`/figures/. Raises StoreError if something cannot be written."""
    folder = out / "figures"
    make_folder(folder)
    suites: dict[str, list[Chapter]] = {}
    for number, ((suite, metric), tracks) in enumerate(_grouped(standings)):
        stem = folder / f"history-{number}"
        suites.setdefault(suite, []).append(_chapter(metric, tracks, stem=stem))
    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(quantity=quantity, percent=change_text)
    text = environment.get_template("history.html.j2").render(
        suites=suites,
        hosts=sorted({each.track.host for each in standings}),
        entries=sum(len(each.entries) for each in standings),
        colour_rules=looks.colour_rules(),
    )
    return write_text(out / "history.html", text)


def _grouped(standings: Iterable[Standing]) -> Iterator[tuple[tuple[str, str], list[Standing]]]:
    """The tracks of each suite and metric, in the order in which they appear."""
    found: dict[tuple[str, str], list[Standing]] = {}
    for each in standings:
        found.setdefault((each.track.suite, each.track.metric), []).append(each)
    return iter(found.items())


def _chapter(metric: str, tracks: Sequence[Standing], *, stem: Path) -> Chapter:
    """One picture of what may stand on one scale: ratios to one anchor, else one host's values."""
    anchors = {entry.anchor for each in tracks for entry in each.entries}
    if len(anchors) == 1 and (anchor := anchors.pop()):
        table, unit, note = _table(tracks, ratios=True), "ratio", f"Ratios to {anchor}, paired in each sweep."
    else:
        host = tracks[0].track.host
        tracks_there = [each for each in tracks if each.track.host == host]
        table, unit = _table(tracks_there, ratios=False), tracks[0].track.unit
        note = (
            f"Values on host {host}."
            if len(tracks_there) == len(tracks)
            else f"Values on host {host}. {_ACROSS_HOSTS}"
        )
    binding = Binding(
        x="revision", series=("subject",), panels=("point",), label=metric_title(metric), unit=unit,
        reference=1.0 if unit == "ratio" else None,
    )  # fmt: skip
    figure = revisions.draw(table, binding)
    files = plots.save(figure, stem)
    picture = embedded(files.svg, name=stem.name, alt=f"{metric_title(metric)} over revisions. {note}")
    return Chapter(metric_title(metric), note, picture, tuple(tracks))


def _table(tracks: Sequence[Standing], *, ratios: bool) -> pd.DataFrame:
    """A row per entry, in the order of time: so the revisions of several subjects stand on one axis."""
    several = len({each.track.host for each in tracks}) > 1
    rows: list[Mapping[str, Any]] = [
        {
            "revision": entry.revision,
            "subject": f"{entry.subject}, {entry.host}" if several else entry.subject,
            "point": entry.point,
            **(_values(entry.ratio, entry.ratio_low, entry.ratio_high) if ratios else
               _values(entry.value, entry.low, entry.high)),
        }
        for entry in sorted((e for each in tracks for e in each.entries), key=lambda e: e.at)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _values(value: float | None, low: float | None, high: float | None) -> Mapping[str, float]:
    numbers = {"value": value, "low": low, "high": high}
    return {name: float("nan") if number is None else number for name, number in numbers.items()}
