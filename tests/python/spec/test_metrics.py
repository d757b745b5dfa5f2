"""A figure, table or claim about a metric that nothing measures is a mistake, with the nearest metric."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import engines
from fakes.projects import EXPERIMENT, make_project

from kvdyno.errors import SpecError
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import Experiment
from kvdyno.spec import load_experiment

KINDS = {"percentiles": "percentiles", "timeseries": "series", "timeline": "timeline", "choice": "choice"}


def catalog(**counters: tuple[str, ...] | None) -> dict[str, Engine]:
    """The fake engines with these counters of their own; the others have none."""
    found = engines.catalog()
    return {name: replace(each, counters=counters.get(name, ())) for name, each in found.items()}


def load(root: Path, section: str, **counters: tuple[str, ...] | None) -> Experiment:
    project = make_project(root / "checkout", experiment=f"{EXPERIMENT}{section}\n")
    for kind, table in KINDS.items():
        (project.root / "plots" / f"{kind}.py").write_text(f'TABLE = "{table}"\nOPTIONS = {{}}\n')
    options = 'TABLE = "estimates"\nOPTIONS = {"metrics": "words"}\n'
    (project.root / "plots" / "measures.py").write_text(options)
    return load_experiment("test", project=project, catalog=catalog(**counters))


@pytest.mark.parametrize(
    ("section", "wrong", "close"),
    [
        ("figures: [{id: f, kind: bars, x: workload, metric: thruput}]", "thruput", "throughput"),
        ("figures: [{id: f, kind: bars, x: workload, metric: read.latency}]", "read.latency", "read.latency"),
        ("figures: [{id: f, kind: measures, options: {metrics: [seconds, debts]}}]", "debts", "debt"),
        ("figures: [{id: f, kind: percentiles, metric: raed}]", "raed", "read"),
        (
            "figures: [{id: f, kind: timeseries, metric: read.latency.p95}]",
            "read.latency.p95",
            "read.latency",
        ),
        ("figures: [{id: f, kind: timeline, metric: engine.level_files}]", "engine.level_files", "engine."),
        ("tables: [{id: t, rows: workload, columns: engine, metric: disk.use}]", "disk.use", "disk.used"),
        ("claims: [{id: c, text: x, engine: rocksdb, metric: cpu.usr, at_least: 1}]", "cpu.usr", "cpu.user"),
        ("metrics: [{id: share, sum: cpu.usr}]", "cpu.usr", "cpu.user"),
        ("metrics: [{id: share, sum: cpu.user, over: [cpu.user, cpu.sys]}]", "cpu.sys", "cpu.system"),
        (
            "tables: [{id: t, rows: workload, columns: engine, metric: stall.per_write}]",
            "stall.per_write",
            "",
        ),
    ],
)
def test_a_metric_that_nothing_measures(tmp_path: Path, section: str, wrong: str, close: str) -> None:
    with pytest.raises(SpecError, match=f"unknown metric '{wrong}'") as raised:
        load(tmp_path, section, leveldb=("level0_files",))
    assert (f"did you mean '{close}" in str(raised.value)) == bool(close)
    assert "`kvdyno describe <engine> --metrics`" in str(raised.value)
    assert str(raised.value.where).endswith("test.yaml:7")


@pytest.mark.parametrize(
    "section",
    [
        "figures: [{id: f, kind: bars, x: workload, metric: engine.level0_files}]",
        "figures: [{id: f, kind: timeline, metric: engine.level0_files}]",
        "figures: [{id: f, kind: percentiles, metric: update.latency}]",
        "figures: [{id: f, kind: percentiles, metric: read.service}]",
        "figures: [{id: f, kind: measures, options: {metrics: [seconds, scan.service.p99.9]}}]",
        "tables: [{id: t, rows: workload, columns: engine, metric: stall.per_write}]",
    ],
)
def test_a_metric_that_one_engine_has_is_fine(tmp_path: Path, section: str) -> None:
    assert load(tmp_path, section, leveldb=("level0_files", "stall_micros"))


def test_counters_that_are_not_known_may_have_any_name(tmp_path: Path) -> None:
    section = "figures: [{id: f, kind: bars, x: workload, metric: engine.anything}]"
    assert load(tmp_path, section, leveldb=None)


DERIVED = """metrics: [{id: user.share, sum: cpu.user, over: [cpu.user, cpu.system]}]
tables: [{id: t, rows: workload, columns: engine, metric: user.share}]
"""


def test_a_derived_metric_is_one_for_figures_tables_and_claims(tmp_path: Path) -> None:
    experiment = load(tmp_path, DERIVED)
    assert [(m.id, m.sum, m.over) for m in experiment.metrics] == [
        ("user.share", ("cpu.user",), ("cpu.user", "cpu.system"))
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("id: user.share", "id: cpu.user"), "metric 'cpu.user' is one that runs have"),
        (("metric: user.share", "metric: user.shar"), "did you mean 'user.share'?"),
        (("sum: cpu.user,", "sum: [],"), "sum"),
        (("over: [cpu.user, cpu.system]", "over: [user.share]"), "unknown metric 'user.share'"),
        (("sum: cpu.user,", "sum: cpu.user, over_axis: datasets,"), "did you mean 'dataset'?"),
        (("sum: cpu.user,", "sum: cpu.user, over_axis: workload,"), "expected an axis of numbers above 0"),
        (("sum: cpu.user,", "sum: cpu.user, over_log: datasets,"), "did you mean 'dataset'?"),
        (("sum: cpu.user,", "sum: cpu.user, over_log: workload,"), "expected an axis of numbers above 1"),
    ],
)
def test_a_derived_metric_that_is_wrong(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        load(tmp_path, DERIVED.replace(*change))


CHOICE = """figures: [{id: f, kind: choice, x: workload, metric: read.latency.mean,
  against: {metric: throughput, mix: reads per update}}]
"""


def test_a_choice_between_mixes_has_two_costs(tmp_path: Path) -> None:
    (figure,) = load(tmp_path, CHOICE).figures
    assert figure.against is not None
    assert (figure.against.metric, figure.against.phase) == ("throughput", "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("against: {metric: throughput, mix: reads per update}", "title: x"), "choice: expected against"),
        (("metric: throughput", "metric: throughputs"), "did you mean 'throughput'?"),
        (("mix: reads", "phase: measured, mix: reads"), "did you mean 'measure'?"),
        (("kind: choice", "kind: bars"), "against: expected one of the kinds choice, found bars"),
        ((", mix: reads per update", ""), "mix"),
    ],
)
def test_a_choice_that_is_wrong(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in CHOICE
    with pytest.raises(SpecError, match=re.escape(message)):
        load(tmp_path, CHOICE.replace(*change))
