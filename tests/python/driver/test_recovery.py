"""Real engines killed while clients write, and opened again: they hold what they acknowledged."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kvdyno.catalog import local_engine
from kvdyno.model.experiment import Recovery
from kvdyno.model.point import Dataset, Point, Run
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.runner import Runner

REPOSITORY = Path(__file__).parents[3]
BINARIES = Project.find(start=REPOSITORY).binaries
ENGINES = ("chunkstore", "leveldb")
SMALL = {"recordcount": "5000", "fieldcount": "1", "fieldlength": "100"}
WRITES = {"readproportion": "0.2", "updateproportion": "0.8", "threadcount": "2", "series.interval": "0.1s"}


class Store:
    """A store of one engine in a folder of its own, and its driver."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.folder = folder
        self._binary = BINARIES / f"kvdyno-{engine}"
        assert self._binary.is_file(), f"{engine} is not built: run `make build` first"

    def drive(self, flag: str, properties: Mapping[str, str], *, output: str) -> int:
        """The exit status; a signal is negative."""
        places = {"data.dir": str(self.folder / "data"), "output.dir": str(self.folder / output)}
        pairs = [f"{name}={value}" for name, value in {**SMALL, **properties, **places}.items()]
        words = [str(self._binary), flag, *(word for pair in pairs for word in ("-p", pair))]
        ended = subprocess.run(words, check=False, capture_output=True, timeout=120)
        self.errors = ended.stderr.decode()
        return ended.returncode

    def kill(self, **more: str) -> None:
        """Load it, and have it killed in the midst of writing."""
        assert self.drive("-load", {}, output="load") == 0, self.errors
        ends = {"operationcount": "400000", "kill.operations": "120000"}
        assert self.drive("-run", {**WRITES, **ends, **more}, output="killed") == -9, self.errors

    def reopen(self) -> int:
        ends = {"measure.seconds": "0.3", "drain": "false", "reopen.from": str(self.folder / "killed")}
        return self.drive("-run", {**WRITES, **ends}, output="again")

    def metrics(self) -> dict[str, float]:
        outcome: dict[str, Any] = json.loads((self.folder / "again" / "outcome.json").read_text())
        (run,) = (phase for phase in outcome["phases"] if phase["name"] == "run")
        return {name: metric["value"] for name, metric in run["metrics"].items()}


@pytest.mark.parametrize("engine", [*ENGINES, "rocksdb"])
def test_a_killed_engine_holds_every_acknowledged_write(engine: str, tmp_path: Path) -> None:
    store = Store(engine, tmp_path)
    store.kill()
    assert store.reopen() == 0, store.errors
    metrics = store.metrics()
    assert metrics["recovery.lost_rows"] == 0
    assert metrics["recovery.checked_rows"] >= 1024, "so many before the mix can overwrite them"
    assert metrics["recovery.checked_rows"] + metrics["recovery.overwritten_rows"] > 3000
    assert metrics["recovery.first_answer_s"] > 0
    assert metrics["recovery.log_bytes"] > 0


def test_an_engine_that_goes_back_in_time_is_found_out(tmp_path: Path) -> None:
    """An earlier copy of the store stands in for an engine that recovers too little."""
    store = Store("leveldb", tmp_path)
    assert store.drive("-load", {}, output="load") == 0, store.errors
    shutil.copytree(tmp_path / "data", tmp_path / "before")
    ends = {"operationcount": "400000", "kill.operations": "50000"}
    assert store.drive("-run", {**WRITES, **ends}, output="killed") == -9
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "before").rename(tmp_path / "data")
    assert store.reopen() == 3
    assert "acknowledged rows are lost" in store.errors


def test_a_damaged_store_does_not_open_and_names_the_reason(tmp_path: Path) -> None:
    store = Store("chunkstore", tmp_path)
    store.kill()
    for manifest in (tmp_path / "data").glob("manifest-*"):
        manifest.write_bytes(b"no manifest" * 100)
    assert store.reopen() == 2
    outcome = json.loads((tmp_path / "again" / "outcome.json").read_text())
    assert outcome["error"]["code"] == "corruption"
    assert "manifest" in outcome["error"]["message"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_point_that_recovers_runs_from_end_to_end(engine: str, tmp_path: Path) -> None:
    record = recovered(engine, tmp_path)
    assert record.status == "ok", record.failure
    run = record.phase("run")
    assert run is not None
    assert run.metrics["recovery.lost_rows"].value == 0
    assert run.metrics["recovery.first_answer_s"].unit == "s"
    assert run.metrics["recovery.log_bytes"].value > 0, "by the killed run's series"
    killed = record.runner.details["killed"]
    assert [each["phase"] for each in killed["phases"]] == ["measure"]
    assert {"killed_log", "killed_series", "killed_properties", "series", "outcome"} <= set(record.files)


def recovered(engine: str, folder: Path) -> Record:
    """The record of one tiny point of that engine, uncapped."""
    binary = BINARIES / f"kvdyno-{engine}"
    assert binary.is_file(), f"{engine} is not built: run `make build` first"
    dataset = Dataset(identity="d" * 64, slug=engine, properties=SMALL, bytes=550_000, records=5000)
    ends = {"measure.seconds": "30", "kill.operations": "120000"}
    point = Point(
        slug=f"{engine}.tiny",
        identity="a" * 64,
        engine=local_engine(binary, adapters=Project.find(start=REPOSITORY).adapters),
        preset="default",
        axes={"engine": engine, "preset": "default"},
        properties={**SMALL, **WRITES, **ends},
        phases=("measure",),
        dataset=dataset,
        cap_bytes=0,
        timeout_seconds=60,
        expected_seconds=1,
        expected_disk_bytes=1 << 20,
        recovery=Recovery(watch_seconds=0.5),
    )
    project = Project(root=REPOSITORY, results=folder / "results", data=folder / "data")
    run_dir = folder / "run"
    run_dir.mkdir()

    class Sink:
        def begin(self, run: Run) -> Path:
            (folder / "load").mkdir()
            return folder / "load"

        def commit(self, record: Record, *, run_dir: Path) -> None:
            assert record.status == "ok", record.failure

    with Runner(project, sweep_id="test", loads=Sink(), uncapped=True) as runner:
        return runner.execute(Run(point, 1), run_dir=run_dir, order=0, progress=lambda line: None)
