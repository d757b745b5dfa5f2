"""Whatever is asked wrongly gets a sentence, a remedy and an exit status; never a stack trace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import TINY, Checkout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "tinny"], "unknown experiment 'tinny': expected one of tiny; did you mean 'tiny'?"),
        (["run", "no/such.yaml"], "no/such.yaml: no such experiment file"),
        (["run", "x" * 300 + ".yaml"], "no such experiment file: File name too long"),
        (["run", "tiny", "--profile", "qick"], "unknown profile 'qick': expected one of quick; did you mean"),
        (["run", "tiny", "--engines", "memry"], "unknown engine 'memry': expected one of memory, noop; did"),
        (["run", "tiny", "--repeat", "0"], "--repeat: expected 1 to 1000 repetitions, found 0"),
        (["run", "tiny", "--repeat", "-3"], "--repeat: expected 1 to 1000 repetitions, found -3"),
        (["run", "tiny", "--repeat", "100000000"], "--repeat: expected 1 to 1000 repetitions, found 1000"),
        (["run", "tiny", "--repeat", "x"], "Invalid value for '--repeat'"),
        (["selftest", "--repeat", "2"], "--repeat: expected 3 or more, which are compared together, found 2"),
        (["selftest", "--tool-pairs", "2"], "Invalid value for '--tool-pairs'"),
        (["run", "tiny", "--only", "workload=z"], "unknown value of workload 'z': expected one of a, c"),
        (["run", "tiny", "--exclude", "*"], "no point is left"),
        (["run", "tiny", "--cache", "hot"], "'hot' is not one of 'cold', 'snapshot-read', 'warm'"),
        (["run", "tiny", "--cpus", "one"], "--cpus: expected CPUs like \"0-3,6\", found 'one'"),
        (["run", "tiny", "--cpus", "3-1"], "--cpus: expected CPUs like \"0-3,6\", found '3-1'"),
        (["run", "tiny", "--cpus", "0-99999999999"], "--cpus: expected CPUs like"),
        (["run", "tiny", "--results", "experiments/tiny.yaml"], "'experiments/tiny.yaml' is a file"),
        (["run", "tiny", "--fast"], "No such option: --fast"),
        (["rnu"], "No such command 'rnu'"),
        (["describe"], "Missing argument 'ENGINE'"),
        (["compare", "memory", "rocksdb"], "no records of 'memory': expected a sweep, an engine's label or"),
        (
            ["describe", "memroy"],
            "unknown engine 'memroy': expected one of memory, noop; did you mean 'memory'",
        ),
        (["show", "--sql", "select nothing from metrics"], "nothing"),
    ],
)
def test_a_wrong_argument(checkout: Checkout, arguments: list[str], said: str) -> None:
    answer = checkout.kvdyno(*arguments)
    assert answer.status == 2
    assert said in " ".join(answer.err.replace("│", " ").split())
    assert answer.out == ""
    assert checkout.records() == []


def test_a_governor_that_no_machine_has_ends_the_sweep_before_it_begins(checkout: Checkout) -> None:
    answer = checkout.kvdyno("run", "tiny", "--uncapped", "--governor", "breakneck")
    assert answer.status == 5
    assert "governor" in answer.err
    assert "remedy: " in answer.err
    assert checkout.records() == []


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_cap_that_this_machine_cannot_give(checkout: Checkout, command: str) -> None:
    checkout.experiment("tiny", TINY.replace("cap: 2GiB", "cap: 900TiB"))
    answer = checkout.kvdyno(command, "tiny")
    assert answer.status == 5
    said = " ".join(answer.err.split())
    assert re.search(
        r"tiny.yaml: cap: expected at most this machine's memory, [\d.]+ [MGT]iB, found 14.1 TiB at", said
    )
    assert "`kvdyno plan --uncapped` plans for another machine" in said
    assert checkout.records() == []
    assert checkout.kvdyno("plan", "tiny", "--uncapped").status == 0


@pytest.mark.parametrize("command", ["plan", "run", "report"])
def test_without_an_experiment_the_known_ones_are_listed(checkout: Checkout, command: str) -> None:
    checkout.experiment("broken", "titel: x\n")
    checkout.experiment("tagged", TINY.replace("title: Tiny", "title: !x [a]"))
    (checkout.root / "experiments" / "folder.yaml").mkdir()
    (checkout.root / "experiments" / "binary.yaml").write_bytes(b"title: x\n\xff\xfe")
    os.mkfifo(checkout.root / "experiments" / "pipe.yaml")
    answer = checkout.kvdyno(command)
    assert answer.status == 2
    assert "  tiny    Tiny\n" in answer.err
    for said in (
        "broken  cannot be read: broken.yaml: 4 mistakes",
        "tagged  cannot be read: tagged.yaml:1: expected a value without a tag, found '!x'",
        "folder  cannot be read: folder.yaml: expected a file, found a folder or a device",
        "binary  cannot be read: binary.yaml:2: expected UTF-8, found the byte 0xff",
        "pipe    cannot be read: pipe.yaml: expected a file, found a folder or a device",
    ):
        assert f"  {said}\n" in answer.err


@pytest.mark.parametrize(
    ("line", "wrong", "message"),
    [
        ("engines: [memory, noop]", "engines: [memry]", "did you mean 'memory'?"),
        ("title: Tiny", "titel: Tiny", "did you mean 'title'?"),
        ("  workload: [a, c]", "  workload: [a, zz]", "unknown workload 'zz'"),
        ("  dataset: [256MiB]", "  dataset: [256MiX]", 'expected a size like "64MiB"'),
        ("  dataset: [256MiB]", "  dataset: [-4]", 'expected a size like "64MiB"'),
        ("  dataset: [256MiB]", "  datset: [256MiB]", "did you mean 'dataset'?"),
        ("cap: 2GiB", "cap: 64MiB", "24 MiB"),
        ("cap: 2GiB", "repetitions: -1", "expected"),
        ("cap: 2GiB", "properties: {fieldlenght: 8}", "did you mean 'fieldlength'?"),
        ("cap: 2GiB", "properties: {threadcount: 2}", "grid.threads"),
        ("cap: 2GiB", "phases: {measure: {seconds: -1s}}", "expected a duration"),
        ("cap: 2GiB", "cap: [", "not YAML"),
        (
            "  - {id: throughput, kind: bars, x: workload}",
            "  - {id: throughput, kind: bars, x: workload, metric: throughptu}",
            "unknown metric 'throughptu'",
        ),
    ],
)
def test_a_wrong_experiment_is_reported_with_file_and_line(
    checkout: Checkout, line: str, wrong: str, message: str
) -> None:
    assert line in TINY
    checkout.experiment("tiny", TINY.replace(line, wrong))
    answer = checkout.kvdyno("run", "tiny", "--uncapped")
    assert answer.status == 3
    number = TINY.splitlines().index(line) + 1
    assert f"experiments/tiny.yaml:{number}" in answer.err or "not YAML" in message
    assert message in answer.err
    assert checkout.records() == []


def test_nothing_is_built(checkout: Checkout, tmp_path: Path) -> None:
    for command in (["run", "tiny"], ["plan", "tiny"], ["engines"], ["describe", "memory"]):
        answer = checkout.kvdyno(*command, KVDYNO_BUILD=str(tmp_path))
        assert answer.status == 4
        assert "no engine is built" in answer.err
        assert "remedy: make build" in answer.err


def test_an_engine_that_is_not_built(checkout: Checkout) -> None:
    (checkout.binaries / "kvdyno-noop").unlink()
    answer = checkout.kvdyno("run", "tiny")
    assert answer.status in (3, 4)
    assert "noop" in answer.err


@pytest.mark.parametrize("command", [["plan", "tiny"], ["run", "tiny"], ["engines"], ["describe", "noop"]])
def test_docker_without_an_engine(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{checkout.root}/nobody.sock")
    answer = checkout.kvdyno(*command, "--runner", "docker")
    assert answer.status == 5
    assert "nobody.sock" in answer.err
    assert "remedy: harness/setup.sh docker" in answer.err


def test_outside_of_a_checkout_the_packages_own_is_used(checkout: Checkout, tmp_path: Path) -> None:
    answer = Checkout(tmp_path).kvdyno("plan")
    assert answer.status == 2
    assert "quickstart" in answer.err


@pytest.mark.parametrize("option", ["--results", "--data"])
def test_a_folder_that_cannot_be_made(checkout: Checkout, option: str) -> None:
    beneath_a_file = str(checkout.root / "experiments" / "tiny.yaml" / "folder")
    answer = checkout.kvdyno("run", "tiny", "--uncapped", option, beneath_a_file)
    assert answer.status == {"--results": 7, "--data": 5}[option]
    assert beneath_a_file in answer.err
    assert f"expected a folder at {checkout.root}/experiments/tiny.yaml, found a file" in answer.err
    assert "remedy: " in answer.err


@pytest.mark.parametrize("arguments", [(), ("nothing",)])
def test_there_is_nothing_to_show(checkout: Checkout, arguments: tuple[str, ...]) -> None:
    answer = checkout.kvdyno("show", *arguments)
    assert answer.status == 7
    assert "there are no records yet" in answer.err


def test_a_report_without_records(checkout: Checkout) -> None:
    answer = checkout.kvdyno("report", "tiny")
    assert answer.status == 7
    assert "remedy: kvdyno run tiny --profile quick" in answer.err


def test_a_reason_with_brackets_is_no_markup(checkout: Checkout) -> None:
    assert "no/[/bold]such.yaml" in checkout.kvdyno("run", "no/[/bold]such.yaml").err


@pytest.fixture
def small_disk(checkout: Checkout) -> Iterator[Path]:
    """A file system with room for some records, at the results folder."""
    folder = checkout.root / "results"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_costs_no_earlier_record(checkout: Checkout, small_disk: Path) -> None:
    run = ("run", "tiny", "--uncapped", "--only", "noop.c.*", "--repeat", "1")
    assert checkout.kvdyno(*run).status == 0
    before = {path: path.read_bytes() for path in checkout.records()}
    (small_disk / "filler").write_bytes(bytes(shutil.disk_usage(small_disk).free - 12288))

    answer = checkout.kvdyno(*run, "--force")
    assert answer.status in (5, 7)
    assert "No space left on device" in answer.err
    assert {path: path.read_bytes() for path in checkout.records()} == before
    assert checkout.work == []
    (small_disk / "filler").unlink()
    again = checkout.kvdyno(*run, "--json")
    assert (again.status, again.json["reused"]) == (0, 1)
    assert len(list(checkout.runs.glob("*/*"))) == len(before), "what was half written has gone"
