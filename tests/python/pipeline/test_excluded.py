"""Excluded hosts: on record with a reason, measuring no more, counted nowhere, and all of it undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvdyno import pipeline
from kvdyno.errors import HostError, StoreError, UsageError
from kvdyno.model.point import Plan
from kvdyno.model.project import Project
from kvdyno.pipeline.excluded import excluded_nodes, keep_node
from kvdyno.runner import host_id
from kvdyno.store import RunStore

from .conftest import SWEEP_ID, keys, put_on_five_hosts
from .test_sweep import UNCAPPED, Diary

OTHER = "b" * 12


@pytest.fixture
def shared(project: Project, whole: Plan) -> Project:
    """All is measured: the first repetition here, the second on another host."""
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    for path in project.runs.glob("*/*/record.json"):
        record = json.loads(path.read_text())
        if record["repetition"] == 2 and not record["point"]["slug"].endswith(".load"):
            record["environment"]["host_id"] = OTHER
            path.write_text(json.dumps(record))
    return project


def hosts_of(project: Project, whole: Plan) -> dict[str, int]:
    """How many runs of each host a report takes."""
    found = [r.environment.host_id for r in pipeline.stored(project, whole, uncapped=True).values()]
    return {host: found.count(host) for host in found}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_host_is_excluded_with_the_reason_and_the_gauges_of_then(project: Project, whole: Plan) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    put_on_five_hosts(project)
    made = pipeline.exclude(project, "44", because="  its CPU is\nslow ")
    path = project.hosts / ("4" * 12) / "excluded.json"
    stored = json.loads(path.read_text())
    assert (stored["schema_version"], stored["host_id"]) == ("kvdyno.excluded/1", "4" * 12)
    assert (stored["because"], stored["node"]) == ("its CPU is slow", None)
    assert stored["excluded_at"].endswith("Z")
    (gauge,) = stored["outliers"][SWEEP_ID]
    assert (gauge["gauge"], gauge["value"], gauge["normal"], gauge["hosts"]) == ("cpu.loop_ms", 9.0, 5.0, 5)
    assert pipeline.excluded_hosts(project) == {"4" * 12: made}
    assert list(path.parent.iterdir()) == [path]


def test_the_status_shows_an_excluded_host_instead_of_an_outlier(project: Project, whole: Plan) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    put_on_five_hosts(project)
    pipeline.exclude(project, "4" * 12, because="slow")
    (status,) = pipeline.status_of(project, SWEEP_ID)
    assert status.hosts.keys() == {f"{number}" * 12 for number in range(4)}
    assert (status.stored, status.outliers) == (8, ())
    (left_out,) = status.left_out
    assert (left_out.exclusion.host_id, left_out.runs) == ("4" * 12, 8)


def test_only_an_outlier_of_the_sweep_is_evidence(project: Project, whole: Plan) -> None:
    pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    put_on_five_hosts(project)
    assert pipeline.exclude(project, "0" * 12, because="it is to be repaired").outliers == {}


def test_an_excluded_hosts_runs_count_as_not_measured(shared: Project, whole: Plan) -> None:
    assert hosts_of(shared, whole) == {host_id(): 4, OTHER: 4}
    pipeline.exclude(shared, OTHER, because="slow")
    assert hosts_of(shared, whole) == {host_id(): 4}
    (status,) = pipeline.status_of(shared, SWEEP_ID)
    assert (status.stored, status.hosts) == (4, {host_id(): 4})
    again = pipeline.run_points(shared, SWEEP_ID, keys(whole), observer=Diary())
    assert (again.measured, again.reused) == (4, 4)
    assert hosts_of(shared, whole) == {host_id(): 8}
    assert len([r for r in RunStore(shared.runs).records() if r.environment.host_id == OTHER]) == 4


def test_an_analysis_names_host_reason_day_and_runs_left_out(shared: Project, whole: Plan) -> None:
    made = pipeline.exclude(shared, OTHER, because="slow disk")
    records = pipeline.stored(shared, whole, uncapped=True).values()
    found = pipeline.analyse(shared, whole, records=records)
    assert [machine.host_id for machine in found.machines] == [host_id()]
    (caution,) = [caution for caution in found.cautions if caution.kind == "excluded"]
    day = made.excluded_at[:10]
    assert caution.message == f"host {OTHER} was excluded on {day}: slow disk; its 4 runs do not count"
    assert f"kvdyno exclude {OTHER} --undo" in caution.remedy
    pipeline.exclude(shared, host_id(), because="slow CPU")
    with pytest.raises(StoreError, match=r"no record belongs.*slow CPU; its 4 runs do not count.*slow disk"):
        pipeline.analyse(shared, whole, records=pipeline.stored(shared, whole, uncapped=True).values())


def test_a_comparison_leaves_an_excluded_host_out_too(shared: Project, whole: Plan) -> None:
    pipeline.exclude(shared, OTHER, because="slow disk")
    compared = pipeline.compare(shared, "fakedb", "twin")
    assert set(compared.rows["n_before"]) == {1}
    (caution,) = [caution for caution in compared.cautions if caution.kind == "excluded"]
    assert "its 8 runs do not count" not in caution.message
    assert "its 4 runs do not count" in caution.message
    pipeline.exclude(shared, host_id(), because="slow CPU")
    with pytest.raises(UsageError, match=r"no record of 'fakedb' counts: .*slow CPU"):
        pipeline.compare(shared, "fakedb", "twin")


def test_undoing_restores_everything_and_records_stay_as_they_were(shared: Project, whole: Plan) -> None:
    before, chosen = files(shared.results), pipeline.stored(shared, whole, uncapped=True)
    pipeline.exclude(shared, OTHER, because="slow")
    assert {name: content for name, content in files(shared.results).items() if name in before} == before
    assert pipeline.include(shared, "bbb") == OTHER
    assert files(shared.results) == before
    assert pipeline.stored(shared, whole, uncapped=True) == chosen
    assert pipeline.excluded_hosts(shared) == {}


def test_an_excluded_host_measures_nothing(shared: Project, whole: Plan) -> None:
    made = pipeline.exclude(shared, host_id(), because="slow disk")
    records = files(shared.runs)
    diary = Diary()
    for attempt in (
        lambda: pipeline.run_points(shared, SWEEP_ID, keys(whole), observer=diary),
        lambda: pipeline.sweep(shared, whole, how=UNCAPPED, observer=diary),
    ):
        with pytest.raises(HostError, match=rf"this host {host_id()} was .*: slow disk") as refused:
            attempt()
        assert refused.value.remedy is not None
        assert f"kvdyno exclude {made.host_id} --undo" in refused.value.remedy
    assert diary.said == []
    assert files(shared.runs) == records
    pipeline.include(shared, host_id())
    assert pipeline.run_points(shared, SWEEP_ID, keys(whole), observer=diary).reused == 8


def test_a_job_leaves_its_hosts_node_which_names_the_host(
    project: Project, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    pipeline.run_points(project, SWEEP_ID, keys(whole)[:1], observer=Diary())
    assert excluded_nodes(project) == ()
    made = pipeline.exclude(project, "n7", because="slow")
    assert (made.host_id, made.node) == (host_id(), "n7")
    assert excluded_nodes(project) == ("n7",)
    with pytest.raises(HostError, match=r"this host \w+ \(node n7\) was excluded"):
        pipeline.run_points(project, SWEEP_ID, keys(whole), observer=Diary())
    assert pipeline.include(project, "n7") == host_id()


def test_a_job_that_is_refused_leaves_the_node_for_the_next_submission(
    shared: Project, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.exclude(shared, host_id(), because="slow")
    assert excluded_nodes(shared) == ()
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    with pytest.raises(HostError, match="was excluded"):
        pipeline.run_points(shared, SWEEP_ID, keys(whole), observer=Diary())
    assert excluded_nodes(shared) == ("n7",)


@pytest.mark.parametrize(
    ("name", "because", "words"),
    [
        ("c", "slow", "no host 'c' is known"),
        ("", "slow", "no host '' is known"),
        (OTHER, " \n", "expected a reason, found none"),
        ("b", "slow", "'b' means 2 hosts"),
    ],
)
def test_a_host_that_cannot_be_meant_is_an_error(
    shared: Project, name: str, because: str, words: str
) -> None:
    (shared.hosts / ("b" * 11 + "a")).mkdir(parents=True)
    with pytest.raises(UsageError, match=words):
        pipeline.exclude(shared, name, because=because)
    assert pipeline.excluded_hosts(shared) == {}


def test_a_host_is_excluded_once_and_included_once(shared: Project) -> None:
    pipeline.exclude(shared, OTHER, because="slow")
    with pytest.raises(UsageError, match=f"host {OTHER} was excluded on .*: slow") as again:
        pipeline.exclude(shared, OTHER, because="another reason")
    assert again.value.remedy == f"kvdyno exclude {OTHER} --undo"
    with pytest.raises(UsageError, match=f"no host '{host_id()}' is excluded") as never:
        pipeline.include(shared, host_id())
    assert never.value.remedy == f"excluded: {OTHER}"


def test_a_damaged_file_stops_what_would_count_the_host_and_can_be_undone(
    shared: Project, whole: Plan
) -> None:
    pipeline.exclude(shared, OTHER, because="slow")
    path = shared.hosts / OTHER / "excluded.json"
    path.write_text("{")
    with pytest.raises(StoreError, match="expected why a host is excluded") as damaged:
        pipeline.stored(shared, whole, uncapped=True)
    assert (damaged.value.where, damaged.value.remedy) == (str(path), f"kvdyno exclude {OTHER} --undo")
    pipeline.include(shared, OTHER)
    assert hosts_of(shared, whole)[OTHER] == 4


def test_a_scheduler_that_cannot_be_asked_is_named_once_a_node_is_to_be_left_out(
    project: Project, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    del whole  # kept as submitted to Slurm
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SLURMD_NODENAME", "node7")
    assert pipeline.keep_jobs_off(project) == ""
    keep_node(project)
    pipeline.exclude(project, host_id(), because="slow disk")
    assert pipeline.keep_jobs_off(project) == "no sbatch here"
