"""Commands that look at what is stored: readable at 80 columns, and as JSON."""

from __future__ import annotations

import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.engines import engine, option
from rich.console import Console

from kvdyno.cli.pages.engines import engine_page
from kvdyno.model.engine import Preset

from .conftest import TINY, Checkout

COMPUTED = ("_overall", "_points", "_claims", "_pairs", "_medians")
FORMS = {"figures/throughput": ("pdf", "svg", "png"), "tables/throughput-table": ("md", "tex", "csv")}


def test_the_last_lines_of_a_run_say_where_its_results_are(measured: Checkout) -> None:
    said = (measured.root / "said.txt").read_text().splitlines()
    assert said[-3:] == [
        "tables:  results/reports/tiny-quick-uncapped/tables",
        "figures: results/reports/tiny-quick-uncapped/figures",
        "report:  results/reports/tiny-quick-uncapped/report.html",
    ]
    for line in said[-3:]:
        assert (measured.root / line.split()[1]).exists()


def test_a_run_without_a_terminal_prints_each_run_in_a_line(measured: Checkout) -> None:
    said = (measured.root / "said.txt").read_text()
    numbers = re.findall(r"^(\d)/8  (?:memory|noop)\.[ac]\.4MiB r[12]  [\d,]+ op/s", said, re.MULTILINE)
    assert numbers == list("12345678")
    assert len(re.findall(r"^load  ", said, re.MULTILINE)) == 2
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_report_has_every_form_of_every_figure_and_table(measured: Checkout) -> None:
    answer = measured.kvdyno("report", "tiny", "--uncapped", "--json")
    assert answer.status == 0
    folder = measured.root / "results" / "reports" / "tiny-quick-uncapped"
    expected = {folder / f"{stem}.{form}" for stem, forms in FORMS.items() for form in forms}
    expected |= {folder / "tables" / f"{name}.csv" for name in COMPUTED}
    named = {Path(path) for kind in ("figures", "tables") for path in answer.json[kind]}
    assert named == expected
    assert all(path.stat().st_size > 100 for path in expected)
    assert answer.json["measured"] == 0
    assert answer.json["reused"] == 8


class Loads(HTMLParser):
    """Collects what a browser would fetch to show a page; links that a reader may follow are not loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "srcset", "data") or (name, tag) == ("href", "link"):
                self.found.append(value or "")
            self.found += re.findall(r"url\(([^)]*)\)", value or "") if name == "style" else []

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self.found += re.findall(r"url\(([^)]*)\)|(@import[^;]*)", data)


def test_the_page_needs_nothing_else(measured: Checkout) -> None:
    loads = Loads()
    loads.feed((measured.root / "results/reports/tiny-quick-uncapped/report.html").read_text())
    assert loads.found, "figures are pictures in the page"
    assert [load for load in loads.found if not load.startswith("data:")] == []


def test_the_page_shows_how_to_run_it_again(measured: Checkout) -> None:
    measured.kvdyno("report", "tiny", "--uncapped", "--json")
    page = (measured.root / "results/reports/tiny-quick-uncapped/report.html").read_text()
    again = page[page.index('id="again"') :]
    assert ".venv/bin/kvdyno run tiny --uncapped\n" in again.replace("</pre>", "\n")


@pytest.mark.parametrize(
    ("modified", "line"),
    [(False, "git checkout abc"), (True, "# measured with a checkout that was modified after commit abc")],
)
def test_only_an_unmodified_checkout_can_be_had_again(
    checkout: Checkout, measured: Checkout, modified: bool, line: str
) -> None:
    shutil.copytree(measured.root / "results", checkout.root / "results")
    for path in checkout.records():
        record = json.loads(path.read_text())
        record["environment"]["facts"] |= {"kvdyno.commit": "abc", "kvdyno.modified": modified}
        path.write_text(json.dumps(record))
    checkout.kvdyno("report", "tiny", "--uncapped")
    page = (checkout.root / "results/reports/tiny-quick-uncapped/report.html").read_text()
    again = page[page.index('id="again"') :]
    assert line in again
    assert ("git checkout" in again) is not modified


def test_figures_and_tables_again_are_the_same(measured: Checkout) -> None:
    folder = measured.root / "results" / "reports" / "tiny-quick-uncapped"
    files = [folder / f"{stem}.{form}" for stem, forms in FORMS.items() for form in forms]
    before = [path.read_bytes() for path in files]
    measured.kvdyno("report", "tiny", "--uncapped")
    assert [path.read_bytes() for path in files] == before


def test_a_partial_report_stands_beside_the_whole_one(measured: Checkout) -> None:
    reports = measured.root / "results" / "reports"
    whole = (reports / "tiny-quick-uncapped" / "report.html").read_bytes()
    answer = measured.kvdyno("report", "tiny", "--uncapped", "--only", "workload=a")
    assert "results/reports/tiny-quick-partial-uncapped/report.html" in answer.out
    assert (reports / "tiny-quick-uncapped" / "report.html").read_bytes() == whole
    assert measured.kvdyno("report", "tiny", "--uncapped", "--repeat", "1").out.endswith(
        "results/reports/tiny-quick-uncapped/report.html\n"
    )
    measured.kvdyno("report", "tiny", "--uncapped")


def test_what_an_earlier_report_left_goes(measured: Checkout) -> None:
    folder = measured.root / "results" / "reports" / "tiny-quick-uncapped"
    stale, foreign = folder / "figures" / "earlier.svg", folder / "notes.txt"
    for path in (stale, foreign):
        path.write_text("x")
    measured.kvdyno("report", "tiny", "--uncapped")
    assert not stale.exists()
    assert foreign.exists()
    foreign.unlink()


def test_show_reports_that_nothing_matches(measured: Checkout) -> None:
    answer = measured.kvdyno("show", "nothing")
    assert answer.status == 2
    assert "no record matches 'nothing'" in answer.err


def test_a_plan_shows_what_is_stored(measured: Checkout) -> None:
    answer = measured.kvdyno("plan", "tiny", "--uncapped")
    assert "4 points, 8 runs, 8 stored already" in answer.out
    assert "the rest" not in answer.out
    capped = measured.kvdyno("plan", "tiny")
    assert "8 runs, 0 stored already" in capped.out, "records without a cap are not those of a capped sweep"
    assert re.search(r"the rest: about .*s, of which .*s to load data; .*iB of disk", capped.out)


def test_a_plan_shows_loads_ages_and_snapshots(measured: Checkout) -> None:
    capped = measured.kvdyno("plan", "tiny")
    assert "1 load of each dataset" in capped.out
    assert re.search(r"2 snapshots of data, .*iB of the disk", capped.out)
    plan = measured.kvdyno("plan", "tiny", "--json").json
    assert plan["snapshots"] == 2
    assert plan["partnerless"] == []
    assert {run["load"] for run in plan["runs"]} == {1}


def test_a_plan_shows_which_stored_runs_are_measured_again(measured: Checkout) -> None:
    text = TINY.replace("[memory, noop]", "[memory, noop, {engine: noop, label: twin, twin_of: noop}]")
    measured.experiment("more", text)
    answer = measured.kvdyno("plan", "more", "--uncapped")
    assert "12 runs, 0 stored already" in answer.out
    said = " ".join(answer.out.split())
    assert "8 stored runs are measured again, because partners of the same sweep are missing" in said


def test_a_plan_for_scripts(measured: Checkout) -> None:
    plan = measured.kvdyno("plan", "tiny", "--uncapped", "--repeat", "3", "--json").json
    assert plan["stored"] == 8
    assert [run["stored"] for run in plan["runs"]].count(False) == 4
    assert len(plan["points"]) == 4
    one_more = measured.kvdyno("plan", "tiny", "--uncapped", "--repeat", "4", "--json").json
    assert one_more["seconds"] > plan["seconds"] > plan["load_seconds"] > 0
    assert plan["disk_bytes"] > 4 << 20
    assert plan["price"] is None


def test_a_plan_has_its_price(measured: Checkout) -> None:
    asked = ("plan", "tiny", "--uncapped", "--repeat", "3", "--price-per-hour", "7200")
    plan = measured.kvdyno(*asked, "--json").json
    assert plan["price"] == pytest.approx(2 * plan["seconds"])
    assert f"price: about {plan['price']:,.2f}, at 7200 an hour" in measured.kvdyno(*asked).out


def test_a_plan_is_simulated_over_hosts(measured: Checkout) -> None:
    asked = ("plan", "tiny", "--uncapped", "--repeat", "3", "--price-per-hour", "7200", "--hosts")
    plan = measured.kvdyno(*asked, "2", "--failures", "0.1", "--json").json
    over = plan["over_hosts"]
    assert over["low"] <= over["seconds"] <= over["high"]
    assert over["jobs"] >= 2
    assert plan["price"] == pytest.approx(2 * over["host_seconds"])
    assert "over hosts: about " in measured.kvdyno(*asked, "2").out
    assert "expected a share" in measured.kvdyno(*asked, "2", "--spread", "140%").err
    assert measured.kvdyno(*asked, "0").status == 2


def test_show_lists_records_in_lines_of_80(measured: Checkout) -> None:
    answer = measured.kvdyno("show")
    lines = answer.out.splitlines()
    assert len(lines) == 1 + 8 + 2, "a header, runs, loads"
    assert max(map(len, lines)) <= 80
    assert answer.err == ""


def test_show_finds_a_run_by_the_end_of_its_id(measured: Checkout) -> None:
    run_id = measured.records()[0].parent.name
    answer = measured.kvdyno("show", run_id.rpartition("-")[2])
    assert run_id in answer.out
    assert "uncapped" in answer.out
    assert "throughput" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100, "only the folder's name may be longer"


def test_show_finds_a_point_by_a_part_of_its_slug(measured: Checkout) -> None:
    records = measured.kvdyno("show", "memory.a", "--json").json
    assert [r["point"]["slug"] for r in records] == ["memory.a.4MiB"] * 2


def test_show_answers_sql(measured: Checkout) -> None:
    sql = "select count(distinct run_id) as runs, null as nothing from metrics where phase = 'run'"
    assert measured.kvdyno("show", "--sql", sql, "--json").json == [{"runs": 8, "nothing": None}]
    assert "runs" in measured.kvdyno("show", "--sql", sql).out


def test_compare_two_engines(measured: Checkout) -> None:
    answer = measured.kvdyno("compare", "memory", "noop")
    assert answer.status == 0
    rows = [line for line in answer.out.splitlines() if line.startswith("noop / memory")]
    assert len(rows) == 2
    assert all("x" in row for row in rows)
    assert "nan" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_compare_for_scripts(measured: Checkout) -> None:
    rows = measured.kvdyno("compare", "noop", "memory", "--json").json
    throughput = [r for r in rows if r["metric"] == "throughput" and r["phase"] == "run"]
    assert len(throughput) == 2
    assert all(r["paired"] for r in throughput), "repetitions of one sweep pair up"
    assert all(r[name] > 0 for r in throughput for name in ("before", "after", "ratio"))


def test_compare_two_results_folders(measured: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(measured.root / "results", elsewhere)
    rows = measured.kvdyno("compare", str(elsewhere), "results", "--json").json
    assert {row["ratio"] for row in rows if row["kind"] == "ratio"} == {1.0}
    assert {row["difference"] for row in rows if row["kind"] == "difference"} <= {0.0}


def test_engines_lists_what_is_built(measured: Checkout) -> None:
    answer = measured.kvdyno("engines")
    assert [line.split()[0] for line in answer.out.splitlines() if line[0] != " "] == [
        "engine",
        "memory",
        "noop",
    ]
    described = measured.kvdyno("engines", "--json").json
    assert [engine["engine"]["name"] for engine in described] == ["memory", "noop"]
    assert all("default" in engine["presets"] for engine in described)


def test_describe_explains_options_and_properties(measured: Checkout) -> None:
    page = measured.kvdyno("describe", "memory").out
    assert "persist bool, default true, shapes the data" in page
    assert "recordcount" not in page
    assert "The map, kept on disk between runs." in page
    metrics = measured.kvdyno("describe", "memory", "--metrics").out.split()
    assert {"throughput", "read.latency.p99.9", "engine.entries"} <= set(metrics)
    properties = measured.kvdyno("describe", "memory", "--driver").out
    assert "recordcount integer, default 1000, " in properties
    assert measured.kvdyno("describe", "memory", "--json").json["engine"]["name"] == "memory"


def test_describe_prints_sizes_in_a_unit_that_a_person_reads() -> None:
    limit = option("limit", "bytes", "8388608", least=1 << 10, most=10**13)
    wait = option("wait", "seconds", "0.5", least=0, most=86400)
    count = option("count", "integer", "1", most=1 << 20)
    presets = {"large": Preset({"limit": str(10**13)}, "For [large] data.")}
    page = io.StringIO()
    described = engine("sizes", options=(limit, wait, count), presets=presets)
    engine_page(Console(file=page, width=80, markup=False), described)
    said = " ".join(page.getvalue().split())
    assert "large For [large] data. limit = 9.09 TiB" in said
    assert "limit bytes, default 8 MiB, 1 KiB to 9.09 TiB" in said
    assert "wait seconds, default 500ms, 0s to 24h" in said
    assert "count integer, default 1, at most 1048576" in said


def test_doctor_judges_this_machine(measured: Checkout) -> None:
    findings = measured.kvdyno("doctor", "--json")
    worst = {finding["level"] for finding in findings.json}
    assert findings.status == (5 if "bad" in worst else 0)
    assert {"memory cap", "engines", "disk space"} <= {finding["what"] for finding in findings.json}
    text = measured.kvdyno("doctor").out
    assert "engines: memory, noop" in text
    assert max(map(len, text.splitlines())) <= 80
