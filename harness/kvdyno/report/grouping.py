"""Which question a figure or a table answers: the page sorts them by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .figures import Drawn
from .listings import Listing
from .tables import Grid

#: Groups of the section "Where does it differ?" in the order of the page.
TITLES = {
    "throughput": "Throughput",
    "latency": "Latency",
    "amplification": "Amplification",
    "space": "Space",
    "memory": "Memory and CPU",
}
_BEGINNINGS = (
    ("space", ("space_amplification", "disk.", "debt", "engine.table_bytes")),
    ("amplification", ("write_amplification", "read_amplification", "io.", "cgroup.io.", "bytes.")),
    ("memory", ("memory.", "cgroup.memory.", "cpu.", "faults.", "switches.")),
    ("why", ("engine.", "stall.")),
)
_OVER_TIME = ("timeseries", "timeline")


@dataclass(frozen=True)
class Picture:
    """A figure and the markup that shows it."""

    drawn: Drawn
    markup: str


@dataclass(frozen=True)
class Group:
    """What one part of the page shows; `listing` has every point."""

    name: str
    title: str
    pictures: tuple[Picture, ...]
    grids: tuple[Grid, ...]
    listing: Listing | None


def figure_group(drawn: Drawn) -> str:
    """The part of the page that a figure belongs to."""
    if drawn.spec.kind in _OVER_TIME:
        return "why"
    metrics = drawn.spec.options.get("metrics") or [drawn.spec.metric]
    first = str(metrics if isinstance(metrics, str) else next(iter(metrics)))
    return "latency" if drawn.spec.kind == "percentiles" else metric_group(first)


def metric_group(metric: str) -> str:
    """The part of the page that a metric belongs to."""
    for group, beginnings in _BEGINNINGS:
        if metric.startswith(beginnings):
            return group
    return "latency" if ".latency" in metric or ".service" in metric else "throughput"


def telling_axes(grid: Grid) -> tuple[int, ...]:
    """The places of the row axes in which rows differ; the first if they differ in none."""
    places = range(len(grid.row_axes))
    telling = tuple(at for at in places if len({row[at] for row in grid.rows}) > 1)
    return telling or tuple(places[:1])


def those(
    of: str, pictures: Iterable[Picture], grids: Iterable[Grid]
) -> tuple[tuple[Picture, ...], tuple[Grid, ...]]:
    """The pictures and tables of a group."""
    return (
        tuple(picture for picture in pictures if figure_group(picture.drawn) == of),
        tuple(grid for grid in grids if metric_group(grid.metric) == of),
    )
