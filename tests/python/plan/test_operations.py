"""What an engine cannot do is refused before anything runs; and the rows that operations touch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import engines

from kvdyno.errors import SpecError
from kvdyno.model.engine import Engine

from .helpers import plan_of, point_of

TEXT = """\
title: A test
engines: [rocksdb]
grid:
  workload: [a]
  dataset: [64GiB]
properties: {updateproportion: 0, readproportion: 0, %s}
age: 0
phases: {measure: {volume: 0.5, seconds: 3s}}
"""
PROPERTIES = (
    *engines.YCSB_PROPERTIES,
    engines.option("multireadproportion", "real", "0", least=0),
    engines.option("multireadsize", "integer", "10", least=1),
    engines.option("reversescanproportion", "real", "0", least=0),
    engines.option("log", "bool", "true"),
)


def able(*operations: str, skips_log: bool = False) -> dict[str, Engine]:
    """A catalog of one engine that has these operations beside the usual ones."""
    rocks = engines.engine("rocksdb", options=engines.ROCKS_OPTIONS, properties=PROPERTIES)
    has = (*rocks.description.operations, *operations)
    description = rocks.description.model_copy(update={"operations": has, "skips_log": skips_log})
    return {"rocksdb": replace(rocks, description=description)}


def test_an_operation_that_the_engine_lacks_is_refused() -> None:
    text = TEXT % "reversescanproportion: 1"
    with pytest.raises(SpecError, match="a: expected operations that rocksdb has, found reversescan"):
        plan_of(text, catalog=able("multiread"))
    assert plan_of(text, catalog=able("reversescan")).points


def test_writes_without_a_log_need_an_engine_that_can() -> None:
    text = TEXT % "updateproportion: 1, log: false"
    text = text.replace("updateproportion: 0, ", "")
    with pytest.raises(SpecError, match="expected an engine that can write without its log"):
        plan_of(text, catalog=able())
    assert plan_of(text, catalog=able(skips_log=True)).points


def test_a_multi_get_touches_as_many_rows_as_it_has_keys() -> None:
    catalog = able("multiread")
    alone = point_of(TEXT.replace("updateproportion: 0, ", "updateproportion: 1, ") % "scanproportion: 0",
                     catalog=catalog)  # fmt: skip
    mixed = point_of(
        TEXT.replace("updateproportion: 0, ", "updateproportion: 1, ")
        % "multireadproportion: 1, multireadsize: 19",
        catalog=catalog,
    )
    count = int(alone.properties["operationcount"])
    assert int(mixed.properties["operationcount"]) == pytest.approx(count / 10, abs=1)
