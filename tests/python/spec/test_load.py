"""Reading an experiment: what its keys mean, how profiles combine, and the message for each mistake."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import EXPERIMENT, PROFILES, make_project

from kvdyno.errors import EngineError, SpecError, UsageError
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import DeviceLimits, Experiment, Phases
from kvdyno.model.versions import read_versions
from kvdyno.spec import list_experiments, load_experiment, load_profiles

FULL = """\
title: Full
description: All keys.
engines:
  - rocksdb
  - {engine: rocksdb, preset: tuned, options: {bloom_bits: 12, direct_io: true}}
  - {engine: leveldb, label: other}
grid:
  workload: [a, c]
  distribution: zipf-simple
  dataset: [4GiB, 64GB]
  threads: [1, 2]
  bloom_bits: [0, 10]
properties: {fieldlength: 1KiB, sync: true, zipfian_const: 0.9}
cap: 8GiB
repetitions: 4
phases:
  warmup: 2s
  measure: {operations: 4e6, seconds: 1min, bytes: 1GiB}
  drain: false
timeout: 10min
baseline: rocksdb
figures:
  - {id: f, kind: bars, x: dataset, panels: workload, where: {dataset: 64GiB, engine: other}, options: {}}
tables:
  - {id: t, title: Ratios, rows: workload, columns: [engine], ratio_to: rocksdb}
claims:
  - {id: c, text: faster, engine: rocksdb-tuned, relative_to: rocksdb, at_least: 1.3, where: {threads: [2]}}
profiles:
  quick:
    repetitions: 2
    grid: {dataset: [16GiB]}
    phases: {measure: {seconds: 5s}}
"""

Load = Callable[..., Experiment]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(text: str, *, profile: str = "quick", only: list[str] | None = None) -> Experiment:
        shutil.rmtree(tmp_path / "checkout", ignore_errors=True)
        project = make_project(tmp_path / "checkout", experiment=text)
        return load_experiment(
            "test", project=project, catalog=engines.catalog(), profile=profile, engines=only
        )

    return load_text


def test_every_key(load: Load) -> None:
    experiment = load(FULL, profile="paper")
    assert experiment.name == "test"
    assert [choice.label for choice in experiment.engines] == ["rocksdb", "rocksdb-tuned", "other"]
    assert experiment.engines[1].options == {"bloom_bits": "12", "direct_io": "true"}
    assert experiment.grid == {
        "workload": ("a", "c"),
        "distribution": ("zipf-simple",),
        "dataset": (4 << 30, 64 << 30),
        "threads": (1, 2),
        "bloom_bits": (0, 10),
    }
    assert experiment.properties == {"fieldlength": "1024", "sync": "true", "zipfian_const": "0.9"}
    assert experiment.cap_bytes == 8 << 30
    assert experiment.repetitions == 4
    assert experiment.phases == Phases(
        warmup_seconds=2,
        measure_operations=4_000_000,
        measure_seconds=60,
        measure_bytes=1 << 30,
        drain=False,
    )
    assert experiment.timeout_seconds == 600
    assert experiment.figures[0].where == {"dataset": (64 << 30,), "engine": ("other",)}
    assert experiment.figures[0].series == ("engine",)
    assert experiment.tables[0].rows == ("workload",)
    assert experiment.claims[0].where == {"threads": (2,)}


def test_defaults_come_from_the_profile(load: Load) -> None:
    experiment = load(EXPERIMENT)
    assert experiment.profile.scale == 1 / 64
    assert experiment.repetitions == 3
    assert experiment.timeout_seconds == 300
    assert experiment.phases == Phases(warmup_seconds=0.5, measure_seconds=3)
    assert experiment.cap_bytes == 16 << 30


def test_a_profile_of_the_experiment_replaces_axes_and_merges_phases(load: Load) -> None:
    experiment = load(FULL, profile="quick")
    assert experiment.repetitions == 2
    assert experiment.grid["dataset"] == (16 << 30,)
    assert experiment.grid["threads"] == (1, 2)
    assert experiment.phases.measure_seconds == 5
    assert experiment.phases.measure_operations == 4_000_000


def test_selected_engines(load: Load) -> None:
    experiment = load(FULL, only=["other", "chunks"])
    assert [choice.label for choice in experiment.engines] == ["other", "chunks"]
    assert experiment.baseline is None
    assert experiment.tables[0].ratio_to is None
    assert experiment.tables[0].title == "Ratios (rocksdb was left out: values, not ratios)"
    with pytest.raises(UsageError, match=r"unknown engine 'chonks'.*did you mean 'chunks'"):
        load(FULL, only=["chonks"])


def test_ratios_to_an_engine_are_to_the_first_of_its_versions(tmp_path: Path) -> None:
    catalog = engines.catalog()
    catalog |= {f"rocksdb@{version}": catalog["rocksdb"] for version in ("9.9.3", "10.4.2")}
    project = make_project(tmp_path / "checkout", experiment=FULL)
    selected = ["rocksdb@9.9.3", "rocksdb@10.4.2"]
    experiment = load_experiment("test", project=project, catalog=catalog, profile="quick", engines=selected)
    assert experiment.tables[0].ratio_to == "rocksdb"
    assert experiment.tables[0].title == "Ratios"


def test_an_engine_that_is_not_built(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    (project.adapters / "leveldb").mkdir()
    (project.adapters / "leveldb" / "CMakeLists.txt").touch()
    catalog = {"rocksdb": engines.catalog()["rocksdb"]}
    with pytest.raises(EngineError, match="engine 'leveldb' is not built") as raised:
        load_experiment("test", project=project, catalog=catalog)
    assert str(raised.value.where).endswith("test.yaml:2")
    assert "make build" in str(raised.value.remedy)
    (project.experiments / "test.yaml").write_text(EXPERIMENT.replace(", leveldb", ""))
    with pytest.raises(EngineError, match="engine 'leveldb' is not built"):
        load_experiment("test", project=project, catalog=catalog, engines=["leveldb"])


DEVICES = """\
title: Devices
engines: [rocksdb]
grid:
  workload: [a]
  dataset: [4GiB]
  device: [full-speed, sata-ssd]
devices:
  sata-ssd:
    read_bytes_per_second: 500MiB
    write_iops: 90e3
  hdd: {write_bytes_per_second: 150MiB}
figures:
  - {id: f, kind: bars, x: device, where: {device: [hdd]}}
profiles:
  paper: {grid: {device: [hdd]}}
"""


def test_devices_are_named_and_an_axis(load: Load) -> None:
    experiment = load(DEVICES)
    assert experiment.grid["device"] == ("full-speed", "sata-ssd")
    ssd = DeviceLimits(name="sata-ssd", read_bytes_per_second=500 << 20, write_iops=90_000)
    hdd = DeviceLimits(name="hdd", write_bytes_per_second=150 << 20)
    assert experiment.devices == {"sata-ssd": ssd, "hdd": hdd}
    assert experiment.figures[0].where == {"device": ("hdd",)}
    assert (ssd.text, hdd.text) == (
        "reads at most 500 MiB/s; writes at most 90,000/s",
        "writes at most 150 MiB/s",
    )


# What is replaced in DEVICES, the line that must be named, what the message must say.
MISTAKES_OF_DEVICES = [
    ("sata-ssd]", "sata-sdd]", 6, "unknown device 'sata-sdd': expected one of full-speed, sata-ssd, hdd; d"),
    ("[full-speed,", "[fullspeed,", 6, "did you mean 'full-speed'?"),
    ("paper: {grid: {device: [hdd]}}", "paper: {grid: {device: [ssd]}}", 15, "unknown device 'ssd'"),
    ("{grid: {device: [hdd]}}", "{}", 11, "device 'hdd' is not used: expected it on the axis 'device'"),
    ("  hdd: {", "  full-speed: {", 11, "device 'full-speed' is the disk as it is: expected another name"),
    ("{write_bytes_per_second: 150MiB}", "{}", 11, "hdd: expected at least one of read_bytes_per_second, "),
    ("{write_bytes_per_second: 150MiB}", "", 11, "hdd: expected a mapping, found nothing"),
    ("write_iops", "write_ops", 10, "unknown key 'write_ops'"),
    ("90e3", "0", 10, "write_iops: expected more than 0, found 0"),
    ("  hdd: {", "  a/b: {", 11, "a/b: expected letters, digits"),
    ("devices:\n", "device:\n", 7, "did you mean 'devices'?"),
    ("where: {device: [hdd]}", "where: {device: [ssd]}", 13, "unknown value of device 'ssd'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), MISTAKES_OF_DEVICES)
def test_a_mistake_about_devices_is_reported_with_its_line(
    load: Load, old: str, new: str, line: int, message: str
) -> None:
    assert DEVICES.count(old) == 1
    with pytest.raises(SpecError) as raised:
        load(DEVICES.replace(old, new))
    assert message in str(raised.value)
    assert f"test.yaml:{line}" in str(raised.value)


def test_devices_without_their_axis(load: Load) -> None:
    text = EXPERIMENT + "devices: {hdd: {read_iops: 100}}\n"
    with pytest.raises(SpecError, match=r"test.yaml:7: devices: expected an axis 'device' in the grid"):
        load(text)


@pytest.mark.parametrize("source", ["TABLE = table()\nOPTIONS = {}\n", "TABLE = \n"])
def test_a_kind_that_cannot_be_read_names_its_file(source: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout", experiment=EXPERIMENT)
    (project.root / "plots" / "odd.py").write_text(source)
    with pytest.raises(SpecError, match=r"odd.py: expected a module whose TABLE and OPTIONS are literals"):
        load_experiment("test", project=project, catalog=engines.catalog())


def test_names_paths_and_profiles_that_do_not_exist(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    catalog = engines.catalog()
    with pytest.raises(UsageError, match=r"unknown experiment 'tset'.*did you mean 'test'"):
        load_experiment("tset", project=project, catalog=catalog)
    with pytest.raises(UsageError, match="no such experiment file"):
        load_experiment("nowhere/x.yaml", project=project, catalog=catalog)
    with pytest.raises(UsageError, match=r"unknown profile 'quik'.*did you mean 'quick'"):
        load_experiment("test", project=project, catalog=catalog, profile="quik")
    path = project.experiments / "test.yaml"
    assert load_experiment(path, project=project, catalog=catalog).path == path


def changed(old: str, new: str) -> str:
    assert FULL.count(old) == 1, f"{old!r} must stand once"
    return FULL.replace(old, new)


# What is replaced in FULL, the line that must be named, what the message must say.
MISTAKES = [
    ("title: Full", "titel: Full", 1, "unknown key 'titel'"),
    ("title: Full", "titel: Full", 1, "did you mean 'title'?"),
    ("title: Full\n", "", 1, "missing key 'title'"),
    ("title: Full", "title: [", 3, "not YAML"),
    ("title: Full", "title: Full\ntitle: Again", 2, "not YAML: found duplicate key"),
    ("title: Full", "title: 3", 1, "title: expected a text, found 3"),
    ("  - rocksdb\n", "  - rocksbd\n", 4, "unknown engine 'rocksbd': expected one of chunks, leveldb, "),
    ("preset: tuned", "preset: tunde", 5, "unknown preset 'tunde'"),
    ("preset: tuned, ", "presets: tuned, ", 5, "unknown key 'presets'"),
    ("engine: leveldb, label: other", "engine: leveldb, label: rocksdb", 6, "label 'rocksdb' is taken"),
    ("label: other", "label: a/b", 6, "label: expected letters, digits"),
    ("bloom_bits: 12", "bloom_bit: 12", 5, "unknown option of rocksdb 'bloom_bit'"),
    ("bloom_bits: 12", "bloom_bits: many", 5, "bloom_bits: expected a count"),
    ("bloom_bits: 12", "bloom_bits: 65", 5, "bloom_bits: expected at most 64, found 65"),
    ("{engine: leveldb, label: other}", "{external: no/ycsb, engine: x, label: other}", 6, "ycsb binary"),
    ("workload: [a, c]", "workload: [a, x]", 8, "unknown workload 'x': expected one of a, c, e100, load"),
    ("workload: [a, c]\n", "workloads: [a, c]\n", 8, "unknown axis 'workloads'"),
    ("  workload: [a, c]\n", "", 7, "missing axis 'workload'"),
    ("zipf-simple", "zipf-simpel", 9, "unknown value 'zipf-simpel'"),
    ("dataset: [4GiB, 64GB]", "dataset: [4GiB, 64Gib2]", 10, "expected a size like \"64MiB\""),
    ("dataset: [4GiB, 64GB]", "dataset: [0]", 10, "dataset: expected at least 1 B, found 0 B"),
    ("dataset: [4GiB, 64GB]", "dataset: [4GiB, 4096MiB]", 10, "dataset: '4096MiB' stands here twice"),
    ("dataset: [4GiB, 64GB]", "dataset: [-4GiB]", 10, "dataset: expected a size"),
    ("dataset: [4GiB, 64GB]", "dataset: []", 10, "dataset: expected at least 1, found none"),
    ("dataset: [4GiB, 64GB]", "dataset: [[4GiB]]", 10, "expected a single value, found a list"),
    ("threads: [1, 2]", "threads: [0]", 11, "threads: expected at least 1, found 0"),
    ("bloom_bits: [0, 10]", "boom_bits: [0, 10]", 12, "did you mean 'bloom_bits'?"),
    ("bloom_bits: [0, 10]", "recordcount: [5]", 12, "(set by grid.dataset)"),
    ("fieldlength: 1KiB", "fieldlenght: 1KiB", 13, "did you mean 'fieldlength'?"),
    ("fieldlength: 1KiB", "fieldlength: -1", 13, "fieldlength: expected a size"),
    ("zipfian_const: 0.9", "zipfian_const: 0", 13, "zipfian_const: expected at least 0.000001, found 0"),
    ("sync: true", "operationcount: 5", 13, "expected it to be set by phases.measure.operations"),
    ("cap: 8GiB", "cap: 1GiB", 14, "cap: expected at least 24 MiB at profile 'quick', found 1 GiB x"),
    ("cap: 8GiB", "cap: 0", 14, "cap: expected more than 0, found 0"),
    ("repetitions: 4", "repetitions: 0", 15, "repetitions: expected at least 1, found 0"),
    ("repetitions: 4", "repetitions: few", 15, "repetitions: expected a whole number, found 'few'"),
    ("warmup: 2s", "warmup: 2 sec", 17, "warmup: expected a duration"),
    ("operations: 4e6", "operations: 0", 18, "operations: expected more than 0, found 0"),
    ("operations: 4e6", "operation: 4e6", 18, "did you mean 'operations'?"),
    ("drain: false", "drain: maybe", 19, "drain: expected true or false, found 'maybe'"),
    ("timeout: 10min", "timeout: 6s", 20, "timeout: expected more than the phases' 7 s, found 6 s"),
    ("baseline: rocksdb", "baseline: rocks", 21, "unknown engine 'rocks'"),
    ("kind: bars", "kind: bar", 23, "unknown kind of figure 'bar': expected one of bars;"),
    ("kind: bars", "kind: style", 23, "unknown kind of figure 'style'"),
    ("options: {}", "options: {logs: true}", 23, "unknown option of bars 'logs'"),
    ("options: {}", "options: {log: 1}", 23, "log: expected true or false, found 1"),
    ("x: dataset", "x: datasets", 23, "unknown axis 'datasets'"),
    ("panels: workload", "panels: workloda", 23, "did you mean 'workload'?"),
    ("dataset: 64GiB, engine: other", "dataset: 1GiB", 23, "unknown value of dataset '1GiB'"),
    ("dataset: 64GiB, engine: other", "engine: leveldb", 23, "unknown value of engine 'leveldb'"),
    ("id: t,", "id: f,", 25, "id 'f' is taken"),
    ("id: t,", "id: t, phase: runs,", 25, "did you mean 'run'?"),
    ("ratio_to: rocksdb", "ratio_to: leveldb", 25, "unknown engine 'leveldb': expected one of rocksdb, "),
    ("engine: rocksdb-tuned", "engine: rocksdb-tunde", 27, "did you mean 'rocksdb-tuned'?"),
    ("at_least: 1.3, ", "", 27, "claim 'c': expected at_least or at_most, found neither"),
    ("at_least: 1.3", "at_least: 1.3, along: {threads: [2, 1]}", 27, "along or relative_to, found both"),
    ("relative_to: rocksdb,", "along: {thread: [2, 1]},", 27, "unknown axis 'thread'"),
    ("relative_to: rocksdb,", "along: {threads: [2]},", 27, "at least 2"),
    ("  quick:\n", "  quik:\n", 29, "unknown profile 'quik'"),
    ("    repetitions: 2", "    repetition: 2", 30, "did you mean 'repetitions'?"),
    ("grid: {dataset: [16GiB]}", "grid: {datasets: [16GiB]}", 31, "unknown axis 'datasets'"),
    ("{measure: {seconds: 5s}}", "{measure: {seconds: 0}}", 32, "seconds: expected more than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), MISTAKES)
def test_a_mistake_is_reported_with_its_line(load: Load, old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(SpecError) as raised:
        load(changed(old, new))
    assert message in str(raised.value)
    assert f"test.yaml:{line}" in str(raised.value)


def test_the_text_that_mistakes_start_from_has_none(load: Load) -> None:
    load(FULL)


def test_all_mistakes_are_reported_together(load: Load) -> None:
    text = FULL.replace("threads: [1, 2]", "threads: [0]").replace("kind: bars", "kind: bar")
    with pytest.raises(SpecError) as raised:
        load(text)
    assert raised.value.message.startswith("2 mistakes\n")
    assert raised.value.message.index("test.yaml:11: ") < raised.value.message.index("test.yaml:23: ")


def test_an_empty_grid_and_an_empty_file(load: Load) -> None:
    with pytest.raises(SpecError, match="grid: expected at least 1, found none"):
        load("title: x\nengines: [rocksdb]\ngrid: {}\n")
    with pytest.raises(SpecError, match=r"test.yaml:1: the file: expected a mapping, found nothing"):
        load("")


def test_bytes_alone_do_not_end_a_phase(load: Load, tmp_path: Path) -> None:
    project = make_project(tmp_path / "other", experiment=EXPERIMENT + "phases: {measure: {bytes: 1GiB}}\n")
    (project.experiments / "profiles.yaml").write_text("quick: {scale: 1/64, repetitions: 1, timeout: 1h}\n")
    with pytest.raises(
        SpecError, match=r"test.yaml:7: measure: expected a volume, operations or seconds, found bytes alone"
    ):
        load_experiment("test", project=project, catalog=engines.catalog())


def test_a_mistake_in_a_workload_names_the_workloads_line(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    path = project.workloads / "a.properties"
    for text, message in (
        ("# A\nreadproprotion=1\n", "did you mean 'readproportion'?"),
        ("# A\nreadproportion=-1\n", "readproportion: expected at least 0, found -1"),
        ("# A\nreadproportion\n", "expected name=value, found 'readproportion'"),
    ):
        path.write_text(text)
        with pytest.raises(SpecError) as raised:
            load_experiment("test", project=project, catalog=engines.catalog())
        assert message in str(raised.value)
        assert f"{path}:2" in str(raised.value)


def test_an_upstream_binary_draws_only_upstream_distributions(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("leveldb", "{external: ycsb, engine: basic, options: {anything: 1}}")
    project = make_project(tmp_path / "checkout", experiment=text + "  distribution: [zipf-composite]\n")
    (project.root / "ycsb").write_text("#!/bin/sh\n")
    (project.root / "ycsb").chmod(0o755)
    with pytest.raises(
        SpecError, match=r"distribution: unknown value 'zipf-composite'.*zipf-simple, uniform"
    ):
        load_experiment("test", project=project, catalog=engines.catalog())
    (project.experiments / "test.yaml").write_text(text + "  distribution: [zipf-simple]\n")
    choice = load_experiment("test", project=project, catalog=engines.catalog()).engines[1]
    assert (choice.label, choice.external) == ("basic-external", project.root / "ycsb")
    assert choice.options == {"anything": "1"}


def test_profiles(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    assert {name: each.scale for name, each in load_profiles(project).items()} == {
        "paper": 1,
        "quick": 1 / 64,
    }
    path = project.experiments / "profiles.yaml"
    path.write_text(PROFILES.replace("scale: 1/64", "scale: 64"))
    with pytest.raises(
        SpecError, match=r"profiles.yaml:9: scale: expected a scale above 0 and up to 1, found 64"
    ):
        load_profiles(project)
    path.write_text(PROFILES.replace("timeout: 6h", "timeuot: 6h"))
    with pytest.raises(SpecError, match="did you mean 'timeout'"):
        load_profiles(project)


def test_experiments_of_a_folder_carry_its_name(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    folder = project.experiments / "adoc"
    folder.mkdir()
    (project.experiments / "test.yaml").rename(folder / "ycsb.yaml")
    assert [each.name for each in list_experiments(project)] == ["adoc-ycsb"]
    by_name = load_experiment("adoc-ycsb", project=project, catalog=engines.catalog())
    by_path = load_experiment(folder / "ycsb.yaml", project=project, catalog=engines.catalog())
    assert by_name.name == by_path.name == "adoc-ycsb"


def test_a_list_shows_files_that_cannot_be_read(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    (project.experiments / "broken.yaml").write_text("title: [\n")
    broken, good = list_experiments(project)
    assert (broken.name, good.name, good.title) == ("broken", "test", "A test")
    assert "not YAML" in (broken.problem or "")
    assert good.problem is None


VERSIONS = """\
rocks:
  engines: [rocksdb, rocksdb-adoc]
  target: rocks
  library: librocks.so
  headers: include
  versions:
    "11.8.1":
      archive: {registry: crates, name: rocks-sys, version: 1.0.0}
      sha256: "0000000000000000000000000000000000000000000000000000000000000000"
      cpu_minutes: 1
      disk: 1MiB
    "5.17.2":
      archive: {registry: crates, name: rocks-sys, version: 0.1.0}
      sha256: "0000000000000000000000000000000000000000000000000000000000000000"
      cpu_minutes: 1
      disk: 1MiB
      engines: [rocksdb]
"""


@pytest.fixture
def versioned(tmp_path: Path) -> Callable[..., Experiment]:
    def load_text(engine_items: str, *, built: bool = True, only: list[str] | None = None) -> Experiment:
        text = EXPERIMENT.replace("[rocksdb, leveldb]", engine_items)
        project = make_project(tmp_path / "checkout", experiment=text)
        (project.root / "engines" / "versions.yaml").write_text(VERSIONS)
        for name in ("rocksdb", "rocksdb-adoc", "leveldb"):
            folder = project.adapters / name
            folder.mkdir()
            (folder / "CMakeLists.txt").touch()
        catalog = dict(engines.catalog())
        if built:
            catalog |= {"rocksdb@11.8.1": catalog["rocksdb"], "rocksdb@system": catalog["rocksdb"]}
        return load_experiment("test", project=project, catalog=catalog, engines=only)

    return load_text


def test_versions_of_one_engine_have_labels_of_their_own(versioned: Load) -> None:
    found = versioned("[rocksdb, rocksdb@11.8.1, {engine: rocksdb@11.8.1, preset: tuned}]")
    assert [(each.engine, each.version, each.label) for each in found.engines] == [
        ("rocksdb", None, "rocksdb"),
        ("rocksdb", "11.8.1", "rocksdb@11.8.1"),
        ("rocksdb", "11.8.1", "rocksdb@11.8.1-tuned"),
    ]


def test_versions_may_be_named_for_an_experiment_without_them(versioned: Load) -> None:
    found = versioned("[rocksdb, leveldb]", only=["rocksdb@11.8.1", "rocksdb@system"])
    assert [each.key for each in found.engines] == ["rocksdb@11.8.1", "rocksdb@system"]


def test_a_version_that_does_not_exist(versioned: Load) -> None:
    with pytest.raises(
        EngineError, match=r"unknown version of rocksdb '11\.8\.2': .* did you mean '11\.8\.1'"
    ):
        versioned("[rocksdb@11.8.2]")


def test_a_version_that_the_adapter_does_not_build_with(versioned: Load) -> None:
    with pytest.raises(
        EngineError,
        match=r"unknown version of rocksdb-adoc '5\.17\.2': expected one of system, 11\.8\.1",
    ):
        versioned("[rocksdb-adoc@5.17.2]")


def test_a_version_for_an_engine_of_another_library(tmp_path: Path) -> None:
    project = make_project(tmp_path / "checkout")
    (project.root / "engines" / "versions.yaml").write_text(
        VERSIONS.replace("engines: [rocksdb]", "engines: [leveldb]")
    )
    with pytest.raises(
        SpecError, match=r"versions: 5\.17\.2: unknown engine 'leveldb': expected one of rocksdb"
    ):
        read_versions(project)


def test_an_engine_without_versions(versioned: Load) -> None:
    with pytest.raises(EngineError, match=r"unknown version of leveldb '1\.23': expected one of system"):
        versioned("[leveldb@1.23]")


@pytest.mark.parametrize("only", [None, ["rocksdb@11.8.1"]])
def test_a_version_that_is_not_built(versioned: Load, only: list[str] | None) -> None:
    with pytest.raises(EngineError, match=r"engine 'rocksdb@11\.8\.1' is not built") as raised:
        versioned("[rocksdb, rocksdb@11.8.1]", built=False, only=only)
    assert raised.value.remedy == "kvdyno engines build rocksdb@11.8.1"


class Stale(dict[str, Engine]):
    """A catalog whose leveldb was built from other sources."""

    def __getitem__(self, name: str) -> Engine:
        if name == "leveldb":
            raise EngineError("stale", where=name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return bool(self[str(name)])


def test_an_engine_that_is_not_wanted_need_not_be_built(tmp_path: Path) -> None:
    text = FULL.replace("bloom_bits: [0, 10]", "bloom_bits: [0, 10]\n  its_own: [1, 2]").replace(
        "x: dataset,", "x: its_own,"
    )
    project = make_project(tmp_path, experiment=text)
    adapter = project.adapters / "leveldb"
    adapter.mkdir()
    for file in ("CMakeLists.txt", "packages.txt"):
        (adapter / file).touch()
    catalog = engines.catalog()
    missing = {name: engine for name, engine in catalog.items() if name != "leveldb"}
    for known in (Stale(catalog), missing):
        found = load_experiment("test", project=project, catalog=known, engines=["rocksdb"])
        assert [choice.label for choice in found.engines] == ["rocksdb"]
        assert "its_own" not in found.grid, "only the missing one can know it"
        assert found.figures[0].where["engine"] == ("other",)
        with pytest.raises(EngineError, match=r"stale|not built"):
            load_experiment("test", project=project, catalog=known)
        with pytest.raises(EngineError, match=r"stale|not built"):
            load_experiment("test", project=project, catalog=known, engines=["rocksdb", "other"])
    with pytest.raises(SpecError, match="unknown axis 'its_own'"):
        load_experiment("test", project=project, catalog=catalog, engines=["rocksdb"])
