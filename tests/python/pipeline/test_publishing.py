"""A sweep becomes a committed folder, whose tables can be derived again from it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.noise import make_noise
from fakes_records import LABELS, Fake, Sweep, fake_sweep

from kvdyno import analysis, pipeline, report, spec
from kvdyno.errors import KvdynoError, SpecError, StoreError, UsageError
from kvdyno.model.experiment import DerivedMetric
from kvdyno.model.origin import Origin, Questions
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis
from kvdyno.pipeline import Publication, Recorded
from kvdyno.pipeline.committed import check_folder, derived_tables
from kvdyno.pipeline.publishing import machine_words
from kvdyno.store import read_metrics

FACTS: Mapping[str, Any] = {
    "kvdyno.commit": "0123456789abcdef0123456789abcdef01234567",
    "kvdyno.modified": False,
    "os.virtualisation": "yes",
    "os.name": "Debian GNU/Linux 12 (bookworm)",
    "os.kernel": "6.1.0-28-amd64",
    "cpu.logical": 2,
    "cpu.model": "EPYC",
    "memory.bytes": 25_276_502_016,
    "disk.file_system": "ext4",
    "disk.device": "vda",
}
ASKED = Publication(name="trial", state="nothing else running")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """One that lost a run, so that claims have doubts."""
    folder = tmp_path_factory.mktemp("sweep")
    size = Fake(folder).sizes[0]
    fake = Fake(folder, repetitions=3, files=False, statuses={("leveldb", "C", size, 2): "timeout"})
    return fake_sweep(fake)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "results").mkdir()
    return Project(root=tmp_path, results=tmp_path / "elsewhere", data=tmp_path / "data")


def _recorded(
    sweep: Sweep, change: Callable[[Record, dict[str, Any]], str] = lambda record, facts: "host"
) -> tuple[Recorded, Analysis]:
    """The sweep's records with FACTS, which `change` may change; it returns the host."""
    records = []
    for record in sweep.records:
        facts = dict(FACTS)
        host = change(record, facts)
        environment = record.environment.model_copy(update={"facts": facts, "host_id": host})
        records.append(record.model_copy(update={"environment": environment}))
    found = analysis.analyse(sweep.experiment, sweep.plan, records, run_dirs=sweep.run_dirs)
    return Recorded(sweep.plan, {record.run_id: record for record in records}, partial=False), found


def test_the_folder_gives_the_reports_tables_again(sweep: Sweep, project: Project) -> None:
    recorded, found = _recorded(sweep)
    folder = pipeline.publish(project, recorded, found, ASKED, drawn=())
    said = report.csv_tables(found, sweep.experiment.tables)
    for name in ("throughput.csv", "ratio.csv", "_points.csv", "_claims.csv"):
        assert (folder / name).read_text() == said[name]
    assert pipeline.derive(project, write=True) == ()
    (folder / "ratio.csv").write_text("by hand\n")
    assert pipeline.derive(project, write=False) == (folder / "ratio.csv",)
    assert (folder / "ratio.csv").read_text() == "by hand\n"
    assert pipeline.derive(project, write=True) == (folder / "ratio.csv",)
    assert (folder / "ratio.csv").read_text() == said["ratio.csv"]


def test_claims_keep_the_doubts_that_their_records_raised(sweep: Sweep, project: Project) -> None:
    recorded, found = _recorded(sweep)
    folder = pipeline.publish(project, recorded, found, ASKED, drawn=())
    metrics = spec.read_origin(folder / "origin.yaml").metrics
    assert metrics is not None
    assert [(doubt.claim, doubt.reason) for doubt in metrics.doubts] == [("C-small", "1 of 6 runs were lost")]
    again = analysis.analyse_metrics(read_metrics(folder / "metrics.parquet"), metrics)
    assert again.claims == found.claims


def _published(sweep: Sweep, project: Project) -> tuple[Analysis, Origin, Questions, pd.DataFrame]:
    """What the records show, and what is published of them."""
    recorded, found = _recorded(sweep)
    folder = pipeline.publish(project, recorded, found, ASKED, drawn=())
    origin = spec.read_origin(folder / "origin.yaml")
    assert origin.metrics is not None
    return found, origin, origin.metrics, read_metrics(folder / "metrics.parquet")


def test_published_metrics_show_what_their_records_show(sweep: Sweep, project: Project) -> None:
    found, origin, asked, frame = _published(sweep, project)
    again = analysis.analyse_published(sweep.plan, frame, asked, origin=origin)
    assert again.claims == found.claims
    assert (again.axes, again.baseline, again.runs_ok) == (found.axes, found.baseline, found.runs_ok)
    for table in ("estimates", "ratios", "overall", "planned", "published"):
        pd.testing.assert_frame_equal(getattr(again, table), getattr(found, table), check_dtype=False)
    assert [each.label for each in again.contenders] == [each.label for each in found.contenders]
    assert [(each.point, each.status) for each in again.failures] == [
        (each.point, each.status) for each in found.failures
    ]
    (machine,) = again.machines
    assert (machine.host_id, machine.runs) == ("host", len(sweep.records))
    assert machine_words({**machine.facts, "memory.bytes": 24 << 30}) == origin.machines[0]
    assert [each.cap_bytes for each in again.confinements] == [each.cap_bytes for each in found.confinements]
    assert again.cautions == ()


def test_published_metrics_of_a_host_with_a_self_test_have_its_noise(sweep: Sweep, project: Project) -> None:
    _, origin, asked, frame = _published(sweep, project)
    measured = make_noise("rocksdb", "A", sd_log=0.05)
    for runner, effects in (("local", {"P", "A", "C", "E100"}), ("docker", set())):
        noise = {("host", runner): measured}
        (floor,) = analysis.analyse_published(sweep.plan, frame, asked, origin=origin, noise=noise).noise
        assert (bool(floor.measured_at), set(floor.effects)) == (bool(effects), effects)


def test_a_claim_that_is_newer_than_the_metrics_decides_nothing(sweep: Sweep, project: Project) -> None:
    _, origin, asked, frame = _published(sweep, project)
    (known,) = (claim for claim in sweep.experiment.claims if claim.id == "P-always")
    reworded = known.model_copy(update={"text": "Whatever it is", "at_least": 0.0, "at_most": None})
    new = reworded.model_copy(update={"id": "new"})
    moved = reworded.model_copy(update={"where": {**known.where, "workload": ("A",)}})
    for claim, doubted in ((new, True), (moved, True), (reworded, False)):
        experiment = sweep.experiment.model_copy(update={"claims": (claim,)})
        plan = replace(sweep.plan, experiment=experiment)
        (result,) = analysis.analyse_published(plan, frame, asked, origin=origin).claims
        assert (result.verdict == "undecided") == doubted
        assert all(("newer than the published metrics" in point.doubt) == doubted for point in result.points)


def test_a_metric_is_derived_as_the_experiment_has_it_today(sweep: Sweep, project: Project) -> None:
    _, origin, asked, frame = _published(sweep, project)
    twice = DerivedMetric(id="twice", sum=("throughput", "throughput"))
    experiment = sweep.experiment.model_copy(update={"metrics": (twice,)})
    old = frame[frame["metric"] == "throughput"].assign(metric="twice")
    shown = analysis.analyse_published(
        replace(sweep.plan, experiment=experiment), pd.concat([frame, old]), asked, origin=origin
    ).frame
    values = {
        name: shown.loc[shown["metric"] == name, "value"].to_numpy() for name in ("twice", "throughput")
    }
    assert list(values["twice"]) == list(2 * values["throughput"])


def test_metrics_of_other_points_are_refused(sweep: Sweep, project: Project) -> None:
    _, origin, asked, frame = _published(sweep, project)
    size = frame["dataset"].iloc[0]
    other = frame.assign(dataset=frame["dataset"].replace(size, size + 1))
    for message, changed in {
        "found [0-9]+ others: ": other,
        "expected metrics with the axes dataset, workload, found dataset\n": frame.drop(columns="workload"),
    }.items():
        with pytest.raises(StoreError, match=message):
            analysis.analyse_published(sweep.plan, changed, asked, origin=origin)


def test_curves_that_figures_draw_are_published_with_the_metrics(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sweep = fake_sweep(Fake(tmp_path_factory.mktemp("curves"), repetitions=2))
    recorded, found = _recorded(sweep)
    assert any(figure.kind == "percentiles" for figure in sweep.experiment.figures)
    folder = pipeline.publish(project, recorded, found, ASKED, drawn=())
    origin = spec.read_origin(folder / "origin.yaml")
    assert origin.metrics is not None
    curves = read_metrics(folder / origin.metrics.percentiles)
    assert set(curves["operation"]) <= set(found.percentiles["operation"])
    again = analysis.analyse_published(
        sweep.plan,
        read_metrics(folder / "metrics.parquet"),
        origin.metrics,
        origin=origin,
        percentiles=curves,
    )
    assert len(again.percentiles) == len(curves) > 0
    pipeline.derive(project, write=False)  # the folder names the file
    without = replace(found, percentiles=found.percentiles.iloc[:0])
    pipeline.publish(project, recorded, without, ASKED, drawn=())
    assert not (folder / "percentiles.parquet").exists()


def test_the_origin_holds_what_a_reader_needs(sweep: Sweep, project: Project) -> None:
    recorded, found = _recorded(sweep)
    figure = project.root / "throughput.svg"
    figure.write_text("<svg/>")
    asked = replace(ASKED, figures={"throughput": Path("shown.svg")}, tables=("ratio",))
    folder = pipeline.publish(project, recorded, found, asked, drawn=(figure,))
    origin = spec.read_origin(folder / "origin.yaml")
    assert origin.command == "kvdyno run quickstart --profile small"
    assert (origin.commit, origin.modified, origin.state) == (FACTS["kvdyno.commit"], False, ASKED.state)
    assert (origin.sweeps, origin.runs, origin.repetitions) == (("sweep-1",), len(sweep.records), 3)
    assert origin.figures == ("shown.svg",)
    assert (project.root / "shown.svg").read_text() == "<svg/>"
    assert [machine.words for machine in origin.machines] == [
        "a virtual machine with 2 cores, EPYC, 24 GiB, ext4 on a virtual disk, "
        "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
    ]
    assert origin.metrics is not None
    assert [table.id for table in origin.metrics.tables] == ["ratio"]
    assert set(origin.metrics.engines) == set(LABELS.values())
    # At the profile's scale, as the metrics have it.
    assert origin.metrics.claims[0].where["dataset"] == (Fake(folder).sizes[0],)
    assert not (folder / "throughput.csv").exists()


def test_texts_that_people_write_stay(sweep: Sweep, project: Project) -> None:
    recorded, found = _recorded(sweep)
    folder = pipeline.publish(project, recorded, found, ASKED, drawn=())
    pipeline.fill_prose(project, [folder / "README.md"])
    text = (folder / "README.md").read_text()
    assert "| LevelDB writes faster at every size | leveldb / rocksdb: throughput of run ≥ 1 | 1" in text
    assert "- Commit `0123456`; 3 repetitions;" in text
    (folder / "README.md").write_text("# My own\n")
    pipeline.publish(project, recorded, found, replace(ASKED, tables=("ratio",)), drawn=())
    assert (folder / "README.md").read_text() == "# My own\n"
    assert not (folder / "throughput.csv").exists()  # derived of the earlier sweep


def _other_host(record: Record, facts: dict[str, Any]) -> str:
    return f"host-{record.repetition % 2}"


def _modified(record: Record, facts: dict[str, Any]) -> str:
    facts["kvdyno.modified"] = True
    return "host"


def _other_commit(record: Record, facts: dict[str, Any]) -> str:
    facts["kvdyno.commit"] = str(record.repetition)
    return "host"


def _no_commit(record: Record, facts: dict[str, Any]) -> str:
    facts["kvdyno.commit"] = None
    return "host"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_other_host, "expected records of one machine, found host-1, host-0"),
        (_modified, "expected records of a checkout without changes, found changes after 0123456789ab"),
        (_other_commit, "expected records of one commit, found 1, 2, 3"),
        (_no_commit, "expected records of one commit, found none"),
    ],
)
def test_what_a_reader_could_not_repeat_is_refused(
    sweep: Sweep, project: Project, change: Callable[[Record, dict[str, Any]], str], message: str
) -> None:
    with pytest.raises(StoreError, match=message):
        pipeline.publish(project, *_recorded(sweep, change), ASKED, drawn=())
    assert list(project.committed.iterdir()) == []


def test_what_is_accepted_is_stated(sweep: Sweep, project: Project) -> None:
    accepted = replace(ASKED, accepted=("modified", "machines"))
    folder = pipeline.publish(project, *_recorded(sweep, _modified), accepted, drawn=())
    assert spec.read_origin(folder / "origin.yaml").revision == "`0123456` with changes"
    folder = pipeline.publish(project, *_recorded(sweep, _other_host), accepted, drawn=())
    assert len(spec.read_origin(folder / "origin.yaml").machines) == 2


def test_a_part_is_refused(sweep: Sweep, project: Project) -> None:
    recorded, found = _recorded(sweep)
    with pytest.raises(StoreError, match="expected all 72 runs, found 71"):
        pipeline.publish(project, recorded, replace(found, runs_recorded=71), ASKED, drawn=())
    with pytest.raises(StoreError, match="expected all"):
        pipeline.publish(project, replace(recorded, partial=True), found, ASKED, drawn=())


def test_engines_that_the_run_named_are_published_with_its_command(sweep: Sweep, project: Project) -> None:
    recorded, found = _recorded(sweep)
    asked = replace(ASKED, engines=("rocksdb", "leveldb"), repeat=3)
    folder = pipeline.publish(project, replace(recorded, partial=True), found, asked, drawn=())
    command = spec.read_origin(folder / "origin.yaml").command
    assert command.endswith("--engines rocksdb,leveldb --repeat 3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Trial"}, "--as: expected a folder like"),
        ({"name": "../trial"}, "--as: expected a folder like"),
        ({"name": "runs"}, "--as: expected a folder like"),
        ({"tables": ("ratios",)}, "--table: unknown table 'ratios'"),
        ({"figures": {"ratio": Path("x.svg")}}, "--figure: unknown figure 'ratio'"),
        ({"figures": {"tail": Path("x.svg")}}, "no record has values for figure tail"),
        ({"accepted": ("dirty",)}, "--accept: unknown word 'dirty'"),
    ],
)
def test_wrong_words_are_refused(
    sweep: Sweep, project: Project, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises((UsageError, StoreError), match=message):
        pipeline.publish(project, *_recorded(sweep), replace(ASKED, **changes), drawn=())
    assert list(project.committed.iterdir()) == []


ORIGIN = """\
schema_version: kvdyno.origin/1
question: Which?
command: kvdyno run quickstart
commit: abcdef0
date: 2026-11-23
state: nothing else running
machines: [{virtual: true, cores: 2, memory: 24 GiB, disk: ext4}]
runs: 3
repetitions: 3
files: [data.csv]
"""


def _folder(project: Project, text: str = ORIGIN) -> Path:
    folder = project.committed / "trial"
    folder.mkdir()
    (folder / "origin.yaml").write_text(text)
    (folder / "data.csv").write_text("value\n1\n")
    return folder


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("files:", "file:", r"origin\.yaml:10: unknown key 'file': .* did you mean 'files'"),
        ("cores: 2", "cores: two", r"origin\.yaml:7: cores: expected a whole number, found 'two'"),
        ("runs: 3\n", "", r"expected runs, or seeded: true; found neither"),
        (
            "abcdef0",
            "main",
            r"origin\.yaml:4: commit: expected a commit as text, or 'not kept', found 'main'",
        ),
        ("abcdef0", "1234567", r"origin\.yaml:4: commit: expected a commit as text"),
        (
            "runs: 3",
            "runs: 0",
            r"origin\.yaml:8: runs: expected a whole number above 0, or 'not kept', found 0",
        ),
        ("runs: 3", "runs: true", r"origin\.yaml:8: runs: expected a whole number above 0"),
        ("runs: 3", "runs: 3\nsweeps: one", r"origin\.yaml:9: sweeps: expected a list of sweeps"),
        ("runs: 3", "runs: 3\nmodified: perhaps", r"origin\.yaml:9: modified: expected true or false"),
        ("kvdyno.origin/1", "kvdyno.origin/9", r"origin\.yaml:1"),
    ],
)
def test_mistakes_of_an_origin_have_a_line(project: Project, before: str, after: str, message: str) -> None:
    _folder(project, ORIGIN.replace(before, after))
    with pytest.raises(SpecError, match=message):
        pipeline.origins(project)


def test_a_folder_holds_what_its_origin_names_and_no_more(project: Project) -> None:
    folder = _folder(project)
    for name in ("README.md", "text.md.j2", "make.py"):
        (folder / name).write_text("")
    assert pipeline.derive(project, write=True) == ()
    (folder / "stray.csv").write_text("")
    with pytest.raises(SpecError, match=r"expected only data that it names, found stray\.csv"):
        pipeline.derive(project, write=True)
    (folder / "stray.csv").unlink()
    (folder / "data.csv").unlink()
    with pytest.raises(SpecError, match=r"expected the file data\.csv, found none"):
        pipeline.derive(project, write=True)


def test_a_folder_has_a_limit(project: Project) -> None:
    folder = _folder(project)
    (folder / "data.csv").write_bytes(bytes((5 << 20) + 1))
    origin = pipeline.origins(project)[folder]
    with pytest.raises(SpecError, match="expected at most 5 MiB of files, found 5"):
        check_folder(folder, origin, derived=(), root=project.root)


@pytest.mark.parametrize("file", ["metrics.parquet", "metrics.csv"])
def test_damaged_metrics_are_named(project: Project, file: str) -> None:
    folder = _folder(project, f"{ORIGIN}metrics: {{file: {file}, baseline: rocksdb}}\n")
    origin = pipeline.origins(project)[folder]
    with pytest.raises(KvdynoError, match="the committed metrics cannot be read"):
        derived_tables(folder, origin)
    (folder / file).write_bytes(b"")
    with pytest.raises(KvdynoError, match="the committed metrics cannot be read"):
        derived_tables(folder, origin)


def test_a_machine_that_hides_its_facts_is_described_by_the_rest() -> None:
    facts = {"cpu.logical": 4, "disk.file_system": "xfs", "disk.device": "nvme0n1"}
    assert machine_words(facts).words == "a machine with 4 cores, xfs on nvme0n1"


def test_a_build_that_is_slower_on_purpose_is_cautioned_about_and_not_published(
    sweep: Sweep, project: Project
) -> None:
    records = []
    for record in sweep.records:
        outcome = record.outcome
        if outcome and record.point.engine == "leveldb":
            engine = outcome.engine.model_copy(update={"version": "1.23-slowed"})
            outcome = outcome.model_copy(update={"engine": engine})
        records.append(record.model_copy(update={"outcome": outcome}))
    slowed, found = _recorded(replace(sweep, records=tuple(records)))
    assert any("slower on purpose" in caution.message for caution in found.cautions)
    with pytest.raises(StoreError, match="LevelDB, built to be slower on purpose"):
        pipeline.publish(project, slowed, found, ASKED, drawn=())
    assert not (project.root / "results" / "trial").exists()
    _, usual = _recorded(sweep)
    assert not any("slower on purpose" in caution.message for caution in usual.cautions)
