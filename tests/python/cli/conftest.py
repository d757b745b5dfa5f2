"""A checkout in a temporary folder and the command `kvdyno` inside it, in this process or in its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# Consoles look at these once, when they are made.
os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
os.environ.pop("FORCE_COLOR", None)

from fakes.drivers import build_fake

from kvdyno import cli
from kvdyno.errors import HostError
from kvdyno.pipeline import locking
from kvdyno.runner import choose_warden

REPOSITORY = Path(__file__).parents[3]
BINARIES = Path(os.environ.get("KVDYNO_BUILD", REPOSITORY / "build")) / "bin"

PROFILES = """\
quick:
  scale: 1/64
  repetitions: 2
  timeout: 1min
  phases:
    warmup: 0s
    measure: {operations: 640000}
"""

#: Two real engines, 4 MiB of data and a cap of 32 MiB at the profile's scale.
TINY = """\
title: Tiny
engines: [memory, noop]
grid:
  workload: [a, c]
  dataset: [256MiB]
cap: 2GiB
figures:
  - {id: throughput, kind: bars, x: workload}
tables:
  - {id: throughput-table, rows: workload, columns: engine, ratio_to: memory}
claims:
  - {id: some, text: memory does something, engine: memory, at_least: 1}
"""

_LAUNCHER = """\
import signal
import sys
from pathlib import Path
from kvdyno import cli
from kvdyno.pipeline import locking
# A caller may have these ignored (nohup, a shell's background job), and children inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
place = Path(sys.argv.pop(1))
locking.machine_places = lambda: (place,)
cli.main()
"""


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=pytest.fail)


@dataclass(frozen=True)
class Checkout:
    """A checkout whose sweeps have a lock of their own, so that they run beside real ones."""

    root: Path

    @property
    def binaries(self) -> Path:
        return self.root / "build" / "bin"

    @property
    def runs(self) -> Path:
        return self.root / "results" / "runs"

    @property
    def work(self) -> list[Path]:
        """What sweeps have in the data folder, snapshots apart."""
        return list((self.root / ".kvdyno" / "work").glob("*"))

    def records(self) -> list[Path]:
        return sorted(self.runs.glob("*/*/record.json"))

    def experiment(self, name: str, text: str) -> None:
        (self.root / "experiments" / f"{name}.yaml").write_text(text)

    def kvdyno(self, *arguments: str, **environment: str) -> Answer:
        """Run the command in this process."""
        out, err = io.StringIO(), io.StringIO()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.chdir(self.root)
            patch.setattr(sys, "argv", ["kvdyno", *arguments])
            patch.setattr(locking, "machine_places", lambda: (self.root / "lock",))
            for name, value in (self._environment() | environment).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        answer = Answer(int(ended.value.code or 0), out.getvalue(), err.getvalue())
        assert "Traceback" not in answer.err
        return answer

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", _LAUNCHER, str(self.root / "lock"), *arguments],
            cwd=self.root,
            env={**os.environ, **self._environment()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _environment(self) -> dict[str, str]:
        return {"KVDYNO_BUILD": str(self.root / "build"), "KVDYNO_DATA": str(self.root / ".kvdyno")}


def make_checkout(root: Path) -> Checkout:
    """With the repository's workloads, presets and figure kinds, two real engines and TINY as `tiny`."""
    checkout = Checkout(root)
    for folder in ("experiments", "engines", "paper", "build/bin"):
        (root / folder).mkdir(parents=True)
    for name in ("workloads", "plots", "engines/adapters", "paper/base"):
        (root / name).symlink_to(REPOSITORY / name)
    for name in ("kvdyno-memory", "kvdyno-noop"):
        assert (BINARIES / name).is_file(), f"{name} is not built: run `make build` first"
        (checkout.binaries / name).symlink_to(BINARIES / name)
    (root / "experiments" / "profiles.yaml").write_text(PROFILES)
    checkout.experiment("tiny", TINY)
    return checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Fresh, without records."""
    return make_checkout(tmp_path / "checkout")


@pytest.fixture
def faking(checkout: Checkout) -> Checkout:
    """Fresh, with the engine fakedb beside the real ones."""
    build_fake(checkout.binaries)
    return checkout


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """TINY measured once for all tests that only look."""
    checkout = make_checkout(tmp_path_factory.mktemp("measured") / "checkout")
    answer = checkout.kvdyno("run", "tiny", "--uncapped")
    assert answer.status == 0, answer.err
    (checkout.root / "said.txt").write_text(answer.out)
    return checkout


@pytest.fixture(scope="session")
def _can_cap() -> str | None:
    """Why no cap can be enforced here, if so."""
    try:
        warden = choose_warden("trial")
        with contextlib.closing(warden), warden.cage(cap_bytes=64 << 20):
            return None
    except HostError as refusal:
        return str(refusal)


@pytest.fixture
def capped(_can_cap: str | None) -> None:
    """Skips where no cap can be enforced."""
    if _can_cap:
        pytest.skip(f"needs a memory cap: {_can_cap}")
