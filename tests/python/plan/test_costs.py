"""What drivers describe of a run's costs: sums of products, and how near the sampling driver's are."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import engines

from kvdyno.catalog import local_engine
from kvdyno.model.engine import Cost, Engine
from kvdyno.model.project import Project

from .helpers import plan_of, point_of

TEXT = """\
title: A test
engines: [rocksdb]
grid:
  workload: [a]
  dataset: [64GiB]
  threads: [2]
properties: {fieldcount: 1, fieldlength: 800}
cap: 16GiB
phases: {warmup: 1s, measure: {operations: 80e6}}
"""


def costing(*costs: Cost) -> dict[str, Engine]:
    known = dict(engines.catalog())
    described = known["rocksdb"].description.model_copy(update={"costs": costs})
    return {**known, "rocksdb": replace(known["rocksdb"], description=described)}


def test_costs_are_sums_of_products_of_what_is_in_force() -> None:
    name, choice = next((o.name, o.default) for o in engines.catalog()["rocksdb"].description.options)
    known = costing(
        Cost(of="memory", amount=1000, times=()),
        Cost(of="memory", amount=2, times=("fieldlength", "threadcount")),
        Cost(of="memory", amount=1, times=("fieldlength",), where={name: "something else"}),
        Cost(of="time", amount=0.5, times=("threadcount",)),
        Cost(of="disk", amount=3, times=("fieldlength",)),
    )
    point = point_of(TEXT, catalog=known)
    assert choice != "something else"
    assert point.expected_memory_bytes == 1000 + 2 * 800 * 2
    assert point.expected_seconds == pytest.approx(0.7 + 0.5 * 2)
    assert point.expected_disk_bytes == 3 * 800


def test_a_driver_that_describes_no_costs_has_no_memory() -> None:
    assert point_of(TEXT).expected_memory_bytes == 0


def test_a_changed_file_of_records_is_another_point(tmp_path: Path) -> None:
    known = dict(engines.catalog())
    described = known["rocksdb"].description
    named = engines.option("records.file", "text", "")
    description = described.model_copy(update={"properties": (*described.properties, named)})
    known["rocksdb"] = replace(known["rocksdb"], description=description)
    file = tmp_path / "records.csv"
    text = TEXT.replace("fieldlength: 800}", f"fieldlength: 800, records.file: {file}}}")
    missing = point_of(text, catalog=known).identity
    file.write_text("key,value,weight\n1,1,1\n")
    whole = point_of(text, catalog=known).identity
    assert point_of(text, catalog=known).identity == whole != missing
    file.write_text("key,value,weight\n1,1,1\n2,2,2\n")
    assert point_of(text, catalog=known).identity != whole


SAMPLING = """\
title: A test
engines:
  - {engine: sampling, label: index}
  - {engine: sampling, label: leveling, options: {layout: leveling}}
  - {engine: sampling, label: tombstones, options: {deletes: tombstones}}
  - {engine: sampling, label: ranges, options: {structure: weighted-range}}
  - {engine: sampling, label: uniform, options: {structure: uniform-range}}
  - {engine: sampling, label: external, options: {storage: external, memory_levels: 0, memory_bytes: 16MiB}}
  - {engine: sampling, label: static-alias, options: {sampler: static-alias}}
  - {engine: sampling, label: fenwick-tree, options: {sampler: fenwick-tree}}
  - {engine: sampling, label: aggregate-tree, options: {sampler: aggregate-tree}}
  - {engine: sampling, label: reservoir, options: {sampler: reservoir}}
grid:
  records: [500000]
  delete.share: [0.05, 0.25]
properties: {queries: 2}
cap: 1GiB
"""


def test_the_sampling_driver_needs_about_what_it_describes(tmp_path: Path) -> None:
    project = Project.find(start=Path(__file__))
    binary = Path(os.environ.get("KVDYNO_BUILD", project.root / "build")) / "bin" / "kvdyno-sampling"
    assert binary.is_file(), "kvdyno-sampling is not built: run `make build` first"
    known = {"sampling": local_engine(binary, adapters=project.adapters)}
    for point in plan_of(SAMPLING, profile="paper", catalog=known).points:
        folder = tmp_path / point.slug
        places = {"data.dir": str(folder / "data"), "output.dir": str(folder / "output")}
        arguments = [f"{name}={value}" for name, value in {**point.properties, **places}.items()]
        subprocess.run([binary, *(word for each in arguments for word in ("-p", each))], check=True)
        outcome = json.loads((folder / "output" / "outcome.json").read_text())
        peak = max(phase["metrics"]["memory.peak_rss"]["value"] for phase in outcome["phases"])
        assert 0.5 * point.expected_memory_bytes < peak < 1.1 * point.expected_memory_bytes, point.slug
