"""`kvdyno regress`: verdicts, their exit statuses and forms, and what stops a gate before it begins."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fakes.noise import make_noise
from fakes.paced import SUITE, build_paced

from kvdyno import builds
from kvdyno.model.project import Project
from kvdyno.model.record import Environment
from kvdyno.runner import Surveyor, host_id

from .conftest import Answer, Checkout, make_checkout


def gated(checkout: Checkout) -> Checkout:
    """With the engine paced, and a suite `one` of one point."""
    build_paced(checkout.binaries)
    (checkout.root / "experiments" / "regress").mkdir()
    checkout.experiment("regress/one", SUITE)
    return checkout


@pytest.fixture
def gate(checkout: Checkout) -> Checkout:
    return gated(checkout)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """For tests whose arms are their own."""
    return gated(make_checkout(tmp_path_factory.mktemp("shared") / "checkout"))


def regress(checkout: Checkout, base: str, head: str, *more: str, **environment: str) -> Answer:
    return checkout.kvdyno("regress", base, head, "--suite", "one", "--uncapped", *more, **environment)


def verdict(answer: Answer, metric: str) -> Any:
    (found,) = [each for each in answer.json["verdicts"] if each["metric"] == metric]
    return found


def test_a_slower_head_is_a_regression_in_every_form(shared: Checkout, tmp_path: Path) -> None:
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    answer = regress(
        shared,
        *("paced", "paced:rate=800"),
        *("--junit", str(junit), "--markdown", str(markdown)),
        GITHUB_ACTIONS="true",
    )
    assert answer.status == 1, answer.err
    assert "regression: 1 of 2 comparisons worse" in answer.out
    row = next(line for line in answer.out.splitlines() if " throughput " in line)
    assert row.split() == ["c.4MiB", "throughput", "0.800", "0.800–0.800", "4", "5%", "slower"]
    assert "both arms started from copies of the same stores" in answer.out
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    comment = markdown.read_text()
    assert "| ❌ | c.4MiB | throughput | 0.800 |" in comment
    assert "read.not_found" not in comment, "only what changed"
    assert "kvdyno regress paced paced:rate=800 --suite one --uncapped" in comment
    assert "::error title=kvdyno regress::c.4MiB throughput: slower, 0.800 of BASE" in answer.err
    (page,) = shared.root.glob("results/reports/*/report.html")
    assert "paced-rate-800" in page.read_text()


def test_a_better_head_passes(shared: Checkout) -> None:
    answer = regress(shared, "paced:rate=900,misses=2", "paced:rate=1200", "--json")
    assert answer.status == 0, answer.err
    assert verdict(answer, "throughput")["verdict"] == "faster"
    assert verdict(answer, "read.not_found")["improvement"]
    assert (answer.json["stopped"], answer.json["pairs"]) == ("decided", 4)


def test_a_change_within_the_margin_passes_and_a_lower_margin_finds_it(shared: Checkout) -> None:
    answer = regress(shared, "paced:rate=1000", "paced:rate=970", "--json")
    assert answer.status == 0, answer.err
    assert verdict(answer, "throughput")["verdict"] == "same"
    again = regress(shared, "paced:rate=1000", "paced:rate=970", "--json", "--margin", "1%")
    assert again.status == 1, again.err
    assert verdict(again, "throughput")["margin"] == 0.01
    assert again.json["runs_measured"] == 0, "pairs that are stored are not measured again"


def test_a_lost_key_is_a_regression_whatever_the_margin(shared: Checkout) -> None:
    answer = regress(shared, "paced:rate=700", "paced:rate=700,misses=1", "--json")
    assert answer.status == 1, answer.err
    found = verdict(answer, "read.not_found")
    assert (found["verdict"], found["exact"], found["regression"]) == ("higher", True, True)


def test_a_metric_that_an_arm_lacks_does_not_pass(shared: Checkout) -> None:
    one = regress(shared, "paced:rate=400", "paced:rate=400,silent=true", "--json")
    assert one.status == 2, one.err
    found = verdict(one, "read.not_found")
    assert (found["undecided"], found["why"], found["point"]) == (True, "no pair has it", "c.4MiB")
    both = regress(shared, "paced:rate=300,silent=true", "paced:rate=301,silent=true", "--json")
    assert both.status == 2, both.err
    assert verdict(both, "read.not_found")["point"] == "every point"


def test_a_head_that_fails_is_a_regression_and_a_base_that_fails_decides_nothing(shared: Checkout) -> None:
    worse = regress(shared, "paced:rate=600", "paced:rate=600,fails=true", "--json")
    assert worse.status == 1, worse.err
    assert {each["failure"] for each in worse.json["verdicts"]} == {"HEAD: wrong data"}
    mended = regress(shared, "paced:rate=600,fails=true", "paced:rate=600", "--json")
    assert mended.status == 2, mended.err
    assert {each["failure"] for each in mended.json["verdicts"]} == {"BASE: wrong data"}


def test_one_build_is_measured_as_twins_alone(shared: Checkout) -> None:
    same = regress(shared, "paced", "paced", "--json")
    assert (same.status, same.json["same_build"], same.json["pairs"]) == (0, True, 0)
    twins = regress(shared, "paced", "paced", "--twins", "--json")
    assert twins.status == 0, twins.out
    assert verdict(twins, "throughput")["verdict"] == "same"
    assert not twins.json["shared_snapshots"], "twins have loads of their own"


def test_arms_that_shape_data_load_their_own(shared: Checkout) -> None:
    answer = regress(shared, "paced", "paced:block=8192", "--json")
    assert answer.status == 0, answer.err
    assert not answer.json["shared_snapshots"]


def test_a_gate_that_was_stopped_goes_on(gate: Checkout) -> None:
    suite = gate.root / "experiments" / "regress" / "one.yaml"
    suite.write_text(SUITE.replace("repetitions: 12", "repetitions: 4"))
    first = regress(gate, "paced", "paced:rate=800", "--json")
    assert first.json["runs_measured"] == 8
    last = sorted(gate.records(), key=lambda path: path.stat().st_mtime)[-1]
    last.unlink()
    again = regress(gate, "paced", "paced:rate=800", "--json")
    assert again.json["runs_measured"] == 2, "a pair is measured as a whole"
    assert again.json["verdicts"] == first.json["verdicts"]


def test_a_spread_that_hides_the_margin_stays_undecided(shared: Checkout, tmp_path: Path) -> None:
    junit = tmp_path / "gate.xml"
    answer = regress(shared, "paced:rate=500", "paced:rate=500,jitter=0.3", "--junit", str(junit), "--json")
    assert answer.status == 2, answer.err
    found = verdict(answer, "throughput")
    assert (found["verdict"], found["pairs"], answer.json["stopped"]) == ("undecided", 12, "pairs")
    assert found["low"] < 1.05 < found["high"]
    assert found["visible"] > 0.1
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


def test_this_hosts_noise_widens_the_margin(gate: Checkout) -> None:
    noise = make_noise("paced", "c", sd_log=0.2, host_id=host_id())
    folder = gate.root / "results" / "hosts" / host_id()
    folder.mkdir(parents=True)
    (folder / "noise.json").write_text(noise.model_dump_json())
    answer = regress(gate, "paced", "paced:rate=800")
    assert answer.status == 0, answer.err
    assert "this host's noise makes it c.4MiB throughput 49.2%" in " ".join(answer.out.split())
    assert "kvdyno selftest" not in answer.out


def test_noise_in_containers_is_not_that_of_local_runs(gate: Checkout) -> None:
    folder = gate.root / "results" / "hosts" / host_id()
    folder.mkdir(parents=True)
    (folder / "noise-docker.json").write_text("")
    answer = regress(gate, "paced", "paced:rate=800")
    assert answer.status == 1, answer.err
    assert "run `kvdyno selftest` once" in " ".join(answer.out.split())
    (folder / "noise.json").write_text("")
    message = refused(regress(gate, "paced", "paced:rate=800"))
    assert "noise.json: expected what a self-test found; expected JSON, found" in message
    assert "measure it again: kvdyno selftest" in message


def test_a_host_that_changes_ends_the_gate(gate: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = itertools.count()
    survey = Surveyor.survey

    def changing(surveyor: Surveyor) -> Environment:
        found = survey(surveyor)
        governor = "performance" if next(asked) < 6 else "powersave"
        return found.model_copy(update={"facts": {**found.facts, "cpu.governor": governor}})

    monkeypatch.setattr(Surveyor, "survey", changing)
    message = refused(regress(gate, "paced", "paced:rate=800"))
    assert "cpu.governor changed during the gate: expected performance, found powersave" in message


def test_pairs_of_another_kernel_are_kept_apart(gate: Checkout, tmp_path: Path) -> None:
    first = regress(gate, "paced", "paced:rate=800", "--json")
    assert first.status == 1, first.err
    for path in gate.records():
        record = json.loads(path.read_text())
        record["environment"]["facts"]["os.kernel"] = "Linux 5.4.0"
        path.write_text(json.dumps(record))
    before = {path: path.read_bytes() for path in gate.records()}
    comment = tmp_path / "gate.md"
    again = regress(gate, "paced", "paced:rate=800", "--json", "--markdown", str(comment))
    assert (again.status, again.json["pairs"], again.json["runs_measured"]) == (1, 4, 8), again.err
    assert {path: path.read_bytes() for path in before} == before, "what was stored stays"
    (aside,) = again.json["left_aside"]
    assert aside["pairs"] == 4
    assert aside["why"].startswith("os.kernel Linux 5.4.0, now ")
    assert "4 stored pairs left aside: os.kernel Linux 5.4.0, now" in comment.read_text()
    text = regress(gate, "paced", "paced:rate=800")
    assert "4 stored pairs left aside: os.kernel Linux 5.4.0, now" in text.out


def test_pairs_of_another_build_host_or_other_cpus_are_left_aside_and_counted(gate: Checkout) -> None:
    first = regress(gate, "paced", "paced:rate=800", "--json")
    assert (first.json["pairs"], first.json["left_aside"]) == (4, [])
    both = "another build of paced and paced-rate-800"
    before = set(gate.records())
    build_paced(gate.binaries, form="2")
    rebuilt = regress(gate, "paced", "paced:rate=800", "--json")
    assert rebuilt.json["runs_measured"] == 8
    assert rebuilt.json["left_aside"] == [{"pairs": 4, "why": both}]
    by_repetition: dict[int, list[Path]] = {}
    for path in set(gate.records()) - before:
        if ".load-" not in str(path):
            by_repetition.setdefault(json.loads(path.read_text())["repetition"], []).append(path)
    for path in by_repetition[1]:
        alter(path, "environment", host_id="0" * 16)
    for path in by_repetition[2]:
        alter(path, "runner", cpus="77")
    again = regress(gate, "paced", "paced:rate=800", "--json")
    assert again.json["runs_measured"] == 4, "both runs of two pairs"
    cpus = next(each["why"] for each in again.json["left_aside"] if "CPUs" in each["why"])
    assert cpus.startswith("CPUs 77, now ")
    assert {each["why"]: each["pairs"] for each in again.json["left_aside"]} == {
        both: 4,
        "another host": 1,
        cpus: 1,
    }
    other = regress(gate, "paced", "paced:rate=700", "--json")
    assert other.json["left_aside"] == [], "another gate's pairs are none of this one's"


def alter(path: Path, section: str, **changes: str) -> None:
    record = json.loads(path.read_text())
    record[section].update(changes)
    path.write_text(json.dumps(record))


def test_builds_that_cannot_open_each_others_stores_load_their_own(gate: Checkout) -> None:
    """Two source trees whose drivers are built already, as a gate before this one left them."""
    here = Project.find(start=gate.root)
    for form in ("1", "2"):
        tree = gate.root / f"form-{form}"
        adapter = tree / "engines" / "adapters" / "paced"
        adapter.mkdir(parents=True)
        (adapter / "packages.txt").write_text("")
        (adapter / "CMakeLists.txt").write_text(f"# form {form}\n")
        (tree / "CMakeLists.txt").write_text("project(tree)\n")
        (tree / "containers").mkdir()
        (tree / "containers" / "Dockerfile").write_text("FROM scratch\n")
        built = gate.root / ".kvdyno/engines/revisions" / f"paced-{builds.tree_key(here, tree, 'paced')}"
        for folder in ("bin", "adapters/paced"):
            (built / folder).mkdir(parents=True)
        build_paced(built / "bin", form=form)
    answer = regress(gate, "./form-1", "./form-2", "--json")
    assert answer.status == 0, answer.err + answer.out
    assert not answer.json["shared_snapshots"]
    assert (answer.json["pairs"], verdict(answer, "throughput")["failure"]) == (4, None)
    text = regress(gate, "./form-1", "./form-2")
    assert "both arms started from stores that each loaded itself" in text.out


SIZES = """\
title: Sizes
engines: [memory]
grid:
  workload: [c]
  dataset: [256MiB]
cap: 2GiB
repetitions: 12
gate:
  metrics: [{metric: binary.size, margin: 0.02}]
  margin: 0.05
  budget: 1s
"""


def test_a_build_that_grew_is_a_regression_and_needs_no_run(gate: Checkout, tmp_path: Path) -> None:
    """Two real engines: memory's driver is about 3 % larger than noop's."""
    gate.experiment("regress/one", SIZES)
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    files = ("--junit", str(junit), "--markdown", str(markdown))
    grown = regress(gate, "noop", "memory", "--json", *files)
    assert grown.status == 1, grown.err
    found = verdict(grown, "binary.size")
    assert (found["point"], found["phase"], found["unit"], found["verdict"]) == (
        "build",
        "",
        "byte",
        "higher",
    )
    assert (found["exact"], found["margin"], found["low"]) == (True, 0.02, None)
    assert 1.02 < found["ratio"] < 1.05
    assert (grown.json["runs_measured"], grown.json["why"], grown.json["report"]) == (0, [], None)
    assert not gate.records()
    assert "| ❌ | build | binary.size | 1.0" in markdown.read_text()
    (case,) = ElementTree.fromstring(junit.read_text()).iter("testcase")
    assert (case.get("classname"), case.get("name"), case[0].tag) == ("build", "binary.size", "failure")
    shrunk = regress(gate, "memory", "noop")
    assert shrunk.status == 0, shrunk.err
    assert "margin 5%, of binary.size 2%" in shrunk.out
    gate.experiment("regress/one", SIZES.replace("{metric: binary.size, margin: 0.02}", "binary.size"))
    assert regress(gate, "noop", "memory").status == 0, "the gate's margin is 5 %"
    assert regress(gate, "noop", "memory", "--margin", "1%").status == 1
    gate.experiment("regress/one", SIZES.replace("margin: 0.02", "exact: true"))
    strict = regress(gate, "noop", "memory", "--json")
    assert (strict.status, verdict(strict, "binary.size")["margin"]) == (1, 0)


INSTRUCTIONS = SIZES.replace("[c]", "[p]").replace("binary.size", "instructions.per_operation")


def test_more_instructions_are_a_regression_and_are_counted_once(gate: Checkout) -> None:
    """Puts, which the engine noop forgets, on two real engines."""
    gate.experiment("regress/one", INSTRUCTIONS)
    more = regress(gate, "noop", "memory", "--json")
    assert more.status == 1, more.err
    found = verdict(more, "instructions.per_operation")
    assert (found["point"], found["unit"], found["verdict"]) == ("p.4MiB", "instruction", "higher")
    assert found["ratio"] > 1.02
    assert not gate.records()
    kept = list((gate.root / ".kvdyno").glob("instructions/*.json"))
    assert len(kept) == 2
    times = [path.stat().st_mtime_ns for path in kept]
    fewer = regress(gate, "memory", "noop", "--json")
    assert fewer.status == 0, fewer.err
    assert verdict(fewer, "instructions.per_operation")["ratio"] == pytest.approx(1 / found["ratio"])
    assert [path.stat().st_mtime_ns for path in kept] == times
    for path in kept:
        path.write_text('{"operations": 1, "counts": [1, 1, 1, 1, 1, 1, 1, 1]}')
    again = regress(gate, "noop", "memory", "--json")
    assert again.status == 1, "counts over another number of operations are made again"


def test_instructions_of_one_build_are_the_same(gate: Checkout) -> None:
    gate.experiment("regress/one", INSTRUCTIONS)
    answer = regress(gate, "memory", "memory", "--twins", "--json")
    assert answer.status == 0, answer.err
    assert verdict(answer, "instructions.per_operation")["verdict"] == "same"


def test_a_builds_size_stands_beside_what_runs_measure(gate: Checkout) -> None:
    gate.experiment("regress/one", SUITE.replace("exact: true}]", "exact: true}, binary.size]"))
    answer = regress(gate, "paced", "paced:rate=800", "--json")
    assert answer.status == 1, answer.err
    assert [each["metric"] for each in answer.json["verdicts"]] == [
        *("throughput", "read.not_found", "binary.size")
    ]
    assert verdict(answer, "binary.size")["ratio"] == 1
    gate.experiment(
        "regress/odd", SUITE.replace("exact: true}]", "exact: true}, {metric: binary.size, phase: run}]")
    )
    message = refused(gate.kvdyno("regress", "memory", "noop", "--suite", "odd", "--uncapped"))
    assert "binary.size: expected no phase" in message


def refused(answer: Answer) -> str:
    assert answer.status == 3, answer.out
    return " ".join(answer.err.split())


def test_a_budget_too_small_is_refused_with_the_estimate(gate: Checkout) -> None:
    message = refused(regress(gate, "paced", "paced:rate=800", "--budget", "1s"))
    assert "--budget: expected at least" in message
    assert "a verdict needs 4 pairs at each point (1 here)" in message
    assert not gate.records(), "nothing ran"


def test_arguments_that_mean_nothing_end_with_the_gates_own_status(gate: Checkout) -> None:
    assert "unknown suite 'two'" in refused(gate.kvdyno("regress", "paced", "paced", "--suite", "two"))
    assert "expected a share" in refused(regress(gate, "paced", "paced", "--margin", "140%"))
    assert "expected a duration" in refused(regress(gate, "paced", "paced", "--budget", "soon"))
    assert "No such option" in refused(regress(gate, "paced", "paced", "--nosuch"))
    assert "Missing argument 'HEAD'" in refused(gate.kvdyno("regress", "paced"))
    assert "a folder that exists" in refused(regress(gate, "paced", "paced", "--junit", "no/such.xml"))
    assert "unknown option of paced 'speed'" in refused(regress(gate, "paced", "paced:speed=1"))
    assert "each once, found 'rate'" in refused(regress(gate, "paced", "paced:rate"))
    assert "no such file or folder" in refused(regress(gate, "paced", "./nosuch.patch"))
    assert "unknown preset 'best'" in refused(regress(gate, "paced", "paced:preset=best"))
    assert "rocksdb-silk: engine 'rocksdb-silk' is not built" in refused(
        regress(gate, "paced", "rocksdb-silk")
    )
    unknown = refused(regress(gate, "paced", "pased"))
    assert "did you mean 'paced'" in unknown
    assert not gate.records(), "nothing ran"


def test_an_experiment_without_a_gate_is_no_suite(gate: Checkout) -> None:
    message = refused(
        gate.kvdyno("regress", "memory", "noop", "--suite", "experiments/tiny.yaml", "--uncapped")
    )
    assert "an experiment without `gate`" in message
    gate.experiment("regress/odd", SUITE.replace("throughput", "thruput"))
    message = refused(gate.kvdyno("regress", "memory", "noop", "--suite", "odd", "--uncapped"))
    assert "unknown metric 'thruput'" in message
    assert "odd.yaml:9" in message


def git(root: Path, *arguments: str) -> None:
    options = ("-c", "user.name=A test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *options, *arguments], check=True, capture_output=True)


def test_a_dirty_tree_is_named(gate: Checkout) -> None:
    sources = gate.root / "CMakeLists.txt"
    sources.write_text("project(one)\n")
    git(gate.root, "init")
    git(gate.root, "add", "CMakeLists.txt")
    git(gate.root, "commit", "-m", "one")
    sources.write_text("project(two)\n")
    message = refused(regress(gate, "paced", "HEAD"))
    assert "expected a tree without changes, found CMakeLists.txt" in message
    assert "name the engine" in message
