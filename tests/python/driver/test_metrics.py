"""What drivers report is what experiments may name: the lists of metrics and of counters are complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.catalog import local_engine
from kvdyno.model.engine import Engine
from kvdyno.model.metrics import metrics_of
from kvdyno.model.project import Project

from .test_contract import DRIVERS, MIX, SMALL, Left, drive

PROJECT = Project.find(start=Path(__file__))

#: Makes engines report what they only report when asked.
_ASKED = {"statistics": "true"}
#: A driver reports these where the machine offers them, in long phases, of mixes that delete nothing, of
#: components that answered a timed get, and of stores that a killed run left.
_MAYBE = ("cgroup.", "throughput.time_to_90", "space_amplification", "component.", "recovery.")


def _operation(name: str) -> str | None:
    """The operation whose share the property is."""
    return name.removesuffix("proportion") if name.endswith("proportion") else None


def everything(engine: Engine, folder: Path) -> Left:
    """A load and every operation that the engine has.

    They run in an open loop with a probe; those of keys and values with writes beside it, too.
    """
    if engine.name == "sampling":
        paced = {"target": 1000, "update.target": 50000, "queries": 20, "probe.interval": "1ms"}
        left = drive(folder, {"records": 5000, "update.samplers": 1, **paced}, binary=engine.binary)
        assert left.status == 0, left.err
        return left
    known = {option.name for option in engine.description.options}
    options = {f"{engine.name}.{name}": text for name, text in _ASKED.items() if name in known}
    paced: Mapping[str, object] = {"target": 20000, "operationcount": 4000, "probe.interval": "10ms"}
    beside = {"background.write_rate": "1MiB"}
    mix = {n: v for n, v in MIX.items() if _operation(n) in (None, *engine.description.operations)}
    left = drive(folder, {**SMALL, **mix, **options, **paced, **beside, "settle": "true", "drain": "true"},
                 "-load", "-run", binary=engine.binary)  # fmt: skip
    assert left.status == 0, left.err
    return left


@pytest.mark.parametrize("binary", DRIVERS, ids=lambda path: path.name)
def test_every_metric_is_listed_and_every_listed_one_is_reported(binary: Path, tmp_path: Path) -> None:
    engine = local_engine(binary, adapters=PROJECT.adapters)
    listed = metrics_of(engine)
    assert listed is not None
    left = everything(engine, tmp_path)
    reported = {"seconds"} | {name for phase in left.outcome["phases"] for name in phase["metrics"]}
    assert reported - set(listed.phases) == set()
    assert {name for name in listed.phases if not name.startswith(_MAYBE)} - reported == set()
    assert set(left.outcome["series"]["columns"]) - set(listed.series) == set()
    assert {tag.partition(".")[2] for tag in left.histograms()} - set(listed.histograms) == set()


@pytest.mark.parametrize("binary", DRIVERS[:1], ids=lambda path: path.name)
def test_of_counters_that_are_not_known_components_may_be_timed(binary: Path) -> None:
    engine = local_engine(binary, adapters=PROJECT.adapters)
    offer = metrics_of(replace(engine, counters=None))
    assert offer is not None
    assert offer.has("component.log.p50_us", table="estimates")
    assert offer.has("engine.log_gets", table="estimates")
    assert not offer.has("component.log.p50_us", table="percentiles")
