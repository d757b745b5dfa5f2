"""`kvdyno regress` and `bisect` where the machine or the arguments are in the way: nothing stored is lost."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.paced import SUITE, build_paced

from .conftest import Checkout


@pytest.fixture
def gate(checkout: Checkout) -> Checkout:
    build_paced(checkout.binaries)
    (checkout.root / "experiments" / "regress").mkdir()
    checkout.experiment("regress/one", SUITE.replace("repetitions: 12", "repetitions: 4"))
    return checkout


@pytest.fixture
def small_results(gate: Checkout) -> Iterator[Path]:
    folder = gate.root / "results"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_ends_the_gate_and_the_same_command_goes_on(
    gate: Checkout, small_results: Path
) -> None:
    command = ("regress", "paced", "paced:rate=800", "--suite", "one", "--uncapped", "--no-why", "--json")
    filler = small_results / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_results).free - 65536))
    answer = gate.kvdyno(*command)
    assert answer.status == 3, answer.out
    assert "No space left on device" in answer.err
    before = {path: path.read_bytes() for path in gate.records()}
    filler.unlink()
    again = gate.kvdyno(*command)
    assert again.status == 1, again.err
    assert again.json["pairs"] == 4
    assert {path: path.read_bytes() for path in before} == before, "what was stored stays"


def test_a_version_that_is_not_built_is_named_with_its_command(gate: Checkout) -> None:
    (gate.root / "engines" / "versions.yaml").write_text(
        (Path(__file__).parents[3] / "engines" / "versions.yaml").read_text()
    )
    answer = gate.kvdyno(
        *("bisect", "rocksdb@7.9.2", "rocksdb@10.4.2", "--point", "c.4MiB", "--suite", "one", "--uncapped")
    )
    assert answer.status == 4, answer.out
    assert "is not built" in answer.err
    assert "kvdyno engines build rocksdb@" in answer.err


def test_versions_in_the_wrong_order_are_refused(gate: Checkout) -> None:
    (gate.root / "engines" / "versions.yaml").write_text(
        (Path(__file__).parents[3] / "engines" / "versions.yaml").read_text()
    )
    answer = gate.kvdyno("bisect", "rocksdb@10.4.2", "rocksdb@9.9.3", "--point", "c.4MiB", "--suite", "one")
    assert answer.status == 2, answer.out
    assert "expected a version before rocksdb@9.9.3" in answer.err
