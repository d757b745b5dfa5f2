"""Discovery: what engines say of themselves, and every way in which they fail to."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import describing_script, make_driver, make_project

from kvdyno import catalog
from kvdyno.catalog import describing
from kvdyno.errors import EngineError, SpecError
from kvdyno.model.engine import Preset
from kvdyno.model.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("KVDYNO_BUILD", raising=False)
    return make_project(tmp_path)


def add_rocksdb(project: Project, *, presets: str | None = None) -> None:
    description = engines.describe("rocksdb", options=engines.ROCKS_OPTIONS)
    make_driver(project, "rocksdb", script=describing_script(description))
    if presets is not None:
        folder = project.adapters / "rocksdb"
        folder.mkdir()
        (folder / "presets.yaml").write_text(presets)


def test_finds_engines_with_their_presets_in_canonical_spelling(project: Project) -> None:
    add_rocksdb(
        project,
        presets="""
default: {summary: as is, options: {}}
tuned: {summary: for reads, options: {block_cache: 5GiB, bloom_bits: 10, direct_io: true}}
""",
    )
    make_driver(project, "leveldb", script=describing_script(engines.describe("leveldb")))
    found = catalog.discover(project)
    assert list(found) == ["leveldb", "rocksdb"]
    assert found["leveldb"].presets == {"default": Preset()}
    options = {"block_cache": str(5 << 30), "bloom_bits": "10", "direct_io": "true"}
    assert found["rocksdb"].presets["tuned"] == Preset(options, "for reads")


def test_the_hash_is_the_binarys(project: Project) -> None:
    add_rocksdb(project)
    before = catalog.discover(project)["rocksdb"].binary_sha256
    path = project.binaries / "kvdyno-rocksdb"
    path.write_text(path.read_text() + "# another build\n")
    assert catalog.discover(project)["rocksdb"].binary_sha256 != before


def test_nothing_built(project: Project) -> None:
    with pytest.raises(EngineError, match=r"no engine is built") as raised:
        catalog.discover(project)
    assert raised.value.remedy == "make build"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('cannot open librocks')", "found status 1 | cannot open librocks"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "found signal 11"),
        ("print('hello')", "expected JSON, found"),
        ("print('[]')", "$: expected object"),
        ("print('{}')", "$: 'schema_version' is a required property"),
        ("print('{\"x\": NaN}')", "NaN is not a number"),
    ],
)
def test_a_driver_that_does_not_describe_itself(project: Project, script: str, message: str) -> None:
    binary = make_driver(project, "broken", script=script)
    with pytest.raises(EngineError) as raised:
        catalog.discover(project)
    assert message in raised.value.message
    assert raised.value.where == f"{binary} --describe"


def test_a_driver_that_hangs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "DESCRIBE_SECONDS", 0.2)
    make_driver(project, "stuck", script="import time; time.sleep(60)")
    with pytest.raises(EngineError, match="no answer within"):
        catalog.discover(project)


def test_a_binary_that_cannot_be_run(project: Project) -> None:
    make_driver(project, "rocksdb", script="").chmod(0o644)
    with pytest.raises(EngineError, match="cannot be run: Permission denied"):
        catalog.discover(project)


def test_a_binary_under_another_name(project: Project) -> None:
    make_driver(project, "rocks", script=describing_script(engines.describe("rocksdb")))
    with pytest.raises(EngineError, match="expected engine 'rocks', found 'rocksdb'"):
        catalog.discover(project)


@pytest.mark.parametrize(
    ("presets", "message"),
    [
        ("default: {summary: x, options: {blom_bits: 1}}", "did you mean 'bloom_bits'?"),
        ("default: {summary: x, options: {bloom_bits: 65}}", "bloom_bits: expected at most 64, found 65"),
        ("default: {summary: x, options: {compression: zip}}", "unknown value 'zip'"),
        ("default: {summary: x, option: {}}", "presets.yaml:1: unknown key 'option'"),
        (
            "default:\n  summary: x\n  options:\n    bloom_bits: [1]",
            "presets.yaml:4: bloom_bits: expected a text",
        ),
        ("tuned: {summary: x}", "expected presets by name, among them 'default'"),
        ("default: {summary: x", "not YAML"),
    ],
)
def test_a_wrong_preset_file(project: Project, presets: str, message: str) -> None:
    add_rocksdb(project, presets=presets)
    with pytest.raises(SpecError) as raised:
        catalog.discover(project)
    assert message in str(raised.value)
    assert "presets.yaml" in str(raised.value)


@pytest.mark.parametrize("harm", [b"default: \xff\n", b"default: \x07\n", b"default: !!int [x]\n"])
def test_a_preset_file_that_is_no_text_is_an_error_of_the_file(project: Project, harm: bytes) -> None:
    add_rocksdb(project, presets="")
    (project.adapters / "rocksdb" / "presets.yaml").write_bytes(harm)
    with pytest.raises(SpecError) as raised:
        catalog.discover(project)
    assert "presets.yaml" in str(raised.value.where)
