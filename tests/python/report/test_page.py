"""What the page's parts prepare: links to records, words, colours, points and cautions."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from fakes_records import SIZES, Fake, Losses, Sweep, fake_sweep, with_step

from kvdyno.analysis import analyse
from kvdyno.model.results import Analysis, Caution, Contender, Machine
from kvdyno.report import write_report
from kvdyno.report.forest import forest, heat_map
from kvdyno.report.found import what_was_found
from kvdyno.report.grouping import metric_group
from kvdyno.report.made import differing_options, flat_facts, machine_text
from kvdyno.report.spots import Spots
from kvdyno.report.trust import by_weight, doubts_of, drift, weighed
from kvdyno.report.workloads import record_text, workload_text
from plots import style
from plots.style import COLOURS


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    lost: Losses = {("leveldb", "C", SIZES[1], 2): "timeout"}
    folder = tmp_path_factory.mktemp("results") / "runs"
    return fake_sweep(
        Fake(folder=folder, repetitions=3, workloads=("A", "C"), sizes=SIZES[:2], statuses=lost)
    )


@pytest.fixture(scope="module")
def analysis(sweep: Sweep) -> Analysis:
    details = {
        "confinement": "cgroup v1",
        "snapshot": {"bytes": 1 << 20},
        "steps": [{"phase": "a"}, {"phase": "b"}],
    }
    records = [
        r.model_copy(update={"runner": r.runner.model_copy(update={"details": details})})
        for r in sweep.records
    ]
    return analyse(sweep.experiment, sweep.plan, records, run_dirs=sweep.run_dirs)


@pytest.fixture(scope="module")
def page(analysis: Analysis, sweep: Sweep, tmp_path_factory: pytest.TempPathFactory) -> str:
    experiment = sweep.experiment.model_copy(update={"figures": ()})
    out = next(iter(sweep.run_dirs.values())).parents[1] / "reports" / "quickstart-small"
    return write_report(analysis, experiment, out=out, commands=()).html.read_text("utf-8")


def test_every_run_links_to_its_record_from_where_the_page_lies(page: str, sweep: Sweep) -> None:
    links = re.findall(r'<a href="([^"]+/record\.json)">', page)
    assert sorted(links) == sorted(f"../../runs/{record.run_id}/record.json" for record in sweep.records)


def test_a_run_whose_folder_is_not_known_has_no_link(sweep: Sweep, tmp_path: Path) -> None:
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    experiment = sweep.experiment.model_copy(update={"figures": (), "tables": ()})
    text = write_report(found, experiment, out=tmp_path, commands=()).html.read_text("utf-8")
    assert "record.json" not in text


def test_no_structure_is_printed_as_python_writes_it(page: str) -> None:
    shown = page[: page.index('id="page-data"')]
    assert not re.search(r"\{(&#39;|'|&#34;)\w|\[(&#39;|\{)|\bNone\b|OrderedDict", shown)
    assert "steps.2.phase" in shown
    assert "1.00 MiB" in shown


def test_all_data_of_the_scripts_parse_and_agree(page: str, analysis: Analysis) -> None:
    raw = page[page.index('id="page-data">') + len('id="page-data">') :].split("</script>")[0]
    data = json.loads(raw)
    assert "<" not in raw
    assert data["labels"] == ["RocksDB", "LevelDB"]
    assert len(data["points"]) == 8
    assert data["pairs"][0]["metric"] == "throughput"
    assert len(data["pairs"][0]["rows"]) == 8
    assert {line[0] for line in data["series"]["runs"]} == set(range(8))
    assert len(data["medians"]["points"]) == 8


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        (
            {"readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "uniform"},
            "half gets, half puts; keys uniform",
        ),
        (
            {"readproportion": "1", "requestdistribution": "zipfian", "zipfian_const": "0.8"},
            "only gets; keys zipfian (0.8)",
        ),
        (
            {"readproportion": "1", "readabsentfraction": "0.5"},
            "only gets (50 % of them of keys that no record has)",
        ),
        (
            {
                "scanproportion": "0.95",
                "updateproportion": "0.05",
                "minscanlength": "1",
                "maxscanlength": "100",
            },
            "5 % puts, 95 % scans of 1 to 100 rows",
        ),
        ({"updateproportion": "1", "update.mode": "readmodifywrite"}, "only puts that read first"),
        (
            {"readproportion": "0.5", "updateproportion": "0.5", "writer.threads": "1"},
            "1 thread put, all others get",
        ),
        ({"dotransaction": "false"}, "the load itself: an empty store is filled"),
        ({"readproportion": "many"}, ""),
        ({}, ""),
    ],
)
def test_workloads_have_words(properties: dict[str, str], text: str) -> None:
    assert workload_text(properties) == text


def test_record_sizes_have_words() -> None:
    assert record_text({"fieldcount": "2", "fieldlength": "400"}) == "values of 800 bytes"
    assert record_text({}) == ""


def test_a_machine_has_words_for_what_is_known_of_it() -> None:
    facts = {
        "cpu.model": "Xeon",
        "cpu.logical": 2,
        "memory.bytes": 8 << 30,
        "disk.device": "vda",
        "cpu.governor": None,
    }
    assert machine_text(Machine("h", facts, 3)) == "Xeon, 2 CPUs, 8.00 GiB of memory, vda"
    assert machine_text(Machine("h", {}, 3)) == "nothing is known of it"


def test_facts_are_flat_and_empty_ones_left_out() -> None:
    facts = {
        "a": {"bytes": 1024, "none": None},
        "list": ["x", "y"],
        "steps": [{"n": 1}, {"n": 2}],
        "empty": [],
    }
    assert flat_facts(facts) == [
        ("a.bytes", "1.00 KiB"),
        ("list", "x, y"),
        ("steps.1.n", "1"),
        ("steps.2.n", "2"),
    ]


def test_only_options_that_differ_are_shown() -> None:
    def contender(label: str, **options: str) -> Contender:
        return Contender(label, "rocksdb", "default", "1", "", (), "", "", options, None)

    (found,) = differing_options([contender("a", x="1", y="2"), contender("b", x="1", y="3", z="4")])
    assert [(o.name, o.values) for o in found.options] == [("y", ("2", "3")), ("z", (None, "4"))]
    assert found.shared == 1
    assert differing_options([contender("a", x="1")]) == ()


def test_verdicts_have_colours_that_no_contender_has() -> None:
    def channels(colour: str) -> tuple[int, ...]:
        return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))

    for kind in ("up", "down"):
        for ground in style.VERDICTS[kind]:
            for engine in COLOURS:
                far = (
                    sum((a - b) ** 2 for a, b in zip(channels(ground), channels(engine), strict=True)) ** 0.5
                )
                assert far > 50, (kind, engine)


def test_the_headline_shows_where_the_mean_hides_opposite_verdicts(tmp_path: Path) -> None:
    sweep = fake_sweep(Fake(folder=tmp_path, repetitions=5, workloads=("P",), files=False, noise=0.01))
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs={})
    section = what_was_found(found, Spots(found))
    (standing,) = section.standings
    assert standing.note == "slower at 2, faster at 1 of 3 points"
    assert section.headline.endswith("Faster at some points, slower at others: LevelDB.")


def test_the_gravest_caution_comes_first() -> None:
    mild, grave, note = Caution("spread", ""), Caution("uncapped", ""), Caution("noise", "")
    assert weighed([note, mild, grave]) == [grave, mild, note]
    assert [weight.name for weight in by_weight([note, mild])] == ["limits", "notes"]


def test_points_with_cautions_and_lost_runs_are_counted(analysis: Analysis) -> None:
    doubts = doubts_of(analysis)
    named = sum("LevelDB C 256 MiB" in caution.points for caution in analysis.cautions)
    assert doubts["LevelDB C 256 MiB"] == named + 1


def test_the_forest_has_means_first_and_then_points_in_order(analysis: Analysis) -> None:
    spots = Spots(analysis)
    found = forest(analysis, spots, doubts=doubts_of(analysis))
    assert [row.place for row in found.rows] == [
        "geometric mean, 4 points", "A 64 MiB", "A 256 MiB", "C 64 MiB", "C 256 MiB",
    ]  # fmt: skip
    assert found.rows[1].spot is not None
    assert found.rows[1].filters == "|engine=LevelDB|workload=A|dataset=64 MiB|"
    assert all(0 <= (row.mark.centre or 0) <= 100 for row in found.rows)


def test_one_contender_is_mapped_by_its_last_axis(analysis: Analysis) -> None:
    found = heat_map(analysis, Spots(analysis))
    assert found is not None
    assert found.columns == ("64 MiB", "256 MiB")
    assert [line for line, _, _ in found.rows] == ["A", "C"]
    assert all(cell and cell.text.endswith("x") for _, _, cells in found.rows for cell in cells)


def test_every_run_is_a_dot_and_a_lost_one_has_no_height(analysis: Analysis) -> None:
    found = drift(analysis, Spots(analysis))
    assert found is not None
    assert len(found.dots) == len(analysis.runs)
    assert [dot.spot.name for dot in found.dots if dot.top is None] == ["LevelDB C 256 MiB"]
    assert found.dots[0].left == 0
    assert found.dots[-1].left == 100


@pytest.mark.parametrize(
    ("metric", "group"),
    [
        ("throughput", "throughput"),
        ("read.latency.p99", "latency"),
        ("write_amplification.net", "amplification"),
        ("space_amplification", "space"),
        ("cgroup.memory.page_cache", "memory"),
        ("engine.stops", "why"),
    ],
)
def test_metrics_belong_to_questions(metric: str, group: str) -> None:
    assert metric_group(metric) == group


def test_commands_in_cautions_are_code_and_text_stays_text(
    analysis: Analysis, sweep: Sweep, tmp_path: Path
) -> None:
    caution = Caution("loads", "<b> at `a<b`", "set `loads` to 3")
    found = dataclasses.replace(analysis, cautions=(caution,))
    experiment = sweep.experiment.model_copy(update={"figures": ()})
    page = write_report(found, experiment, out=tmp_path, commands=()).html.read_text("utf-8")
    assert "&lt;b&gt; at <code>a&lt;b</code>" in page
    assert "set <code>loads</code> to 3" in page


def test_a_host_that_stepped_is_named_in_the_section_on_trust(tmp_path: Path) -> None:
    fake = Fake(folder=tmp_path / "runs", repetitions=12, workloads=("A",), sizes=SIZES[:1], files=False)
    stepped = with_step(fake_sweep(fake), at=13)
    found = analyse(stepped.experiment, stepped.plan, stepped.records, run_dirs=stepped.run_dirs)
    page = write_report(found, stepped.experiment, out=tmp_path, commands=()).html.read_text("utf-8")
    section = page[page.index('<section id="trust">') :]
    (caution,) = re.findall(
        r'<p class="caution limits">host host-5d2c changed .*?</p>', section[: section.index("</section>")]
    )
    assert "a fixed CPU loop took 5.76 ms instead of 5 (medians); 1 block was split" in caution
    assert "Remedy: find out what changed on the host" in caution


def test_a_sweep_that_a_step_leaves_without_a_ratio_still_has_its_page(tmp_path: Path) -> None:
    fake = Fake(folder=tmp_path / "runs", repetitions=12, workloads=("A",), sizes=SIZES[:1], files=False)
    made = fake_sweep(fake)
    by_engine = sorted(made.records, key=lambda record: record.point.engine)
    moved = [
        record.model_copy(update={"started_at": first.started_at})
        for record, first in zip(by_engine, made.records, strict=True)
    ]
    apart = with_step(dataclasses.replace(made, records=tuple(moved)), at=12)
    found = analyse(apart.experiment, apart.plan, apart.records, run_dirs=apart.run_dirs)
    assert found.ratios.empty
    page = write_report(found, apart.experiment, out=tmp_path, commands=()).html.read_text("utf-8")
    assert "12 blocks were split" in page
