"""What the runner's tests share: a project in a temporary folder, a fake engine, points and a sink."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.model.engine import (
    BuildIdentity,
    DriverIdentity,
    Engine,
    EngineDescription,
    EngineIdentity,
    Preset,
)
from kvdyno.model.point import Dataset, Point, Run
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.runner import Runner, choose_warden

MIB = 1 << 20
FAKE_DRIVER = Path(__file__).with_name("fake_driver.py")


@pytest.fixture
def direct(tmp_path: Path) -> None:
    """Skips where the file system takes no direct I/O: a tmpfs of an older kernel has no disk to measure."""
    path = tmp_path / "direct"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT))
    except OSError as refusal:
        pytest.skip(f"{path}: no direct I/O ({refusal.strerror})")
    path.unlink()


@dataclass
class Sink:
    """A store that keeps load records in memory."""

    folder: Path
    records: list[Record] = field(default_factory=list)

    def begin(self, run: Run) -> Path:
        run_dir = self.folder / f"load-{len(self.records)}"
        run_dir.mkdir(parents=True)
        return run_dir

    def commit(self, record: Record, *, run_dir: Path) -> None:
        self.records.append(record)


def fake_engine(binary: Path, *, external: bool = False) -> Engine:
    description = EngineDescription(
        schema_version="kvdyno.describe/1",
        driver=DriverIdentity(name="fake", version="1"),
        engine=EngineIdentity(name="fake", version="1", summary="", write_once_files=("*.once",)),
        build=BuildIdentity(compiler="none", flags="", type="none"),
        options=(),
        properties=(),
        phases=("load", "settle", "measure", "drain"),
    )
    return Engine(
        name="fake",
        binary=binary,
        binary_sha256="0" * 64,
        description=description,
        presets={"default": Preset()},
        external=external,
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path, results=tmp_path / "results", data=tmp_path / "data")


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path / "loads")


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """The fake driver as an executable: runs under this interpreter, without site-packages."""
    path = tmp_path / "kvdyno-fake"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {FAKE_DRIVER} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def point(binary: Path) -> Point:
    """A point on an empty store."""
    return Point(
        slug="fake.P",
        identity="a" * 64,
        engine=fake_engine(binary),
        preset="default",
        axes={"engine": "fake", "preset": "default"},
        properties={"operationcount": "10"},
        phases=("load", "measure", "drain"),
        dataset=None,
        cap_bytes=64 * MIB,
        timeout_seconds=60,
        expected_seconds=1,
        expected_disk_bytes=MIB,
    )


@pytest.fixture
def loaded_point(point: Point) -> Point:
    """A point that starts from a snapshot."""
    dataset = Dataset(
        identity="d" * 64, slug="fake.5KB", properties={"recordcount": "10"}, bytes=5000, records=10
    )
    return replace(point, phases=("measure", "drain"), dataset=dataset)


@pytest.fixture
def runner(project: Project, sink: Sink) -> Iterator[Runner]:
    """Caps are real where this machine lets us; what must be capped asks for `capped` too."""
    with Runner(project, sweep_id="test", loads=sink, uncapped=not can_cap()) as entered:
        yield entered


@functools.cache
def can_cap() -> bool:
    """Whatever this machine's way of capping is, it works."""
    try:
        warden = choose_warden("trial")
        with contextlib.closing(warden), warden.cage(cap_bytes=64 * MIB):
            return True
    except HostError:
        return False


def dead_name(namespace: int | None = None) -> str:
    """What an exited process called its own, in this PID namespace if in no other."""
    here = Path("/proc/self/ns/pid").stat().st_ino
    return f"kvdyno-dead-ns{namespace or here}-4194305-77"


def is_dead(pid: int) -> bool:
    """A zombie is: it waits for nothing but being counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def capped() -> None:
    """Skips where cgroups may not be made."""
    if not can_cap():
        pytest.skip("caps cannot be enforced here")


Execute = Callable[..., Record]


@pytest.fixture
def execute(runner: Runner, tmp_path: Path) -> Execute:
    """Run a point, with properties added, and give its record."""

    def run(point: Point, *, properties: dict[str, str] | None = None, **changes: object) -> Record:
        count = len(list(tmp_path.glob("run-*")))
        run_dir = tmp_path / f"run-{count}"
        run_dir.mkdir()
        changed = replace(point, properties={**point.properties, **(properties or {})}, **changes)  # type: ignore[arg-type]
        return runner.execute(Run(changed, 1), run_dir=run_dir, order=count, progress=lambda line: None)

    return run
