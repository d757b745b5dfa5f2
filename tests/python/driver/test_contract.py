"""Every built driver keeps its side of the contract in docs/formats.md: what goes in, what it leaves."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from kvdyno.model.project import Project
from kvdyno.model.schema import validate

REPOSITORY = Path(__file__).parents[3]
DRIVERS = sorted(Project.find(start=REPOSITORY).binaries.glob("kvdyno-*"))
SAMPLING = "kvdyno-sampling"
#: Those of keys and values.
BINARIES = [path for path in DRIVERS if path.name != SAMPLING]
MEMORY = Project.find(start=REPOSITORY).binaries / "kvdyno-memory"

OPERATIONS = (
    *("read", "update", "insert", "scan", "readmodifywrite", "delete"),
    *("multiread", "reversescan"),
)
MIX = {
    "readproportion": 0.3,
    "updateproportion": 0.2,
    "insertproportion": 0.1,
    "scanproportion": 0.1,
    "readmodifywriteproportion": 0.2,
    "deleteproportion": 0.1,
    "multireadproportion": 0.1,
    "reversescanproportion": 0.1,
    "maxscanlength": 20,
}
SMALL = {"recordcount": 2000, "fieldcount": 1, "fieldlength": 100}

Properties = Mapping[str, object]


@dataclass(frozen=True)
class Left:
    """What a driver left: its exit status, what it printed, and its files, checked against the schema."""

    status: int
    out: str
    err: str
    folder: Path

    @property
    def outcome(self) -> dict[str, Any]:
        document = json.loads((self.folder / "outcome.json").read_text())
        validate(document, schema="outcome", where="outcome.json")
        return dict(document)

    def metrics(self, phase: str) -> dict[str, float]:
        (found,) = (p for p in self.outcome["phases"] if p["name"] == phase)
        return {name: metric["value"] for name, metric in found["metrics"].items()}

    def rows(self) -> list[dict[str, str]]:
        with (self.folder / self.outcome["series"]["file"]).open() as stream:
            return list(csv.DictReader(stream))

    def histograms(self) -> dict[str, HdrHistogram]:
        reader = HistogramLogReader(
            str(self.folder / self.outcome["histograms"]), HdrHistogram(1, 3_600_000_000_000, 3)
        )
        found = {}
        while (histogram := reader.get_next_interval_histogram()) is not None:
            found[histogram.get_tag()] = histogram
        reader.close()
        return found


def command(folder: Path, properties: Properties, *flags: str, binary: Path = MEMORY) -> list[str]:
    places = {"data.dir": folder / "data", "output.dir": folder / "out"}
    pairs = [f"{name}={value}" for name, value in (places | dict(properties)).items()]
    return [str(binary), *flags, *(word for pair in pairs for word in ("-p", pair))]


def drive(folder: Path, properties: Properties, *flags: str, binary: Path = MEMORY) -> Left:
    (folder / "out").mkdir(exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "out" / "outcome.json").unlink(missing_ok=True)
    done = subprocess.run(
        command(folder, properties, *flags, binary=binary),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Left(done.returncode, done.stdout, done.stderr, folder / "out")


def describe(binary: Path) -> dict[str, Any]:
    done = subprocess.run([str(binary), "--describe"], capture_output=True, timeout=30, check=True)
    return dict(json.loads(done.stdout))


@pytest.fixture(autouse=True)
def built() -> None:
    assert MEMORY.is_file(), f"{MEMORY} is not built: run `make build` first"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """A load, and every operation in a verified closed loop of two clients."""
    more = {"operationcount": 20000, "threadcount": 2, "verify": "true", "warmup.operations": 500}
    left = drive(tmp_path_factory.mktemp("mixed"), SMALL | MIX | more, "-load", "-run")
    assert left.status == 0, left.err
    return left


@pytest.mark.parametrize("binary", DRIVERS, ids=lambda path: path.name)
def test_every_driver_describes_itself(binary: Path) -> None:
    document = describe(binary)
    validate(document, schema="describe", where=binary.name)
    assert binary.name == f"kvdyno-{document['engine']['name']}"
    names = [option["name"] for option in document["options"]]
    assert len(set(names)) == len(names)
    assert all(item["effect"] for item in (*document["options"], *document["properties"]))


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_every_driver_loads_and_runs(binary: Path, tmp_path: Path) -> None:
    left = drive(tmp_path, SMALL | {"operationcount": 1000}, "-load", "-run", binary=binary)
    assert left.status == 0, left.err
    assert left.outcome["status"] == "ok"
    names = [phase["name"] for phase in left.outcome["phases"]]
    others = ("age", "age-settle", "warmup", "rest")
    assert names == [name for name in describe(binary)["phases"] if name not in others]
    assert [name for name in names if name not in ("settle", "drain")] == ["load", "build", "measure", "run"]
    assert left.metrics("load")["operations"] == 2000
    assert left.metrics("measure")["operations"] == 1000


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_aged_data_verifies_and_each_phase_pays_its_debt(binary: Path, tmp_path: Path) -> None:
    if "age" not in describe(binary)["phases"]:
        pytest.skip("the engine cannot settle")
    keys = SMALL | {"threadcount": 2, "requestdistribution": "zipfian"}
    loaded = drive(tmp_path, keys | {"age": 1.5}, "-load", binary=binary)
    assert loaded.status == 0, loaded.err
    assert loaded.metrics("age")["operations"] == 3000
    mix = {"readproportion": 0.5, "updateproportion": 0.5, "operationcount": 2000, "warmup.operations": 1000}
    verify = binary.name != "kvdyno-noop"
    left = drive(tmp_path, keys | mix | {"mix.seed": 2, "verify": str(verify).lower()}, "-run", binary=binary)
    assert left.status == 0, left.err
    names = [phase["name"] for phase in left.outcome["phases"]]
    assert names == ["warmup", "rest", "measure", "drain", "run"]
    if "debt" in left.metrics("run"):
        assert left.metrics("rest")["debt"] <= left.metrics("warmup")["debt.begin"]
        assert left.metrics("drain")["debt"] <= left.metrics("measure")["debt.begin"]


@pytest.mark.parametrize("binary", DRIVERS, ids=lambda path: path.name)
def test_every_driver_describes_what_a_write_survives(binary: Path) -> None:
    durability = describe(binary)["engine"]["durability"]
    if not binary.name.startswith("kvdyno-ycsb-"):
        assert durability["process"] in ("kept", "lost")
        assert durability["power"] == "lost", "without sync"


def test_operations_add_up(mixed: Left) -> None:
    measured = mixed.metrics("measure")
    assert sum(measured[f"{operation}.operations"] for operation in OPERATIONS) == 20000
    assert measured["operations"] == 20000
    assert all(measured[f"{operation}.operations"] > 0 for operation in OPERATIONS)
    assert all(measured[f"{operation}.failed"] == 0 for operation in OPERATIONS)
    assert measured["scan.rows"] <= 20 * measured["scan.operations"]
    assert mixed.metrics("warmup")["operations"] == 500
    assert mixed.metrics("run")["operations"] == 20000, "warming up is no part of the run"


def test_a_span_covers_its_phases(mixed: Left) -> None:
    phases = {phase["name"]: phase for phase in mixed.outcome["phases"]}
    for span, parts in {"build": ["load", "settle"], "run": ["measure", "drain"]}.items():
        assert phases[span]["covers"] == parts
        assert phases[span]["seconds"] >= sum(phases[part]["seconds"] for part in parts)
        metrics = mixed.metrics(span)
        assert metrics["throughput"] == pytest.approx(metrics["operations"] / phases[span]["seconds"])


def test_the_series_has_the_columns_that_the_outcome_names(mixed: Left) -> None:
    rows, series = mixed.rows(), mixed.outcome["series"]
    assert list(rows[0])[:2] == ["phase", "elapsed"]
    assert set(list(rows[0])[2:]) == series["columns"].keys()
    assert None not in rows[0], "no cell without a column"
    assert [float(row["elapsed"]) for row in rows] == sorted(float(row["elapsed"]) for row in rows)
    measured = [float(row["operations"]) for row in rows if row["phase"] == "measure"]
    assert sum(measured) == 20000


def test_the_log_has_a_histogram_for_every_phase_and_operation(mixed: Left) -> None:
    histograms = mixed.histograms()
    timed = {f"{phase}.{operation}" for phase in ("warmup", "measure") for operation in OPERATIONS}
    assert histograms.keys() == timed | {"load.insert"}
    measured = mixed.metrics("measure")
    for operation in OPERATIONS:
        found = histograms[f"measure.{operation}"]
        assert found.get_total_count() == measured[f"{operation}.operations"]
        middle = found.get_value_at_percentile(50)
        assert middle == pytest.approx(measured[f"{operation}.latency.p50"], rel=0.002)


def test_amplification_is_bytes_over_bytes(mixed: Left) -> None:
    measured = mixed.metrics("run")
    gross = measured["io.write_bytes"] / measured["bytes.written"]
    cancelled = measured["io.cancelled_write_bytes"] / measured["bytes.written"]
    assert measured["write_amplification.gross"] == pytest.approx(gross)
    assert measured["write_amplification.net"] == pytest.approx(gross - cancelled)
    calls = measured["io.wchar"] / measured["bytes.written"]
    assert measured["write_amplification.calls"] == pytest.approx(calls)


def test_the_final_lines_are_ycsbs(mixed: Left) -> None:
    assert "Load throughput(ops/sec): " in mixed.out
    assert "Run throughput(ops/sec): " in mixed.out


def test_a_closed_loop_has_latency_alone(mixed: Left) -> None:
    assert not [name for name in mixed.metrics("measure") if ".service." in name]


def test_an_open_loop_has_latency_and_service(tmp_path: Path) -> None:
    left = drive(tmp_path, SMALL | {"operationcount": 500, "target": 5000}, "-load", "-run")
    assert left.status == 0, left.err
    measured = left.metrics("measure")
    for point in ("mean", "p50", "p99", "max"):
        assert measured[f"read.latency.{point}"] >= measured[f"read.service.{point}"] * 0.998


def test_a_store_outlives_its_driver(tmp_path: Path) -> None:
    assert drive(tmp_path, SMALL, "-load").status == 0
    left = drive(tmp_path, SMALL | {"operationcount": 3000, "verify": "true", "readproportion": 1}, "-run")
    assert left.status == 0, left.err
    assert left.metrics("measure")["read.not_found"] == 0


def test_progress_comes_as_lines_on_the_pipe(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        properties = SMALL | {"operationcount": 1000, "progress.fd": writing}
        (tmp_path / "data").mkdir()
        subprocess.run(
            command(tmp_path, properties, "-load", "-run"),
            pass_fds=(writing,),
            capture_output=True,
            timeout=60,
            check=True,
        )
        lines = [json.loads(line) for line in os.read(reading, 1 << 16).splitlines()]
    finally:
        os.close(reading)
        os.close(writing)
    for line in lines:
        validate(line, schema="progress", where="progress")
    assert list(dict.fromkeys(line["phase"] for line in lines)) == ["load", "settle", "measure", "drain"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to do: expected -load, -run or both"),
        (["-rnu"], "-rnu: expected a flag"),
        (["-run", "-p", "operatincount=1"], "did you mean 'operationcount'?"),
        (["-run", "-p", "memory.persits=true"], "did you mean 'memory.persist'?"),
        (["-run", "-p", "threadcount=-1"], "threadcount: expected from 1 to 4096, got '-1'"),
        (["-run", "-p", "fieldlength=64Mbit"], "fieldlength: "),
        (["-run", "-p", "requestdistribution=zipfain"], "zipfian"),
        (["-run", "-p", "measure.seconds=3 apples"], "measure.seconds: "),
        (["-run", "-P", "/nonexistent/file"], "/nonexistent/file"),
        (["-run", "-db", "rocksdb"], "rocksdb"),
        (["-run"], "data.dir: expected the store's directory, got nothing"),
    ],
)
def test_wrong_usage_is_status_1(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(MEMORY), *arguments], capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing was touched"


def test_an_engine_that_fails_is_status_2(tmp_path: Path) -> None:
    assert drive(tmp_path, SMALL, "-load").status == 0
    (tmp_path / "data" / "memory.snapshot").write_bytes(b"no snapshot at all")
    left = drive(tmp_path, SMALL | {"operationcount": 10}, "-run")
    assert left.status == 2
    assert left.outcome["status"] == "failed"
    assert left.outcome["error"]["message"]
    assert "memory.snapshot" in left.err


def test_wrong_data_is_status_3(tmp_path: Path) -> None:
    assert drive(tmp_path, SMALL, "-load").status == 0
    snapshot = tmp_path / "data" / "memory.snapshot"
    content = bytearray(snapshot.read_bytes())
    content[content.index(b"user0000000005") + 60] ^= 1
    snapshot.write_bytes(content)
    check = {"operationcount": 5000, "readproportion": 1, "updateproportion": 0, "verify": "true"}
    left = drive(tmp_path, SMALL | check, "-run")
    assert left.status == 3
    assert left.outcome["status"] == "failed"
    assert left.outcome["error"]["code"] == "corruption"
    assert left.outcome["error"]["phase"] == "measure"
    assert "expected" in left.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_is_status_4(tmp_path: Path, number: int) -> None:
    reading, writing = os.pipe()
    (tmp_path / "data").mkdir()
    (tmp_path / "out").mkdir()
    properties = SMALL | {"operationcount": 0, "measure.seconds": "10min", "progress.fd": writing}
    process = subprocess.Popen(
        command(tmp_path, properties, "-load", "-run"), pass_fds=(writing,), stdout=subprocess.DEVNULL
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as lines:
        next(line for line in lines if b'"measure"' in line)
        process.send_signal(number)
        assert process.wait(timeout=60) == 4
    outcome = Left(4, "", "", tmp_path / "out").outcome
    assert outcome["status"] == "interrupted"
    assert "load" in [phase["name"] for phase in outcome["phases"]], "what was finished is reported"
