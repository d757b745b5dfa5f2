"""How a run ended: one status, and the reason in words."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from kvdyno.model.record import Failure, Outcome, RunStatus
from kvdyno.model.units import human_bytes

from .cage import LAUNCH_FAILED
from .watch import Ending

#: Exit statuses of a driver (docs/formats.md) that say more than that it failed.
WRONG_USAGE, WRONG_DATA, STOPPED = 1, 3, 4

_FULL_DISK_WORDS = ("no space left on device", "enospc", "disk quota exceeded")
_FULL_DISK_BYTES = 1 << 20
_TAIL_LINES = 40
_TAIL_BYTES = 16 << 10


@dataclass(frozen=True)
class Signs:
    """All signs of how a run ended. `outcome_flaw` is why there is no usable outcome."""

    ending: Ending
    outcome: Outcome | None
    outcome_flaw: str
    log_tail: str
    cap_bytes: int
    timeout_seconds: float
    free_bytes: int


def judge(signs: Signs) -> tuple[RunStatus, Failure | None]:
    """The status, and for all but `ok` the failure. An out-of-memory kill outweighs all but a fault."""
    status, reason = _status_and_reason(signs)
    if status == "ok":
        return "ok", None
    number = signs.ending.signal
    return status, Failure(
        reason=reason,
        exit_status=signs.ending.exit_status,
        signal=_signal_name(number) if number else None,
        log_tail=signs.log_tail,
    )


def _status_and_reason(signs: Signs) -> tuple[RunStatus, str]:
    ending = signs.ending
    if ending.fault:
        return "failed", ending.fault
    if ending.oom_kills and ending.ran_into_cap:
        return "out_of_memory", _memory_reason(signs)
    if ending.oom_kills:
        return "failed", "killed for the whole host's lack of memory: this run never met its own cap"
    if ending.timed_out:
        return "timeout", f"still running after {signs.timeout_seconds:g} s; it was ended"
    if _disk_is_full(signs):
        return "disk_full", f"{_said(signs)}; {human_bytes(signs.free_bytes)} are free now"
    if ending.signal == signal.SIGKILL:
        # Drivers do not kill themselves so: it shows nothing of the engine.
        return "failed", (
            "killed by SIGKILL from outside, and the kernel counted no out-of-memory kill under the cap"
        )
    if ending.signal is not None:
        return "crash", f"ended by {_signal_name(ending.signal)} ({signal.strsignal(ending.signal)})"
    if ending.exit_status == LAUNCH_FAILED or ending.exit_status in (126, 127):
        return "failed", f"the driver could not be started: {_said(signs)}"
    if ending.exit_status == WRONG_DATA:
        return "wrong_data", f"data read is not data written: {_said(signs)}"
    if signs.outcome and signs.outcome.error and signs.outcome.error.code == "unsupported":
        return "unsupported", _said(signs)
    if ending.exit_status == WRONG_USAGE:
        return "failed", f"the driver refuses its properties: {_said(signs)}"
    if ending.exit_status == STOPPED:
        return "interrupted", "something sent the driver SIGINT or SIGTERM"
    if ending.exit_status != 0:
        return "failed", f"exit status {ending.exit_status}: {_said(signs)}"
    if signs.outcome is None:
        return "failed", f"the driver reports success, but {signs.outcome_flaw}"
    if signs.outcome.status != "ok":
        return "failed", f"exit status 0, but the outcome is {signs.outcome.status}: {_said(signs)}"
    return "ok", ""


def _signal_name(number: int) -> str:
    """Real-time signals have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _memory_reason(signs: Signs) -> str:
    cap = human_bytes(signs.cap_bytes)
    if not signs.ending.progressed and signs.outcome is None:
        return f"killed before its first phase: a cap of {cap} is too small for the driver itself"
    return f"the kernel killed {signs.ending.oom_kills} process(es) for lack of memory under a cap of {cap}"


def _disk_is_full(signs: Signs) -> bool:
    if signs.ending.exit_status == 0:
        return False
    said = _said(signs).lower()
    return any(word in said for word in _FULL_DISK_WORDS) or signs.free_bytes < _FULL_DISK_BYTES


def _said(signs: Signs) -> str:
    """The driver's own words: its error if it left one, else the last line of its log."""
    if signs.outcome and signs.outcome.error:
        error = signs.outcome.error
        return f"{error.code} in {error.phase or 'set-up'}: {error.message}"
    lines = signs.log_tail.strip().splitlines()
    return lines[-1] if lines else "it wrote nothing"


def read_tail(log: Path) -> str:
    """The last lines of a log, whatever bytes it holds; empty if there is none."""
    try:
        with log.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _TAIL_BYTES))
            text = stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.replace("\0", "�").splitlines()[-_TAIL_LINES:])
