"""How the harness speaks to a driver: command line and places in, an outcome out (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.axes import REOPEN_FROM
from kvdyno.model.point import Point
from kvdyno.model.record import Outcome
from kvdyno.model.schema import parse_json, validate

from .cage import Places
from .watch import Ending

LOG = "driver.log"
OUTCOME = "outcome.json"
PROPERTIES = "point.properties"

_RUN_PHASES = frozenset({"warmup", "rest", "measure", "drain"})


class Driver(Protocol):
    """A kind of driver: how it is called, and how it reports what happened."""

    def argv(self, places: Places) -> list[str]:
        """The command line; the point's properties are in PROPERTIES below `places.output`."""

    def tick(self, pids: Sequence[int]) -> None:
        """Called a few times a second with the ids of the living processes."""

    def collect(self, output: Path, *, ending: Ending) -> tuple[Outcome | None, str]:
        """What the output folder holds; or None, and why that is no usable outcome."""


class NativeDriver:
    """A driver of this project: writes outcome.json itself."""

    def __init__(self, point: Point, *, reopens: str = "") -> None:
        """`reopens`: the folder below its output where a killed driver left its files."""
        self._point = point
        self._reopens = reopens

    def argv(self, places: Places) -> list[str]:
        """See Driver. Places are flags, so that the property file alone holds what was asked."""
        return [
            str(self._point.engine.binary),
            *(ycsb_flags(self._point.phases) if self._takes_flags else ()),
            *("-P", str(places.output / PROPERTIES)),
            *("-p", f"data.dir={places.store}"),
            *("-p", f"output.dir={places.output}"),
            *("-p", f"progress.fd={places.progress_fd}"),
            *(("-p", f"{REOPEN_FROM}={places.output / self._reopens}") if self._reopens else ()),
        ]

    @property
    def _takes_flags(self) -> bool:
        """Flags choose between load and measured phase; a driver without the latter runs all of its own."""
        return "measure" in self._point.engine.description.phases

    def tick(self, pids: Sequence[int]) -> None:
        """Such a driver counts by itself."""

    def collect(self, output: Path, *, ending: Ending) -> tuple[Outcome | None, str]:
        """See Driver. A half-written outcome is as good as none."""
        del ending
        path = output / OUTCOME
        try:
            document = parse_json(path.read_bytes(), where=OUTCOME)
            validate(document, schema="outcome", where=OUTCOME)
            return Outcome.model_validate(document), ""
        except FileNotFoundError:
            return None, f"it left no {OUTCOME}"
        except (OSError, StoreError, ValidationError) as failure:
            return None, f"its outcome cannot be used: {failure}"


def ycsb_flags(phases: Sequence[str]) -> list[str]:
    """`-load` and `-run`, as the phases need them."""
    load = ["-load"] if "load" in phases else []
    run = ["-run"] if _RUN_PHASES & set(phases) else []
    return load + run


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a property file. Raises OSError."""
    path.write_text("".join(f"{name}={properties[name]}\n" for name in sorted(properties)), "utf-8")
