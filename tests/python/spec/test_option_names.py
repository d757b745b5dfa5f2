"""Options under names that no engine takes: the message names the right spelling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import EXPERIMENT, make_project

from kvdyno.errors import SpecError
from kvdyno.model.engine import Engine
from kvdyno.plan import make_plan
from kvdyno.spec import load_experiment

BINDING = "ycsb-leveldb"
WRITE = "; write `{}` in the `options` of engine {}, whose driver gets it as {}"
RIGHT = WRITE.format("cache_size", BINDING, "ycsb-leveldb.cache_size")
BARE = "; an option of ycsb-leveldb stands in the engine's `options`, without a prefix"


def catalog() -> dict[str, Engine]:
    """The fake engines, and a compiled binding of YCSB-cpp."""
    binding = engines.engine(BINDING)
    description = binding.description.model_copy(update={"accepts_other_options": True})
    return {**engines.catalog(), BINDING: replace(binding, description=description)}


def text_with(*, options: str = "", more: str = "", grid: str = "", first: str = "rocksdb") -> str:
    text = EXPERIMENT.replace("rocksdb, leveldb", f"{first}, {{engine: {BINDING}, options: {{{options}}}}}")
    return f"{text}{grid}{more}"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (text_with(options="leveldb.cache_size: 8"), 2, "expected a name without the engine's" + RIGHT),
        (text_with(options="ycsb-leveldb.cache_size: 8"), 2, "expected a name without the engine's" + RIGHT),
        (text_with(more="properties: {leveldb.cache_size: 8}\n"), 7, RIGHT),
        (text_with(more="properties: {ycsb-leveldb.cache_size: 8}\n"), 7, RIGHT),
        (text_with(more="properties: {cache_size: 8}\n"), 7, BARE),
        (text_with(grid="  leveldb.cache_size: [8, 16]\n"), 7, RIGHT),
        (text_with(grid="  cache_size: [8, 16]\n"), 7, BARE),
        (
            text_with(more="properties: {rocksdb.bloom_bits: 8}\n"),
            7,
            WRITE.format("bloom_bits", "rocksdb", "rocksdb.bloom_bits"),
        ),
    ],
)
def test_a_name_that_no_engine_takes(tmp_path: Path, text: str, line: int, said: str) -> None:
    project = make_project(tmp_path / "checkout", experiment=text)
    with pytest.raises(SpecError) as raised:
        load_experiment("test", project=project, catalog=catalog())
    assert said in str(raised.value)
    assert f"test.yaml:{line}: " in str(raised.value)


def test_two_engines_may_be_meant(tmp_path: Path) -> None:
    text = text_with(first="leveldb", more="properties: {leveldb.cache_size: 8}\n")
    project = make_project(tmp_path / "checkout", experiment=text)
    both = f"as leveldb.cache_size or engine {BINDING}, whose driver gets it as {BINDING}.cache_size"
    with pytest.raises(SpecError, match="of engine leveldb, whose driver gets it ") as raised:
        load_experiment("test", project=project, catalog=catalog())
    assert both in str(raised.value)


def test_a_workload_file_names_the_right_spelling_too(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout", experiment=text_with())
    with (project.workloads / "a.properties").open("a") as stream:
        stream.write("leveldb.cache_size=8\n")
    with pytest.raises(SpecError, match=r"unknown property 'leveldb\.cache_size'") as raised:
        load_experiment("test", project=project, catalog=catalog())
    assert RIGHT in str(raised.value)


def test_the_right_spelling_reaches_the_driver(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout", experiment=text_with(options="cache_size: 8"))
    experiment = load_experiment("test", project=project, catalog=catalog())
    plan = make_plan(experiment, catalog=catalog(), project=project)
    assert plan.points[1].properties["ycsb-leveldb.cache_size"] == "8"


def test_without_a_binding_there_is_no_hint(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout", experiment=EXPERIMENT + "properties: {cache_size: 8}\n")
    with pytest.raises(SpecError) as raised:
        load_experiment("test", project=project, catalog=catalog())
    assert "options" not in str(raised.value)
