"""Loads, ages, volumes and twins as an experiment writes them, and the message for each mistake."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import make_project

from kvdyno.errors import SpecError
from kvdyno.model.experiment import Experiment, Recovery
from kvdyno.spec import load_experiment

Load = Callable[..., Experiment]

PROFILES = """\
quick:
  scale: 1/64
  repetitions: 3
  loads: 5
  age: 2
  timeout: 5min
  phases:
    measure: {volume: 2, seconds: 3s}
"""

TEXT = """\
title: Levels
engines:
  - rocksdb
  - {engine: rocksdb, preset: tuned, options: {bloom_bits: 12}, label: tuned}
  - {engine: rocksdb, preset: tuned, options: {bloom_bits: 12}, label: again, twin_of: tuned}
grid:
  workload: [a]
  dataset: [4GiB]
repetitions: 4
loads: 3
age: 1
phases:
  measure: {volume: 0.5}
profiles:
  quick: {loads: 2}
"""
PLAIN = "title: Levels\nengines: [rocksdb]\ngrid:\n  workload: [a]\n  dataset: [4GiB]\n"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(text: str, *, only: list[str] | None = None) -> Experiment:
        shutil.rmtree(tmp_path / "checkout", ignore_errors=True)
        project = make_project(tmp_path / "checkout", experiment=text)
        (project.experiments / "profiles.yaml").write_text(PROFILES)
        (project.root / "ycsb").write_text("#!/bin/sh\n")
        (project.root / "ycsb").chmod(0o755)
        (project.root / "plots" / "points.py").write_text('TABLE = "percentiles"\nOPTIONS = {}\n')
        return load_experiment("test", project=project, catalog=engines.ageing_catalog(), engines=only)

    return load_text


def test_levels_come_from_the_profile_the_experiment_and_its_profile(load: Load) -> None:
    experiment = load(TEXT)
    assert (experiment.repetitions, experiment.loads) == (4, 2)
    assert experiment.grid["age"] == (1,)
    assert experiment.phases.measure_volume == 0.5
    assert experiment.phases.measure_seconds == 3, "for mixes that write nothing"


def test_levels_that_the_profile_sets_alone(load: Load) -> None:
    experiment = load(PLAIN)
    assert (experiment.loads, experiment.grid["age"], experiment.phases.measure_volume) == (5, (2,), 2)


RECOVERY = PLAIN + "phases: {measure: {seconds: 9s}, recovery: {after: 0.75}}\n"


def test_a_recovery_is_merged_key_by_key(load: Load) -> None:
    assert load(PLAIN).phases.recovery is None
    experiment = load(RECOVERY + "profiles: {quick: {phases: {recovery: {watch: 4s}}}}\n")
    assert experiment.phases.recovery == Recovery(after=0.75, watch_seconds=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RECOVERY.replace("0.75", "1"), "after: expected less than 1"),
        (RECOVERY.replace("0.75", "-0.1"), "after: expected"),
        (RECOVERY.replace("after: 0.75", "watch: 0s"), "watch: expected"),
        (RECOVERY.replace("after", "afters"), "afters"),
        (RECOVERY.replace("after: 0.75", "watch: 1h"), "timeout: expected more than the phases' 3600 s"),
        (
            RECOVERY.replace("seconds: 9s", "bytes: 1GiB, seconds: 9s"),
            "recovery: expected a volume, operations",
        ),
        (
            RECOVERY + "properties: {kill.seconds: 3s}\n",
            "kill.seconds: expected it to be set by phases.recovery",
        ),
    ],
)
def test_mistakes_of_a_recovery_are_found_by_line(load: Load, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load(text)


@pytest.mark.parametrize("end", ["seconds: 9s", "operations: 4e6", "bytes: 1GiB"])
def test_another_end_takes_the_place_of_the_profiles_volume(load: Load, end: str) -> None:
    assert load(PLAIN + f"phases: {{measure: {{{end}}}}}\n").phases.measure_volume is None


def test_twins_are_numbered_and_equal_but_for_the_label(load: Load) -> None:
    twins = [(choice.label, choice.twin_of, choice.twin) for choice in load(TEXT).engines]
    assert twins == [("rocksdb", None, 0), ("tuned", None, 0), ("again", "tuned", 1)]
    (alone,) = load(TEXT, only=["again"]).engines
    assert alone.twin == 1, "a twin is the same whichever engines are selected"


def test_an_age_is_an_axis_that_figures_may_name(load: Load) -> None:
    figure = "figures:\n  - {id: f, kind: bars, x: workload, panels: age, where: {age: 2}}\n"
    assert load(PLAIN + figure).figures[0].where == {"age": (2,)}
    with pytest.raises(SpecError, match=r"unknown value of age '3.*': expected one of 2"):
        load(PLAIN + figure.replace("age: 2", "age: 3"))


def test_a_figure_of_ratios(load: Load) -> None:
    text = TEXT + "figures:\n  - {id: f, kind: bars, x: workload, title: T, ratio_to: tuned}\n"
    assert load(text).figures[0].ratio_to == "tuned"
    left_out = load(text, only=["rocksdb"]).figures[0]
    assert left_out.ratio_to is None
    assert left_out.title == "T (tuned was left out: values, not ratios)"


# What is replaced in TEXT, the line that must be named, what the message must say.
MISTAKES = [
    ("loads: 3\n", "loads: 0\n", 10, "loads: expected at least 1, found 0"),
    ("loads: 3\n", "loads: few\n", 10, "loads: expected a whole number, found 'few'"),
    (
        "loads: 3\n",
        "loads: 5\n",
        10,
        "loads: expected at most the repetitions, 4 at profile 'quick', found 5",
    ),
    ("{loads: 2}", "{loads: 2, repetitions: 1}", 15, "expected at most the repetitions, 1 at"),
    ("{loads: 2}", "{load: 2}", 15, "unknown key 'load'"),
    ("age: 1", "age: -1", 11, "age: expected at least 0, found -1"),
    ("age: 1", "age: old", 11, "age: expected a number, found 'old'"),
    ("dataset: [4GiB]", "dataset: [4GiB]\n  age: [0, 2]", 12, "age: expected a value here or in the grid"),
    ("dataset: [4GiB]", "dataset: [4GiB]\n  volume: [1, 2]", 14, "volume: expected a value here or in the"),
    ("dataset: [4GiB]", "dataset: [4GiB]\n  volume: [0]", 9, "volume: expected at least 0.001, found 0"),
    ("volume: 0.5", "volume: 0", 13, "volume: expected at least 0.001, found 0"),
    ("volume: 0.5", "volume: 0.5, bytes: 1GiB", 13, "expected a volume, or operations and bytes, found both"),
    ("twin_of: tuned", "twin_of: tunde", 5, "unknown engine 'tunde'"),
    ("twin_of: tuned", "twin_of: again", 5, "unknown engine 'again'"),
    ("twin_of: tuned", "twin_of: rocksdb", 5, "preset: expected 'default' as rocksdb has, found 'tuned'"),
    ("twin_of: tuned", "twin_of: rocksdb", 5, "options: expected none as rocksdb has, found bloom_bits: 12"),
    ("label: again", "label: tuned", 5, "label 'tuned' is taken"),
    ("repetitions: 4", "properties: {seed: 3}\nrepetitions: 4", 9, "seed: expected it to be set by loads"),
    ("repetitions: 4", "properties: {mix.seed: 3}\nrepetitions: 4", 9, "to be set by repetitions"),
    ("repetitions: 4", "properties: {age: 3}\nrepetitions: 4", 9, "age: expected it to be set by age"),
    ("engine: rocksdb, preset: tuned, options: {bloom_bits: 12}, label: again, twin_of: tuned",
     "engine: young", 11, "age: expected 0 for young, which cannot settle"),
    ("title: Levels", "title: Levels\nfigures: [{id: f, kind: points, ratio_to: tuned}]", 2,
     "ratio_to: expected one of the kinds bars, found points"),
    ("title: Levels", "title: Levels\nfigures: [{id: f, kind: bars, ratio_to: tunde}]", 2,
     "unknown engine 'tunde'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), MISTAKES)
def test_a_mistake_is_reported_with_its_line(load: Load, old: str, new: str, line: int, message: str) -> None:
    assert TEXT.count(old) == 1, f"{old!r} must stand once"
    with pytest.raises(SpecError) as raised:
        load(TEXT.replace(old, new))
    assert message in str(raised.value)
    assert f"test.yaml:{line}" in str(raised.value)


UPSTREAM = PLAIN.replace("[rocksdb]", "\n  - rocksdb\n  - {external: ycsb, engine: basic}")


def test_an_engine_that_cannot_age_has_young_data_only(load: Load) -> None:
    with pytest.raises(SpecError) as raised:
        load(UPSTREAM)
    assert "test.yaml:4: age: expected 0 for basic-external, which has a driver that cannot age data" in str(
        raised.value
    )
    assert "found 2 at profile 'quick'; set `age: 0`, or leave basic-external out" in str(raised.value)
    assert load(UPSTREAM + "age: 0\n").grid["age"] == (0,)
    with pytest.raises(SpecError, match=r"test.yaml:8: age: expected 0 for basic-external"):
        load(UPSTREAM + "  age: [0, 1]\n")
    assert load(UPSTREAM, only=["rocksdb"]).grid["age"] == (2,), "an engine that is left out needs nothing"


GATE = "gate: {metrics: [%s], margin: 0.05, budget: 1min}\n"


def test_what_judges_loads_alone_names_their_phase(load: Load) -> None:
    text = PLAIN.replace("[a]", "[load]")
    message = r"test.yaml:6: expected phase: build, because every workload of the grid only loads; found run"
    with pytest.raises(SpecError, match=message):
        load(text + GATE % "throughput")
    with pytest.raises(SpecError, match=message):
        load(text + "tables: [{id: t, rows: workload, columns: engine}]\n")
    load(text + GATE % "{metric: throughput, phase: build}, binary.size")
    load(text.replace("[load]", "[load, a]") + GATE % "throughput")


def test_a_measured_load_asks_for_no_age(load: Load) -> None:
    text = PLAIN.replace("[a]", "[load]").replace("[rocksdb]", "[young]")
    assert [choice.label for choice in load(text).engines] == ["young"]
