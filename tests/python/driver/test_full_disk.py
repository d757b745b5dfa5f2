"""A real disk that fills up while a store is loaded: every durable engine fails with the reason, and ends."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvdyno.model.project import Project

REPOSITORY = Path(__file__).parents[3]
IN_MEMORY = {"kvdyno-memory", "kvdyno-noop", "kvdyno-sampling"}
DURABLE = [
    path
    for path in sorted(Project.find(start=REPOSITORY).binaries.glob("kvdyno-*"))
    if path.name not in IN_MEMORY
]
# Small memtables, so that flushes and compactions run, and tuners act, before there is no room left.
SMALL = {"write_buffer_size": "1MiB", "target_file_size_base": "1MiB", "max_bytes_for_level_base": "4MiB"}
BATCHES = {"batch_min": "1MiB", "batch_max": "8MiB", "batch_step": "1MiB", "window": "50ms"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    if not _mounted(place):
        pytest.skip("nothing can be mounted here: it takes root")
    yield place
    subprocess.run(["umount", place], check=True)


def _mounted(place: Path) -> bool:
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "none", place]
    return os.geteuid() == 0 and subprocess.run(mount, check=False, capture_output=True).returncode == 0


def test_updates_of_external_storage_that_fill_the_disk_fail_and_end(
    small_disk: Path, tmp_path: Path
) -> None:
    properties = {
        "records": "4000000",
        "data.dir": str(small_disk / "data"),
        "output.dir": str(tmp_path / "output"),
        "sampling.storage": "external",
        "sampling.memory_levels": "0",
        "sampling.memory_bytes": "16MiB",
        "sampling.deletes": "tombstones",
    }
    flags = [flag for name, value in properties.items() for flag in ("-p", f"{name}={value}")]
    binary = Project.find(start=REPOSITORY).binaries / "kvdyno-sampling"
    ended = subprocess.run([binary, *flags], check=False, capture_output=True, timeout=300)
    assert ended.returncode == 2, ended.stderr.decode()
    outcome = json.loads((tmp_path / "output" / "outcome.json").read_text())
    assert outcome["status"] == "failed"
    assert "No space left on device" in outcome["error"]["message"]
    assert [file.name for file in (small_disk / "data").iterdir()] == ["LOCK"]


@pytest.mark.parametrize("binary", DURABLE, ids=lambda path: path.name.removeprefix("kvdyno-"))
def test_a_load_that_fills_the_disk_fails_and_ends(binary: Path, small_disk: Path, tmp_path: Path) -> None:
    engine = binary.name.removeprefix("kvdyno-")
    options = {**SMALL, **BATCHES} if engine == "rocksdb-adoc" else SMALL
    if not engine.startswith("rocksdb"):
        options = {}
    data, output = small_disk / "data", tmp_path / "output"
    data.mkdir()
    output.mkdir()
    properties = {
        "recordcount": "1000000",
        "data.dir": str(data),
        "output.dir": str(output),
        **{f"{engine}.{name}": value for name, value in options.items()},
    }
    flags = [flag for name, value in properties.items() for flag in ("-p", f"{name}={value}")]
    workload = REPOSITORY / "workloads" / "fillrandom.properties"
    load = [binary, "-load", "-P", workload, *flags]
    ended = subprocess.run(load, check=False, capture_output=True, timeout=300)
    assert ended.returncode == 2, ended.stderr.decode()
    outcome = json.loads((output / "outcome.json").read_text())
    assert outcome["status"] == "failed"
    assert "No space left on device" in outcome["error"]["message"]
