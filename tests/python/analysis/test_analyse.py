"""`analyse` and `compare` on made-up sweeps whose truth is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fakes_records import CAP, SIZES, Fake, Sweep, fake_sweep, histogram, true_rate, write_log
from scipy import stats

from kvdyno.analysis import analyse, compare
from kvdyno.analysis.claims import judge_claims
from kvdyno.analysis.events import load_events
from kvdyno.analysis.evidence import Evidence
from kvdyno.analysis.frame import latest, tidy
from kvdyno.analysis.histograms import curve, merge, read_log
from kvdyno.analysis.levels import mean_of
from kvdyno.errors import SpecError, StoreError
from kvdyno.model.engine import Durability
from kvdyno.model.experiment import ClaimSpec, DeviceLimits
from kvdyno.model.record import Metric, Record
from kvdyno.model.results import GRAVE, Analysis, ClaimResult, Comparison, Device, resolve_label

LOST = {("leveldb", "C", SIZES[2], r): "out_of_memory" for r in (1, 2, 3)}


def analysed(sweep: Sweep) -> Analysis:
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("runs")
    statuses = {**LOST, ("rocksdb", "P", SIZES[0], 1): "timeout"}
    return fake_sweep(Fake(folder=folder, repetitions=3, workloads=("P", "A", "C"), statuses=statuses))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def analysis(sweep: Sweep) -> Analysis:
    return analysed(sweep)


def without_files(tmp_path: Path, **changes: object) -> Sweep:
    fake = Fake(folder=tmp_path, repetitions=3, workloads=("A",), sizes=SIZES[:1], files=False)
    return fake_sweep(dataclasses.replace(fake, **changes))  # type: ignore[arg-type]


def replaced(sweep: Sweep, change: dict[str, object], *, only: int | None = None) -> Sweep:
    records = [
        r.model_copy(update=change) if only is None or i == only else r for i, r in enumerate(sweep.records)
    ]
    return dataclasses.replace(sweep, records=tuple(records))


def kinds(analysis: Analysis) -> set[str]:
    return {caution.kind for caution in analysis.cautions}


def test_medians_cover_the_runs_that_ended_well(sweep: Sweep, analysis: Analysis) -> None:
    rows = analysis.select(
        analysis.estimates, where={"engine": ("rocksdb",)}, metric="throughput", phase="run"
    )
    first = rows[(rows["workload"] == "P") & (rows["dataset"] == SIZES[0])].iloc[0]
    values = [
        r.outcome.phases[2].metrics["throughput"].value
        for r in sweep.records
        if r.point.slug == "rocksdb-P-64MiB" and r.outcome
    ]
    assert first["n"] == 2
    assert first["median"] == pytest.approx(np.median(values))


def test_any_metric_of_any_driver_is_kept(tmp_path: Path) -> None:
    sweep = without_files(tmp_path)
    records = []
    for record in sweep.records:
        assert record.outcome is not None
        phases = tuple(
            p.model_copy(update={"metrics": {"samples.fill": Metric(value=3.0, unit="page/s")}})
            for p in record.outcome.phases
        )
        outcome = record.outcome.model_copy(update={"phases": phases})
        records.append(record.model_copy(update={"outcome": outcome}))
    found = analysed(dataclasses.replace(sweep, records=tuple(records)))
    assert set(found.estimates["metric"]) == {"seconds", "samples.fill"}
    assert set(found.estimates.query("metric == 'samples.fill'")["unit"]) == {"page/s"}


def on_hosts(sweep: Sweep, host: Callable[[Record], int]) -> Sweep:
    """The sweep on hosts of which each is twice as fast as the one before: `host` numbers a record's."""

    def moved(record: Record) -> Record:
        speed = 2 ** host(record)
        outcome = record.outcome
        phases = tuple(
            phase.model_copy(
                update={
                    "metrics": {
                        name: metric.model_copy(update={"value": metric.value * speed})
                        if name == "throughput"
                        else metric
                        for name, metric in phase.metrics.items()
                    }
                }
            )
            for phase in (outcome.phases if outcome else ())
        )
        environment = record.environment.model_copy(update={"host_id": f"host-{host(record)}"})
        update = {"environment": environment}
        if outcome:
            update["outcome"] = outcome.model_copy(update={"phases": phases})
        return record.model_copy(update=update)

    return dataclasses.replace(sweep, records=tuple(map(moved, sweep.records)))


def throughput_ratios(found: Analysis) -> pd.DataFrame:
    return found.ratios[found.ratios["headline"] & found.ratios["metric"].eq("throughput")]


def test_hosts_that_differ_bias_no_ratio_of_arms_that_share_one(sweep: Sweep, analysis: Analysis) -> None:
    spread = throughput_ratios(analysed(on_hosts(sweep, lambda record: record.repetition % 2)))
    alone = throughput_ratios(analysis)
    assert spread["paired"].all()
    several = analysed(on_hosts(sweep, lambda record: record.repetition % 2)).cautions
    assert [c.kind for c in several if "hosts" in c.message] == ["hosts"]
    for column in ("ratio", "low", "high", "n"):
        np.testing.assert_allclose(spread[column].astype(float), alone[column].astype(float))


def test_arms_on_different_hosts_are_no_pairs(sweep: Sweep) -> None:
    apart = analysed(on_hosts(sweep, lambda record: int(record.point.engine == "rocksdb")))
    assert not throughput_ratios(apart)["paired"].any()
    assert any(c.kind in GRAVE and "different hosts" in c.message for c in apart.cautions)


def test_ratios_are_near_the_truth_and_know_the_baseline(analysis: Analysis) -> None:
    assert analysis.baseline == "RocksDB"
    rows = analysis.select(analysis.ratios, where={}, metric="throughput", phase="run")
    assert set(rows["label"]) == {"LevelDB"}
    for row in rows.to_dict("records"):
        truth = true_rate("leveldb", row["workload"], row["dataset"])
        truth /= true_rate("rocksdb", row["workload"], row["dataset"])
        assert row["ratio"] == pytest.approx(truth, rel=0.15)
    first = rows[(rows["workload"] == "P") & (rows["dataset"] == SIZES[0])].iloc[0]
    assert first["n"] == 2  # the repetition that timed out has no pair


def test_runs_of_different_sweeps_are_never_paired(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, sizes=SIZES[:2], noise=0.01)
    records = tuple(
        r.model_copy(update={"sweep_id": "sweep-2"})
        if r.point.engine == "leveldb" and r.point.axes["dataset"] == SIZES[0]
        else r
        for r in sweep.records
    )
    found = analysed(dataclasses.replace(sweep, records=records))
    rows = found.select(found.ratios, where={}, metric="throughput", phase="run")
    assert dict(zip(rows["dataset"], rows["paired"], strict=True)) == {SIZES[0]: False, SIZES[1]: True}
    apart = rows[rows["dataset"] == SIZES[0]].iloc[0]
    assert apart["low"] < 129 / 76 < apart["high"]
    (caution,) = (c for c in found.cautions if c.kind == "unpaired")
    assert caution.kind in GRAVE
    assert "LevelDB 64 MiB" in caution.message
    assert "256 MiB" not in caution.message


def test_a_rare_counter_that_no_two_runs_share_makes_no_point_unpaired(tmp_path: Path) -> None:
    """Its runs come from different sweeps, those of the headline do not."""
    sweep = without_files(tmp_path, sizes=SIZES[:1])
    stopped = {("leveldb", 1), ("rocksdb", 2)}
    records = []
    for r in sweep.records:
        assert r.outcome is not None
        rare = (
            {"engine.stops": Metric(value=1.0, unit="count")}
            if (r.point.engine, r.repetition) in stopped
            else {}
        )
        phases = tuple(p.model_copy(update={"metrics": {**p.metrics, **rare}}) for p in r.outcome.phases)
        outcome = r.outcome.model_copy(update={"phases": phases})
        sweep_id = "sweep-1" if r.repetition == 1 else "sweep-2"
        records.append(r.model_copy(update={"sweep_id": sweep_id, "outcome": outcome}))
    found = analysed(dataclasses.replace(sweep, records=tuple(records)))
    assert not found.select(found.ratios, where={}, metric="engine.stops", phase="run")["paired"].any()
    assert not [c for c in found.cautions if c.kind == "unpaired"]


def test_the_mean_over_points_weighs_points_alike_and_is_by_repetition(tmp_path: Path) -> None:
    lost = {("leveldb", "A", SIZES[0], 1): "timeout", ("leveldb", "A", SIZES[1], 2): "timeout",
            ("rocksdb", "A", SIZES[2], 3): "timeout"}  # fmt: skip
    found = analysed(without_files(tmp_path, sizes=SIZES, statuses=lost))
    rows = found.select(found.ratios, where={}, metric="throughput", phase="run")
    mean = found.overall.query("metric == 'throughput'").iloc[0]
    assert list(rows["n"]) == [2, 2, 2]  # no repetition holds every point
    assert np.log(mean["ratio"]) == pytest.approx(np.log(rows["ratio"].astype(float)).mean())
    assert (mean["n"], mean["freedom"], mean["points"]) == (3, 2, 3)


def test_the_mean_over_points_is_students_over_repetitions(tmp_path: Path) -> None:
    found = analysed(without_files(tmp_path, sizes=SIZES))
    runs = found.select(found.frame, where={}, metric="throughput", phase="run")
    logs = np.log(runs.pivot(index=["dataset", "label"], columns="repetition", values="value"))
    by_repetition = (logs.xs("LevelDB", level=1) - logs.xs("RocksDB", level=1)).mean()
    low, high = stats.t.interval(0.95, 2, loc=by_repetition.mean(), scale=stats.sem(by_repetition))
    mean = found.overall.query("metric == 'throughput'").iloc[0]
    assert np.log([mean["low"], mean["high"]]) == pytest.approx([low, high])


def test_a_counter_with_zeros_is_compared_by_its_difference(tmp_path: Path) -> None:
    sweep = without_files(tmp_path)
    records = []
    for r in sweep.records:
        stops = Metric(value=float(r.repetition - 1) if r.point.engine == "leveldb" else 0.0, unit="count")
        records.append(with_metrics(r, {"engine.stops": stops}))
    found = analysed(dataclasses.replace(sweep, records=tuple(records)))
    row = found.select(found.ratios, where={}, metric="engine.stops", phase="run").iloc[0]
    assert (row["kind"], row["n"], row["difference"], row["verdict"]) == ("difference", 3, 1.0, "undecided")
    assert np.isnan(row["ratio"])
    faults = found.select(found.ratios, where={}, metric="faults.major", phase="run").iloc[0]
    assert faults["verdict"] == "equal"
    assert "engine.stops" not in set(found.overall["metric"])


def with_metrics(record: Record, metrics: dict[str, Metric]) -> Record:
    assert record.outcome is not None
    phases = [p.model_copy(update={"metrics": {**p.metrics, **metrics}}) for p in record.outcome.phases]
    return record.model_copy(update={"outcome": record.outcome.model_copy(update={"phases": tuple(phases)})})


def test_repetitions_of_one_load_say_so(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    assert not kinds(analysed(sweep))
    (caution,) = analysed(loaded(sweep, loads=1)).cautions
    assert caution.kind == "loads"
    assert "from one load at every point" in caution.message
    assert not kinds(analysed(loaded(sweep, loads=3)))


def loaded(sweep: Sweep, *, loads: int) -> Sweep:
    """The sweep whose repetitions take turns at snapshots of so many loads."""
    records = [
        r.model_copy(
            update={
                "load": 1 + (r.repetition - 1) % loads,
                "point": r.point.model_copy(update={"dataset": "a-dataset"}),
            }
        )
        for r in sweep.records
    ]
    return dataclasses.replace(sweep, records=tuple(records))


def test_repetitions_that_share_loads_are_averaged_within_them(tmp_path: Path) -> None:
    found = analysed(loaded(without_files(tmp_path, repetitions=6), loads=3))
    for table in (found.estimates, found.ratios):
        row = found.select(table, where={}, metric="throughput", phase="run").iloc[-1]
        assert (row["n"], row["freedom"], row["method"]) == (6, 2, "log t over loads")


def test_repetitions_added_after_a_look_are_a_grave_caution(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005, repetitions=5)
    change = [
        r.model_copy(
            update={
                "repetitions_planned": 3 if r.repetition <= 3 else 5,
                "sweep_id": "sweep-1" if r.repetition <= 3 else "sweep-2",
            }
        )
        for r in sweep.records
    ]
    (caution,) = analysed(dataclasses.replace(sweep, records=tuple(change))).cautions
    assert (caution.kind, caution.kind in GRAVE) == ("extended", True)
    assert "RocksDB" in caution.message
    assert not kinds(analysed(replaced(sweep, {"repetitions_planned": 5})))


def test_an_axis_of_the_baseline_alone_is_averaged_with_a_caution(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, sizes=SIZES[:2], noise=0.01)
    records = []
    for record in sweep.records:
        axes = {name: v for name, v in record.point.axes.items() if name != "dataset"}
        if record.point.engine == "rocksdb":
            axes["cache"] = record.point.axes["dataset"]
        elif record.point.axes["dataset"] == SIZES[1]:
            continue
        records.append(record.model_copy(update={"point": record.point.model_copy(update={"axes": axes})}))
    found = analysed(dataclasses.replace(sweep, records=tuple(records)))
    row = found.select(found.ratios, where={}, metric="throughput", phase="run").iloc[0]
    truth = true_rate("leveldb", "A", SIZES[0])
    truth /= np.sqrt(true_rate("rocksdb", "A", SIZES[0]) * true_rate("rocksdb", "A", SIZES[1]))
    assert (row["n"], row["ratio"]) == (3, pytest.approx(truth, rel=0.1))
    assert "RocksDB" in next(c.message for c in found.cautions if c.kind == "ambiguous")


def test_points_that_measure_a_load_are_judged_by_it(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, workloads=("P", "A"), noise=0.3)
    records = []
    for record in sweep.records:
        assert record.outcome is not None
        names = {"measure": "load", "run": "build"} if record.point.axes["workload"] == "P" else {}
        phases = [p.model_copy(update={"name": names.get(p.name, p.name)}) for p in record.outcome.phases]
        outcome = record.outcome.model_copy(update={"phases": tuple(phases)})
        records.append(record.model_copy(update={"outcome": outcome}))
    found = analysed(dataclasses.replace(sweep, records=tuple(records)))
    assert found.headline_phases == ("run", "build")
    for table in (found.estimates, found.ratios):
        rows = found.select(table[table["headline"]], where={}, metric="throughput")
        assert set(zip(rows["workload"], rows["phase"], strict=True)) == {("P", "build"), ("A", "run")}
    (mean,) = found.overall.query("metric == 'throughput'").to_dict("records")
    assert mean["points"] == 2
    (wide,) = (c for c in found.cautions if c.kind == "spread")
    assert "LevelDB P" in wide.message


def test_failures_are_results_with_reasons(analysis: Analysis) -> None:
    assert analysis.runs_planned == analysis.runs_recorded == analysis.runs_ok + 4
    assert {f.status for f in analysis.failures} == {"out_of_memory", "timeout"}
    assert any(f.point == "LevelDB C 1 GiB" and "cap of 256 MiB" in f.reason for f in analysis.failures)


def test_claims_get_the_verdict_that_the_numbers_allow(analysis: Analysis) -> None:
    verdicts = {claim.id: claim.verdict for claim in analysis.claims}
    assert verdicts == {
        "C-small": "supported",
        "P-always": "contradicted",
        "A-middle": "undecided",
        "B": "not measured",
    }
    assert [len(c.points) for c in analysis.claims] == [1, 3, 1, 0]


def test_a_claim_with_missing_points_is_not_supported(sweep: Sweep) -> None:
    claim = sweep.experiment.claims[0].model_copy(update={"where": {"workload": ("C",)}, "at_least": 0.1})
    changed = sweep.experiment.model_copy(update={"claims": (claim,)})
    result = analysed(dataclasses.replace(sweep, experiment=changed)).claims[0]
    assert (result.verdict, len(result.points)) == ("undecided", 2)
    assert "not measured" in result.why


def test_points_that_never_ran_count_against_a_claim(sweep: Sweep) -> None:
    claim = sweep.experiment.claims[1].model_copy(update={"at_least": 0.1})
    changed = sweep.experiment.model_copy(update={"claims": (claim,)})
    of = {size: [r for r in sweep.records if r.point.axes["dataset"] == size] for size in SIZES}
    partial = dataclasses.replace(sweep, experiment=changed, records=(*of[SIZES[0]], *of[SIZES[1]]))
    result = analysed(partial).claims[0]
    assert (result.verdict, len(result.points)) == ("undecided", 2)
    assert "1 more were not measured" in result.why


def judged(sweep: Sweep, *claims: ClaimSpec, records: Sequence[Record] | None = None) -> list[ClaimResult]:
    """The verdicts on these claims."""
    experiment = sweep.experiment.model_copy(update={"claims": claims})
    changed = dataclasses.replace(sweep, experiment=experiment, records=tuple(records or sweep.records))
    return list(analysed(changed).claims)


FASTER = ClaimSpec(id="c", text="", engine="leveldb", relative_to="rocksdb", at_least=1.2)


def test_lost_runs_leave_a_claim_undecided(tmp_path: Path) -> None:
    lost = {("rocksdb", "A", SIZES[0], 2): "timeout"}
    assert judged(without_files(tmp_path, repetitions=5), FASTER)[0].verdict == "supported"
    sweep = without_files(tmp_path, repetitions=5, statuses=lost)
    (result,) = judged(sweep, FASTER)
    assert (result.verdict, result.points[0].doubt) == ("undecided", "1 of 10 runs were lost")
    (missing,) = judged(sweep, FASTER, records=[r for r in sweep.records if r.status == "ok"])
    assert missing.points[0].doubt == "1 of 10 runs were lost"


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"repetitions_planned": 3}, "repetitions were added"),
        ({"environment": "elsewhere"}, "different hosts"),
    ],
)
def test_grave_cautions_leave_a_claim_undecided(
    tmp_path: Path, change: dict[str, object], doubt: str
) -> None:
    sweep = without_files(tmp_path, repetitions=5)
    if "environment" in change:
        elsewhere = sweep.records[0].environment.model_copy(update={"host_id": "elsewhere"})
        records = replaced(sweep, {"environment": elsewhere}, only=0).records
    else:
        records = replaced(sweep, change).records
    (result,) = judged(sweep, FASTER, records=records)
    assert result.verdict == "undecided"
    assert doubt in result.why


def test_a_contradiction_elsewhere_outweighs_a_doubt(tmp_path: Path) -> None:
    lost = {("leveldb", "A", SIZES[0], 1): "timeout"}
    sweep = without_files(tmp_path, repetitions=5, sizes=SIZES, statuses=lost)
    (result,) = judged(sweep, FASTER)
    assert result.verdict == "contradicted"
    assert [bool(point.doubt) for point in result.points] == [True, False, False]


def test_claims_are_adjusted_for_their_number(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.04)
    low = analysed(sweep).ratios.query("metric == 'throughput' and phase == 'run'")["low"].iloc[0]
    near = FASTER.model_copy(update={"at_least": 0.999 * low})
    (alone,) = judged(sweep, near)
    assert alone.verdict == "supported"
    hopeless = [
        FASTER.model_copy(update={"id": f"n{i}", "at_least": 1.01 * low, "at_most": 1.02 * low})
        for i in range(9)
    ]
    first, *_ = judged(sweep, near, *hopeless)
    assert first.verdict == "undecided"
    assert "not among so many claims" in first.why


def test_a_claim_over_points_is_contradicted_no_more_often_than_promised() -> None:
    """Four points that lie on the bound: choosing the worst of them must not contradict."""
    rng = np.random.default_rng(2)
    false = 0
    for _ in range(300):
        means = [mean_of(rng.normal(0, 0.05, 5)) for _ in range(4)]
        table = pd.DataFrame(
            {
                "label": "e", "engine": "e", "phase": "run", "metric": "m", "unit": "op/s", "axis": range(4),
                "n": 5, "median": 1.0, "low": 0.9, "high": 1.1, "smallest": 1.0,
                "mean": [m.value for m in means], "error": [m.error for m in means], "freedom": 4.0,
            }
        )  # fmt: skip
        spec = ClaimSpec(id="c", text="", engine="e", metric="m", at_least=1.0)
        evidence = Evidence(table, table.iloc[:0], planned=4, doubts=lambda place: None)
        (result,) = judge_claims([spec], evidence=[evidence], axes=["axis"])
        false += result.verdict == "contradicted"
    assert false / 300 <= 0.05


def promising(sweep: Sweep, promises: Mapping[str, Durability]) -> Sweep:
    """The sweep whose engines say what a crash takes."""
    records = []
    for record in sweep.records:
        assert record.outcome is not None
        engine = record.outcome.engine.model_copy(update={"durability": promises.get(record.point.engine)})
        outcome = record.outcome.model_copy(update={"engine": engine})
        records.append(record.model_copy(update={"outcome": outcome}))
    return dataclasses.replace(sweep, records=tuple(records))


UNSYNCED = Durability(process="kept", power="lost")
CHECKPOINTS = Durability(process="kept", power="lost", power_loss_seconds=1, consistent_prefix=True)


def test_differing_durability_is_a_caution_and_a_doubt(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    differing = promising(sweep, {"rocksdb": UNSYNCED, "leveldb": CHECKPOINTS})
    (caution,) = analysed(differing).cautions
    assert caution.kind == "durability"
    assert "LevelDB: a power cut may lose the last 1 s, in order" in caution.message
    assert judged(differing, FASTER)[0].verdict == "supported", "what promises more is not favoured by it"
    weaker = promising(sweep, {"rocksdb": CHECKPOINTS, "leveldb": UNSYNCED})
    assert "LevelDB promises less durability than RocksDB" in judged(weaker, FASTER)[0].why
    assert not kinds(analysed(promising(sweep, {"rocksdb": UNSYNCED, "leveldb": UNSYNCED})))
    assert not kinds(analysed(promising(sweep, {"rocksdb": UNSYNCED})))


def test_arrivals_that_never_started_are_a_caution(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    late = with_metrics(sweep.records[0], {"arrivals.missed": Metric(value=1234.0, unit="op")})
    idle = with_metrics(sweep.records[1], {"arrivals.missed": Metric(value=0.0, unit="op")})
    records = (late, idle, *sweep.records[2:])
    (caution,) = analysed(dataclasses.replace(sweep, records=records)).cautions
    assert (caution.kind, "1,234 operations" in caution.message) == ("arrivals", True)
    assert "in 1 of 6 runs" in caution.message


def test_twins_of_one_engine_are_compared_as_two_contenders(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, repetitions=5, sizes=SIZES[:2])
    twins = {"rocksdb": "twin-a", "leveldb": "twin-b"}
    records, truth = [], true_rate("rocksdb", "A", SIZES[0]) / true_rate("leveldb", "A", SIZES[0])
    for record in sweep.records:
        label = twins[record.point.engine]
        point = record.point.model_copy(
            update={
                "engine": "rocksdb",
                "label": label,
                "binary_sha256": "b" * 64,
                "axes": {**record.point.axes, "engine": label},
            }
        )
        records.append(record.model_copy(update={"point": point}))
    experiment = sweep.experiment.model_copy(update={"baseline": "twin-a"})
    found = analysed(dataclasses.replace(sweep, records=tuple(records), experiment=experiment))
    assert found.baseline == "twin-a"
    assert [c.label for c in found.contenders] == ["twin-a", "twin-b"]
    rows = found.select(found.ratios, where={}, metric="throughput", phase="run")
    assert set(rows["label"]) == {"twin-b"}
    assert rows["ratio"].iloc[0] == pytest.approx(1 / truth, rel=0.1)
    assert list(found.overall.query("metric == 'throughput'")["points"]) == [2]


def test_series_and_histograms_come_with_their_points(analysis: Analysis) -> None:
    assert set(analysis.series["column"]) == {"throughput", "latency.p99", "memory.rss"}
    assert set(analysis.steadiness["state"]) == {"steady"}
    merged = analysis.percentiles.query("workload == 'A' and operation == 'read' and percentile == 50")
    assert set(merged["count"]) == {3 * 4000}


def test_events_come_with_their_points_in_order(analysis: Analysis) -> None:
    run = analysis.events[analysis.events["run_id"] == analysis.events["run_id"].iloc[0]]
    assert list(run["begin"]) == [13.5, 26.25, 40.5]
    assert list(run["ended"]) == [True, True, False]
    assert list(run["state"]) == ["delay", "stop", ""]
    assert {"workload", "label", "repetition"} <= set(analysis.events.columns)


EVENTS_HEADER = "phase,begin,duration,ended,kind,state,cause,detail\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected events"),
        ("phase,begin\nmeasure,1\n", "expected columns duration, ended"),
        (EVENTS_HEADER + "measure,x,1,1,stall,,,\n", "expected numbers"),
        (EVENTS_HEADER + "measure,1,1,maybe,stall,,,\n", "expected numbers"),
    ],
)
def test_damaged_events_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "events.csv"
    path.write_text(text)
    with pytest.raises(StoreError, match=complaint) as error:
        load_events(path)
    assert str(path) in str(error.value)


def test_no_event_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS_HEADER)
    assert load_events(path).empty


def test_damaged_files_become_cautions(sweep: Sweep, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "latency.hlog").write_text("nothing\n")
    (broken / "series.csv").write_text("phase,elapsed\nmeasure,1\n")
    run = sweep.records[1].run_id
    found = analyse(
        sweep.experiment, sweep.plan, sweep.records, run_dirs={**sweep.run_dirs, run: broken}
    )  # fmt: skip
    about = {c.kind: c.message for c in found.cautions if c.kind in ("series", "histogram", "events")}
    assert "found no histogram" in about["histogram"]
    assert "throughput" in about["series"]
    assert "events.csv" in about["events"]
    gone = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    assert {"series", "histogram", "events"} <= kinds(gone)
    assert gone.series.empty
    assert gone.events.empty


def test_a_quiet_sweep_has_no_caution(tmp_path: Path) -> None:
    assert analysed(without_files(tmp_path, noise=0.005)).cautions == ()


def test_conditions_that_differ_are_named(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    first = sweep.records[0]
    free = first.runner.model_copy(update={"capped": False})
    assert {"uncapped", "mixed"} == kinds(analysed(replaced(sweep, {"runner": free}, only=0)))
    details = {**first.runner.details, "cache_policy": "cold"}
    cold = first.runner.model_copy(update={"details": details})
    assert analysed(replaced(sweep, {"runner": cold}, only=0)).cautions == (), "loads have nothing to cache"
    loaded = replaced(sweep, {"point": first.point.model_copy(update={"dataset": "d"})}, only=0)
    point = sweep.records[1].point.model_copy(update={"dataset": "d"})
    loaded = replaced(loaded, {"point": point, "runner": cold}, only=1)
    (caution,) = analysed(loaded).cautions
    assert "different cache policies are compared: cold, snapshot-read" in caution.message
    elsewhere = first.environment.model_copy(update={"host_id": "another"})
    assert {"mixed"} == kinds(analysed(replaced(sweep, {"environment": elsewhere}, only=0)))
    assert first.outcome is not None
    build = first.outcome.build.model_copy(update={"sanitizer": "address"})
    slow = first.outcome.model_copy(update={"build": build})
    assert {"build"} == kinds(analysed(replaced(sweep, {"outcome": slow}, only=0)))
    build = first.outcome.build.model_copy(update={"type": "Debug"})
    slow = first.outcome.model_copy(update={"build": build})
    assert {"build"} == kinds(analysed(replaced(sweep, {"outcome": slow}, only=0)))
    assert {"run"} == kinds(analysed(replaced(sweep, {"warnings": ("readahead is large",)}, only=0)))


def in_containers(sweep: Sweep, engine: str) -> Sweep:
    """The engine's records as a Docker runner would have left them."""
    docker = sweep.records[0].runner.model_copy(update={"name": "docker"})
    records = [
        r.model_copy(update={"runner": docker}) if r.point.engine == engine else r for r in sweep.records
    ]
    return dataclasses.replace(sweep, records=tuple(records))


def test_runners_that_differ_are_named_unless_the_experiment_names_them(tmp_path: Path) -> None:
    sweep = in_containers(without_files(tmp_path, noise=0.005), "leveldb")
    (caution,) = analysed(sweep).cautions
    assert "different runners are compared: docker, local" in caution.message

    first, second = sweep.experiment.engines
    assert second.engine == "leveldb"
    asked = second.model_copy(update={"runner": "docker"})
    experiment = sweep.experiment.model_copy(update={"engines": (first, asked)})
    assert analysed(dataclasses.replace(sweep, experiment=experiment)).cautions == ()


def test_runners_of_engines_that_named_none_still_differ(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    docker = sweep.records[0].runner.model_copy(update={"name": "docker"})
    first, second = sweep.experiment.engines
    experiment = sweep.experiment.model_copy(
        update={"engines": (first, second.model_copy(update={"runner": "local"}))}
    )
    mixed = replaced(dataclasses.replace(sweep, experiment=experiment), {"runner": docker}, only=0)
    assert sweep.records[0].point.engine == first.engine
    (caution,) = analysed(mixed).cautions
    assert "different runners" in caution.message


def test_two_sets_of_different_runners_are_compared_with_a_caution(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    found = compare(sweep.records, in_containers(in_containers(sweep, "leveldb"), "rocksdb").records)
    assert any("different runners" in caution.message for caution in found.cautions)


def on_devices(sweep: Sweep, *, axis: bool) -> Sweep:
    """Every other repetition on a slower disk, as the axis shows or as it hides."""
    hdd = DeviceLimits(name="hdd", read_bytes_per_second=150 << 20, read_iops=150)
    records = []
    for r in sweep.records:
        limits = hdd if r.repetition % 2 else None
        axes = {**r.point.axes, "device": "hdd" if limits else "full-speed"} if axis else r.point.axes
        point = r.point.model_copy(update={"device": limits, "axes": axes})
        details = {**r.runner.details, **({"device_binds": "reads"} if limits else {})}
        runner = r.runner.model_copy(update={"details": details})
        records.append(r.model_copy(update={"point": point, "runner": runner}))
    return dataclasses.replace(sweep, records=tuple(records))


def test_devices_of_the_axis_are_named_and_are_no_mix(tmp_path: Path) -> None:
    found = analysed(on_devices(without_files(tmp_path, noise=0.005, repetitions=4), axis=True))
    rates = "reads at most 150 MiB/s and 150/s"
    assert found.devices == (Device("hdd", rates, "reads", 4), Device("full-speed", "", "", 4))
    assert all("device_binds" not in each.details for each in found.confinements)
    assert "mixed" not in kinds(found)
    (message,) = (caution.message for caution in found.cautions if caution.kind == "device")
    assert f"hdd ({rates})" in message
    assert analysed(without_files(tmp_path, noise=0.005)).devices == ()


def test_a_device_that_no_axis_names_is_a_mix(tmp_path: Path) -> None:
    mixed = analysed(on_devices(without_files(tmp_path, noise=0.005), axis=False))
    assert kinds(mixed) == {"mixed", "device"}
    assert "different limits of the disk are compared: none, reads at" in mixed.cautions[0].message


def with_fact(sweep: Sweep, group: str, name: str, value: object) -> Sweep:
    first = sweep.records[0].environment
    facts = {**first.facts, group: {**first.facts.get(group, {}), name: value}}
    return replaced(sweep, {"environment": first.model_copy(update={"facts": facts})}, only=0)


def test_a_machine_that_was_changed_or_busy_is_named(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    changed, ahead = analysed(with_fact(sweep, "disk", "read_ahead_kb", 8192)).cautions
    assert changed.kind == "mixed"
    assert "disk.read_ahead_kb are compared: 128, 8192" in changed.message
    assert ahead.kind == "readahead"
    assert "device readahead of 8192 KiB" in ahead.message
    assert ahead.remedy == "blockdev --setra 256 /dev/vda"
    (busy,) = analysed(with_fact(sweep, "load", "cpus_busy", 0.7)).cautions
    assert busy.kind == "busy"
    assert "1 of 6 runs (up to 0.7)" in busy.message
    assert analysed(with_fact(sweep, "load", "cpus_busy", 0.05)).cautions == ()


def test_short_runs_say_that_steadiness_was_not_judged(tmp_path: Path) -> None:
    found = analysed(without_files(tmp_path, noise=0.005, files=True, seconds=5))
    assert [c.kind for c in found.cautions] == ["unsteady"]
    assert "steadiness was not judged: 5 intervals or fewer" in found.cautions[0].message


def test_loads_are_judged_too(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005, files=True, seconds=40)
    for folder in sweep.run_dirs.values():
        series = folder / "series.csv"
        lines = series.read_text().replace("measure,", "load,").splitlines()
        slow = [",".join([*line.split(",")[:2], "900.0", *line.split(",")[3:]]) for line in lines[33:41]]
        series.write_text("\n".join([*lines[:33], *slow]) + "\n")
    found = analysed(sweep)
    assert set(found.steadiness["phase"]) == {"load"}
    (caution,) = found.cautions
    assert caution.kind == "unsteady"
    assert "RocksDB (collapsed at the end (−" in caution.message


def test_warnings_that_differ_in_numbers_are_one_caution(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    for place, busy in enumerate(("0.9", "1.43", "0.16")):
        text = f"others kept {busy} CPUs busy during the run"
        sweep = replaced(sweep, {"warnings": (text, "disk 1 is slow")}, only=place)
    found = [caution.message for caution in analysed(sweep).cautions if caution.kind == "run"]
    runs = len(sweep.records)
    assert found == [
        f"others kept 0.16 to 1.43 CPUs busy during the run (3 of {runs} runs)",
        f"disk 1 is slow (3 of {runs} runs)",
    ]


def test_an_uncapped_sweep_is_noted_once(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, noise=0.005)
    free = sweep.records[0].runner.model_copy(update={"capped": False})
    change = {"runner": free, "warnings": ("ran without a memory cap (--uncapped)",)}
    (caution,) = analysed(replaced(sweep, change)).cautions
    assert caution.kind == "uncapped"


def test_wide_points_single_runs_and_missing_runs_are_named(tmp_path: Path) -> None:
    assert "spread" in kinds(analysed(without_files(tmp_path, noise=0.3)))
    assert "repetitions" in kinds(analysed(without_files(tmp_path, repetitions=1)))
    sweep = without_files(tmp_path, noise=0.005)
    assert kinds(analysed(dataclasses.replace(sweep, records=sweep.records[:-1]))) == {"missing"}


def test_of_two_records_of_one_run_the_later_counts(tmp_path: Path) -> None:
    sweep = without_files(tmp_path)
    again = sweep.records[0].model_copy(update={"run_id": "again", "started_at": "2099-01-01T00:00:00+00:00"})
    assert [r.run_id for r in latest([*sweep.records, again])][-1] == "again"
    assert len(latest([again, *sweep.records])) == len(sweep.records)


def test_a_run_that_settled_nothing_replaces_none_that_did(tmp_path: Path) -> None:
    first = without_files(tmp_path).records[0]
    stopped = first.model_copy(update={"status": "interrupted", "started_at": "2099-01-01T00:00:00+00:00"})
    assert latest([first, stopped]) == (first,)


def test_compare_never_pools_two_builds(tmp_path: Path) -> None:
    records = without_files(tmp_path).records
    point = records[0].point.model_copy(update={"identity": "another-build"})
    newer = [
        r.model_copy(update={"point": point, "started_at": "2099-01-01T00:00:00+00:00"})
        for r in scaled(records, 2.0, sweep_id="sweep-2")
        if r.point.slug == point.slug
    ]
    found = compare(records, [*records, *newer])
    rows = throughput(found)
    assert dict(zip(rows["label"], rows["n_after"], strict=True)) == {"RocksDB": 3, "LevelDB": 3}
    assert rows.set_index("label").loc["RocksDB", "ratio"] == pytest.approx(2.0)
    assert any("after: several builds" in c.message and "RocksDB A" in c.message for c in found.cautions)


@pytest.mark.parametrize(("more", "said"), [(1, " B, "), (256 << 20, "256 MiB, 512 MiB")])
def test_compare_spells_sizes_for_people(tmp_path: Path, more: int, said: str) -> None:
    record = without_files(tmp_path).records[0]
    point = record.point
    change = {"cap_bytes": point.cap_bytes + more, "axes": {**point.axes, "dataset": 3 << 30}}
    found = compare([record], [record.model_copy(update={"point": point.model_copy(update=change)})])
    assert [name.endswith("MiB") for name in found.only_before] == [True]
    assert [name.endswith("3 GiB") for name in found.only_after] == [True]
    (caps,) = (c.message for c in found.cautions if "memory caps" in c.message)
    assert said in caps


def test_no_record_is_an_error_that_names_what_to_run(tmp_path: Path) -> None:
    sweep = without_files(tmp_path)
    with pytest.raises(StoreError, match="kvdyno run quickstart"):
        analyse(sweep.experiment, sweep.plan, (), run_dirs={})


def test_an_axis_must_not_hide_a_column(tmp_path: Path) -> None:
    record = without_files(tmp_path).records[0]
    point = record.point.model_copy(update={"axes": {"engine": "rocksdb", "value": 3}})
    with pytest.raises(SpecError, match="value"):
        tidy([record.model_copy(update={"point": point})])


def scaled(records: tuple[Record, ...], factor: float, *, sweep_id: str) -> list[Record]:
    found = []
    for record in records:
        assert record.outcome is not None
        phases = []
        for phase in record.outcome.phases:
            rate = phase.metrics["throughput"]
            faster = rate.model_copy(update={"value": rate.value * factor})
            phases.append(phase.model_copy(update={"metrics": {**phase.metrics, "throughput": faster}}))
        outcome = record.outcome.model_copy(update={"phases": tuple(phases)})
        found.append(record.model_copy(update={"outcome": outcome, "sweep_id": sweep_id}))
    return found


def throughput(found: Comparison) -> pd.DataFrame:
    return found.rows.query("metric == 'throughput' and phase == 'run'")


def test_compare_finds_a_change_between_two_sweeps(tmp_path: Path) -> None:
    records = without_files(tmp_path, noise=0.01, repetitions=5).records
    found = compare(records, scaled(records, 1.3, sweep_id="sweep-2"))
    rows = throughput(found)
    assert found.matched == 2
    assert list(rows["ratio"]) == pytest.approx([1.3, 1.3])
    assert set(rows["verdict"]) == {"faster"}
    assert not found.rows["paired"].any()
    assert "write_amplification.net" in set(found.rows["metric"])


def test_compare_pairs_two_engines_of_one_sweep(tmp_path: Path) -> None:
    records = without_files(tmp_path, repetitions=5).records
    sides = [[r for r in records if r.point.engine == name] for name in ("rocksdb", "leveldb")]
    found = compare(*sides)
    assert set(found.rows["label"]) == {"LevelDB / RocksDB"}
    assert found.rows["paired"].all()
    assert throughput(found)["ratio"].iloc[0] == pytest.approx(129 / 76, rel=0.1)


def test_axes_that_an_engine_lacks_do_not_hide_its_points(tmp_path: Path) -> None:
    sweep = without_files(tmp_path, sizes=SIZES[:2])
    records = []
    for record in sweep.records:
        axes = dict(record.point.axes)
        if record.point.engine == "leveldb":
            axes["log_limit"] = 4
        records.append(record.model_copy(update={"point": record.point.model_copy(update={"axes": axes})}))
    found = analysed(dataclasses.replace(sweep, records=tuple(records)))
    assert found.axis_names == ("workload", "dataset", "log_limit")
    rows = found.select(found.ratios, where={}, metric="throughput", phase="run")
    assert list(rows["n"]) == [3, 3]
    assert len(found.select(found.estimates, where={}, metric="throughput", phase="run")) == 4


def test_filters_are_at_paper_scale(analysis: Analysis, sweep: Sweep) -> None:
    paper = sweep.experiment.grid["dataset"]
    rows = analysis.select(analysis.estimates, where={"dataset": (paper[0],), "workload": ("A",)})
    assert set(rows["dataset"]) == {SIZES[0]}
    assert analysis.select(analysis.estimates, where={"dataset": (SIZES[0],)}).empty
    assert {axis.name: axis.unit for axis in analysis.axes} == {"workload": "", "dataset": "byte"}


def test_compare_lists_what_only_one_side_has(tmp_path: Path) -> None:
    records = without_files(tmp_path, sizes=SIZES[:2]).records
    small = [r for r in records if r.point.axes["dataset"] == SIZES[0]]
    found = compare(records, small)
    assert found.matched == 2
    assert len(found.only_before) == 2
    assert found.only_after == ()


def test_merged_histograms_hold_every_operation(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    halves = [rng.lognormal(10, 1, size=3000) for _ in range(2)]
    for place, half in enumerate(halves):
        write_log(tmp_path / f"{place}.hlog", {"measure.read": histogram(half)})
    merged = merge(read_log(tmp_path / f"{place}.hlog") for place in range(2))
    points = {p.percentile: p.value for p in curve(merged["measure.read"])}
    both = np.concatenate(halves)
    assert points[50.0] == pytest.approx(np.percentile(both, 50), rel=0.01)
    assert points[99.0] == pytest.approx(np.percentile(both, 99), rel=0.03)
    assert points[100.0] == pytest.approx(both.max(), rel=0.002)
    assert max(p for p in points if p < 100) < 100 * (1 - 1 / 6001)


def test_the_cap_reaches_the_report(analysis: Analysis) -> None:
    assert [c.cap_bytes for c in analysis.confinements] == [CAP]


def test_an_engines_name_stands_for_its_first_contender() -> None:
    versions = ["rocksdb@9.9.3", "rocksdb@10.4.2"]
    table = pd.DataFrame({"label": versions, "engine": ["rocksdb", "rocksdb"]})
    assert resolve_label("rocksdb", table) == "rocksdb@9.9.3"
    assert resolve_label("rocksdb@10.4.2", table) == "rocksdb@10.4.2"
    assert resolve_label("leveldb", table) == "leveldb"
