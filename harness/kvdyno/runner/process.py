"""Runs one driver inside a cage: starts it, listens, waits, ends it. Nothing here can hang.

Progress comes as JSON lines on a pipe, everything printed goes to a log file. A driver that overstays gets
SIGTERM, then SIGKILL together with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from kvdyno.errors import HostError
from kvdyno.model.engine import Frozen

from .cage import Cage

_TICK_SECONDS = 0.1
_LINE_BYTES_MAX = 64 << 10

# How `systemd-run --user` finds the user's manager.
_PASSED_ON = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")

#: From SIGTERM to SIGKILL: time for a driver to write its outcome.
GRACE_SECONDS = 10.0


class Progress(Frozen):
    """One line of a driver's progress. `elapsed` in seconds; `rate` over the last interval, in `unit`."""

    phase: str
    elapsed: float = Field(ge=0)
    fraction: float | None = Field(ge=0, le=1)
    operations: int = Field(ge=0)
    rate: float = Field(ge=0)
    unit: str


@dataclass(frozen=True)
class Ending:
    """How a process tree ended. Exactly one of `exit_status` and `signal` (a number) is set."""

    exit_status: int | None
    signal: int | None
    timed_out: bool
    oom_kills: int
    ran_into_cap: bool
    limits_swap: bool
    peak_bytes: int | None
    seconds: float
    progressed: bool


@dataclass(frozen=True)
class Task:
    """What to start, and where: `folder` is its working folder, `log` gets all that it prints."""

    argv: Sequence[str]
    folder: Path
    log: Path
    timeout_seconds: float
    cpus: tuple[int, ...] = ()
    grace_seconds: float = GRACE_SECONDS


class ProgressReader:
    """Turns what arrives on the pipe into Progress; what is no progress line is passed over."""

    def __init__(self, descriptor: int, deliver: Callable[[Progress], None]) -> None:
        self._descriptor = descriptor
        self._deliver = deliver
        self._rest = b""
        self.delivered = 0
        os.set_blocking(descriptor, False)

    def drain(self) -> None:
        """Take what is there now, and wait for nothing. Ends also with a driver that never pauses."""
        for _ in range(64):
            try:
                chunk = os.read(self._descriptor, _LINE_BYTES_MAX)
            except BlockingIOError:
                return
            if not chunk:
                return
            *lines, rest = (self._rest + chunk).split(b"\n")
            self._rest = rest if len(rest) < _LINE_BYTES_MAX else b""
            for line in lines:
                with contextlib.suppress(ValidationError):
                    progress = Progress.model_validate_json(line)
                    self.delivered += 1
                    self._deliver(progress)


def run_in_cage(
    task: Task,
    *,
    cage: Cage,
    progress: Callable[[Progress], None],
    pipe: tuple[int, int],
    tick: Callable[[Sequence[int]], None],
) -> Ending:
    """Start the task in the cage and stay until nothing of it is left.

    `pipe` is the progress pipe's reading and writing end: the caller has told the driver the latter's
    number, and closes both. `tick` is called a few times a second with the ids of the living processes.
    Raises HostError if the task cannot be started, or cannot be ended; passes on what `progress` raises,
    KeyboardInterrupt included, after ending the task.
    """
    started = time.monotonic()
    reader = ProgressReader(pipe[0], progress)
    process = _start(task, cage, keep=pipe[1])
    timed_out = False
    try:
        while not _wait(process, _TICK_SECONDS):
            reader.drain()
            tick([process.pid, *cage.pids()])
            if time.monotonic() - started > task.timeout_seconds:
                timed_out = True
                _ask_to_end(process)
                _wait(process, task.grace_seconds)
                break
        seconds = time.monotonic() - started
    finally:
        _end_all(process, cage)
    reader.drain()
    status, number = _decode(process.returncode)
    return Ending(
        exit_status=status,
        signal=number,
        timed_out=timed_out,
        oom_kills=cage.oom_kills(),
        ran_into_cap=cage.ran_into_cap(),
        limits_swap=cage.limits_swap(),
        peak_bytes=cage.peak_bytes(),
        seconds=seconds,
        progressed=reader.delivered > 0,
    )


def _start(task: Task, cage: Cage, *, keep: int) -> subprocess.Popen[bytes]:
    """The driver dies with the harness (setpriv), on its CPUs (taskset), in its cage."""
    on_cpus = ["taskset", "-c", ",".join(map(str, task.cpus))] if task.cpus else []
    argv = cage.command(["setpriv", "--pdeathsig", "KILL", "--", *on_cpus, *task.argv])
    try:
        with task.log.open("ab") as log:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=task.folder,
                env=_environment(),
                pass_fds=(keep,),
                start_new_session=True,
            )
    except OSError as failure:
        raise HostError(
            f"cannot start: {failure.strerror}", where=argv[0], remedy="install util-linux"
        ) from failure


def _environment() -> dict[str, str]:
    """Nothing that a person's shell happens to hold (a preloaded allocator, say) may change a measurement."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", **passed_on}


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process has ended within `seconds`."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


def _end_all(process: subprocess.Popen[bytes], cage: Cage) -> None:
    """End what is left of the process group and of the cage. Raises HostError if it cannot be ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    cage.kill()
    if not _wait(process, 20):
        raise HostError(
            f"process {process.pid} outlives SIGKILL",
            remedy="look at it with ps: state D waits for a disk; a reboot ends it",
        )


def _decode(returncode: int) -> tuple[int | None, int | None]:
    """Exit status and signal. A shell in between reports signal n as 128 + n."""
    if returncode < 0:
        return None, -returncode
    if returncode > 128 and returncode - 128 in signal.valid_signals():
        return None, returncode - 128
    return returncode, None
