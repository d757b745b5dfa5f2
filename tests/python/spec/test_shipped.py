"""The experiments, profiles and workloads of this checkout, against the engines that are built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.analysis.published import check_points
from kvdyno.catalog import discover
from kvdyno.model.axes import RUNS_OPERATIONS
from kvdyno.model.project import Project
from kvdyno.model.properties import read_properties
from kvdyno.model.versions import SYSTEM, read_versions, versioned
from kvdyno.pipeline.committed import origins_below
from kvdyno.plan import estimate, make_plan, select
from kvdyno.spec import (
    list_experiments,
    list_studies,
    load_experiment,
    load_profiles,
    load_space,
    load_study,
    read_published,
)
from kvdyno.spec.form import (
    ClaimForm,
    DeviceForm,
    EngineForm,
    ExperimentForm,
    FigureForm,
    Form,
    GateForm,
    GateMetricForm,
    MeasureForm,
    PhasesForm,
    ProfileForm,
    TableForm,
)
from kvdyno.spec.space import SpaceForm
from kvdyno.spec.studies import ExpectForm, HypothesisForm, PublishedForm, StudyForm
from kvdyno.store import read_metrics

PROJECT = Project.find(start=Path(__file__))


CATALOG = dict(discover(PROJECT))
# Versions stand for themselves here: what they are built of is no matter to a plan.
CATALOG |= {
    versioned(engine, version): replace(CATALOG[engine], binary_sha256=f"{number:064x}")
    for number, (library, version) in enumerate(read_versions(PROJECT).all())
    for engine in read_versions(PROJECT).libraries[library].engines
}
CATALOG |= {versioned(name, SYSTEM): CATALOG[name] for name in ("rocksdb", "leveldb")}
CATALOG |= {
    f"docker:{name}": replace(engine, image="sha256:0", binary_sha256=engine.binary_sha256[::-1])
    for name, engine in CATALOG.items()
}
FORMS = (
    DeviceForm,
    ExperimentForm,
    EngineForm,
    PhasesForm,
    MeasureForm,
    FigureForm,
    GateForm,
    GateMetricForm,
    TableForm,
    ClaimForm,
    ProfileForm,
    StudyForm,
    HypothesisForm,
    ExpectForm,
    PublishedForm,
    SpaceForm,
)
WORKLOADS = sorted(PROJECT.workloads.glob("*.properties"))


@pytest.mark.parametrize("profile", load_profiles(PROJECT))
@pytest.mark.parametrize("name", [each.name for each in list_experiments(PROJECT)])
def test_an_experiment_has_no_mistake(name: str, profile: str) -> None:
    experiment = load_experiment(name, project=PROJECT, catalog=CATALOG, profile=profile)
    assert make_plan(experiment, catalog=CATALOG, project=PROJECT).runs


PUBLISHED = {
    folder: origin
    for folder, origin in origins_below(PROJECT.committed / "evendb-small").items()
    if origin.metrics
}


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_published_sweep_of_a_paper_has_the_points_of_its_experiment(folder: Path) -> None:
    origin = PUBLISHED[folder]
    assert origin.sweep is not None
    assert origin.metrics is not None
    name, profile = origin.sweep
    experiment = load_experiment(name, project=PROJECT, catalog=CATALOG, profile=profile)
    plan = make_plan(experiment, catalog=CATALOG, project=PROJECT)
    frame = read_metrics(folder / origin.metrics.file)
    check_points(plan, frame)
    assert frame["run_id"].nunique() == len(plan.runs)


def test_every_published_claim_is_in_an_experiment_with_its_bounds() -> None:
    documents = read_published(PROJECT)
    published = {
        f"{name}/{each.id}": each for name in ("evendb", "adoc", "de-wss") for each in documents[name].claims
    }
    names = [
        each.name
        for each in list_experiments(PROJECT)
        if each.name.startswith(("evendb-", "adoc-", "sampling-"))
    ]
    claims = [
        claim
        for name in names
        for claim in load_experiment(name, project=PROJECT, catalog=CATALOG).claims
        if claim.published
    ]
    assert set(published) <= {str(claim.published) for claim in claims}
    for claim in claims:
        document = published[str(claim.published)]
        if document.at_least is not None or document.at_most is not None:
            bounded = [
                each
                for each in claims
                if each.published == claim.published
                and (each.at_least, each.at_most) == (document.at_least, document.at_most)
            ]
            assert bounded, f"{claim.published} is nowhere with its published bounds"


def test_quickstart_is_quick_and_bigger_than_memory() -> None:
    experiment = load_experiment("quickstart", project=PROJECT, catalog=CATALOG)
    plan = make_plan(experiment, catalog=CATALOG, project=PROJECT)
    assert estimate(plan).seconds < 8 * 60
    assert {point.axes["workload"] for point in plan.points} == {"p", "a", "c", "e100"}
    contenders = {point.axes["engine"] for point in plan.points}
    assert contenders == {"rocksdb", "rocksdb-tuned", "leveldb", "chunkstore"}
    assert {point.axes["age"] for point in plan.points} == {1}
    assert plan.notes == (), "no mix that writes ends by time"
    for point in plan.points:
        assert point.dataset is not None
        assert point.dataset.bytes > 3.9 * point.cap_bytes


def test_a_repetition_of_debt_takes_about_an_hour() -> None:
    experiment = load_experiment("debt", project=PROJECT, catalog=CATALOG, profile="small")
    plan = make_plan(experiment, catalog=CATALOG, project=PROJECT)
    assert {point.axes["volume"] for point in plan.points} == {1, 2, 4, 10}
    assert estimate(select(plan, repeat=1)).seconds < 90 * 60


#: The scale at which each experiment of the evaluation is measured here, where that is not `small`.
LARGER = {"evendb-bloom-split": "medium", "evendb-log-index": "medium", "evendb-log-limit": "medium"}


def test_evendbs_evaluation_takes_ten_hours_in_parts_of_two() -> None:
    minutes = {}
    for name in (each.name for each in list_experiments(PROJECT) if each.name.startswith("evendb-")):
        profile = LARGER.get(name, "small")
        experiment = load_experiment(name, project=PROJECT, catalog=CATALOG, profile=profile)
        plan = make_plan(experiment, catalog=CATALOG, project=PROJECT)
        minutes[name] = estimate(plan).seconds / 60
        assert experiment.repetitions >= 3
    assert {name: taken for name, taken in minutes.items() if taken > 120} == {}
    assert sum(minutes.values()) <= 10 * 60


@pytest.mark.parametrize("form", FORMS)
def test_every_key_is_documented(form: type[Form]) -> None:
    text = (PROJECT.root / "docs" / "formats.md").read_text()
    section = text[text.index("## Experiment files") :]
    assert [key for key in form.model_fields if f"{key}`" not in section] == []


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_workload_explains_what_it_is_and_adds_up(path: Path) -> None:
    properties = {name: found.text for name, found in read_properties(path).items()}
    assert path.read_text().startswith("# ")
    assert "# Source: " in path.read_text()
    # EvenDB's evaluation has values of 800 bytes, ADOC's of 1000, RocksDB's protocol of 400.
    assert int(properties["fieldcount"]) * int(properties["fieldlength"]) in (400, 800, 1000)
    shares = [float(text) for name, text in properties.items() if name.endswith("proportion")]
    assert sum(shares) == pytest.approx(0 if properties.get(RUNS_OPERATIONS) == "false" else 1)


@pytest.mark.parametrize("name", list_studies(PROJECT))
def test_a_study_has_no_mistake_and_stands_beside_what_is_published(name: str) -> None:
    study = load_study(name, project=PROJECT, catalog=CATALOG)
    assert study.hypotheses
    assert study.published
    steps = [each.published for each in study.hypotheses if each.published]
    assert steps == list(range(1, len(study.published.steps))), "each published step has its hypothesis"


@pytest.mark.parametrize("path", sorted(PROJECT.adapters.glob("*/tuning.yaml")), ids=lambda p: p.parent.name)
def test_a_space_has_no_mistake(path: Path) -> None:
    engine = CATALOG[path.parent.name]
    space = load_space(engine, project=PROJECT, cap_bytes=16 << 30)
    start = space.start({})
    assert set(start) == {each.name for each in space.dimensions}, "every default has its place"
    assert all(each.holds(start[each.name]) for each in space.dimensions if each.values)


def test_no_two_workloads_are_the_same() -> None:
    meant = [{name: each.text for name, each in read_properties(path).items()} for path in WORKLOADS]
    assert all(meant.count(each) == 1 for each in meant)
