"""Points of an upstream ycsb: its own names, and what it cannot be asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import engines

from kvdyno.errors import SpecError

from .helpers import plan_of, point_of

EXPERIMENT = """
title: Upstream
engines: [{external: ycsb, engine: basic, options: {path: /x}}]
grid: {workload: [a], distribution: [zipfian], dataset: [1GiB], threads: [2]}
properties: {zipfian_const: 0.99}
phases: {warmup: 1s, measure: {operations: 6400, seconds: 3s, bytes: 64MiB}}
"""


def test_an_upstream_binary_gets_what_it_knows() -> None:
    point = point_of(EXPERIMENT)
    assert point.phases == ("measure",)
    assert point.properties["operationcount"] == "100"
    assert point.properties["zipfian_const"] == "0.99"
    assert point.properties["basic.path"] == "/x"
    ours = {"measure.seconds", "measure.bytes", "warmup.seconds", "drain", "memory.cap"}
    assert not ours & set(point.properties)
    assert point.dataset is not None
    assert point.dataset.properties["basic.path"] == "/x"


def test_a_compiled_binding_takes_any_option() -> None:
    binding = engines.engine("ycsb-basic")
    description = binding.description.model_copy(update={"accepts_other_options": True})
    catalog = {"ycsb-basic": replace(binding, description=description)}
    text = EXPERIMENT.replace("external: ycsb, engine: basic", "engine: ycsb-basic")
    point = point_of(text, catalog=catalog)
    assert point.properties["ycsb-basic.path"] == "/x"
    assert point.dataset is not None
    assert point.dataset.properties["ycsb-basic.path"] == "/x"
    with pytest.raises(SpecError, match="unknown option of ycsb-basic 'path'"):
        point_of(text, catalog={"ycsb-basic": binding})


def test_the_plan_shows_how_it_ends() -> None:
    (note,) = plan_of(EXPERIMENT).notes
    assert "100 operations" in note
    assert "without warm-up" in note


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("operations: 6400, ", "", "phases.measure.operations"),
        ("properties: {zipfian_const: 0.99}", "", "properties.zipfian_const: 0.99"),
        ("zipfian_const: 0.99", "zipfian_const: 0.8", "found 0.8"),
    ],
)
def test_what_it_cannot_do_is_refused(old: str, new: str, expected: str) -> None:
    text = EXPERIMENT.replace(old, new)
    assert text != EXPERIMENT
    with pytest.raises(SpecError, match="basic-external") as raised:
        plan_of(text)
    assert expected in str(raised.value)


def test_other_distributions_have_no_skew() -> None:
    text = EXPERIMENT.replace("[zipfian]", "[uniform]").replace("properties: {zipfian_const: 0.99}", "")
    assert "zipfian_const" not in point_of(text).properties


def test_a_load_needs_no_end() -> None:
    text = EXPERIMENT.replace("[a]", "[load]").replace("operations: 6400, ", "")
    assert point_of(text).phases == ("load",)
