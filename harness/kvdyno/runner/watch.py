"""Watches one task in its cage: starts it, listens, waits, ends it. Nothing here can hang.

Progress comes as JSON lines. A task that overstays gets SIGTERM, then SIGKILL together with all that it
started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, ValidationError

from kvdyno.model.engine import Frozen

from .cage import Cage, Task
from .throttle import LEVELS

_TICK_SECONDS = 0.1
_LINE_BYTES_MAX = 64 << 10


class Progress(Frozen):
    """One line of a driver's progress. `elapsed` in seconds; `rate` over the last interval, in `unit`."""

    phase: str
    elapsed: float = Field(ge=0)
    fraction: float | None = Field(ge=0, le=1)
    operations: int = Field(ge=0)
    rate: float = Field(ge=0)
    unit: str


@dataclass(frozen=True)
class Account:
    """What was counted up to a phase's last progress line: levels then, all else since the phase before."""

    phase: str
    usage: Mapping[str, float]

    def as_details(self) -> dict[str, object]:
        """As a record has it."""
        return {"phase": self.phase, **self.usage}


class Accountant:
    """Asks the cage and the machine at each line of progress, and keeps the last answer of each phase."""

    def __init__(
        self, cage: Cage, progress: Callable[[Progress], None], *, machine: Callable[[], Mapping[str, float]]
    ) -> None:
        self._cage = cage
        self._progress = progress
        self._machine = machine
        self._latest: dict[str, dict[str, float]] = {}
        self._start = self._counted()

    def deliver(self, line: Progress) -> None:
        """Take a line, and pass it on."""
        self._latest[line.phase] = {**self._cage.usage(), **self._counted()}
        self._progress(line)

    def accounts(self) -> tuple[Account, ...]:
        """Counters of all phases so far, in their order. A cage's counters began at zero."""
        before: Mapping[str, float] = self._start
        accounts = []
        for phase, now in self._latest.items():
            grown = {name: _grown(value, before.get(name, 0)) for name, value in now.items()}
            levels = {name: now[name] for name in now if name in LEVELS}
            accounts.append(Account(phase, grown | levels))
            before = now
        return tuple(accounts)

    def _counted(self) -> dict[str, float]:
        return {"seconds": time.monotonic(), **self._machine()}


def _grown(now: float, before: float) -> float:
    """To microseconds: what is finer comes from subtracting."""
    return round(now - before, 6)


@dataclass(frozen=True)
class Ending:
    """How a process tree ended. Exactly one of `exit_status` and `signal` (a number) is set.

    `fault` is what failed around it, if that is why it ended.
    """

    exit_status: int | None
    signal: int | None
    timed_out: bool
    fault: str
    oom_kills: int
    ran_into_cap: bool
    limits_swap: bool
    peak_bytes: int | None
    seconds: float
    cpu_seconds_apart: float
    progressed: bool
    accounts: tuple[Account, ...] = ()


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
    tick: Callable[[Sequence[int]], None],
    machine: Callable[[], Mapping[str, float]] = dict,
) -> Ending:
    """Start the task in the cage and stay until nothing of it is left.

    `tick` is called a few times a second with the ids of the living processes, `machine` at each line of
    progress for what the whole machine has counted. Raises HostError if the task
    cannot be started, or cannot be ended; passes on what `progress` raises, KeyboardInterrupt included, after
    ending the task.
    """
    started = time.monotonic()
    accountant = Accountant(cage, progress, machine=machine)
    with contextlib.closing(cage.start(task)) as process:
        reader = ProgressReader(process.progress, accountant.deliver)
        timed_out = False
        try:
            while not process.wait(_TICK_SECONDS):
                reader.drain()
                tick([process.pid, *cage.pids()])
                if time.monotonic() - started > task.timeout_seconds:
                    timed_out = True
                    process.ask_to_end()
                    process.wait(task.grace_seconds)
                    break
            seconds = time.monotonic() - started
        finally:
            process.kill()
        reader.drain()
        status, number = _decode(process.returncode)
        return Ending(
            exit_status=status,
            signal=number,
            timed_out=timed_out,
            fault=process.fault,
            oom_kills=cage.oom_kills(),
            ran_into_cap=cage.ran_into_cap(),
            limits_swap=cage.limits_swap(),
            peak_bytes=cage.peak_bytes(),
            seconds=seconds,
            cpu_seconds_apart=process.cpu_seconds_apart,
            progressed=reader.delivered > 0,
            accounts=accountant.accounts(),
        )


def _decode(returncode: int) -> tuple[int | None, int | None]:
    """Exit status and signal. A shell in between reports signal n as 128 + n."""
    if returncode < 0:
        return None, -returncode
    if returncode > 128 and returncode - 128 in signal.valid_signals():
        return None, returncode - 128
    return returncode, None
