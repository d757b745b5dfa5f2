"""How a run ended, in one word and in words."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.runner.run_status import Signs, judge, read_tail
from kvdyno.runner.watch import Ending

ENDING = Ending(
    exit_status=0,
    signal=None,
    timed_out=False,
    fault="",
    oom_kills=0,
    ran_into_cap=True,
    limits_swap=True,
    peak_bytes=1,
    seconds=1,
    cpu_seconds_apart=0,
    progressed=True,
)
SIGNS = Signs(
    ending=ENDING,
    outcome=None,
    outcome_flaw="it left no outcome.json",
    log_tail="opening\nlast words\n",
    cap_bytes=64 << 20,
    timeout_seconds=9,
    free_bytes=1 << 40,
)


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"fault": "the daemon went away", "oom_kills": 1}, "failed", "the daemon went away"),
        ({"oom_kills": 1, "timed_out": True, "signal": 9, "exit_status": None}, "out_of_memory", "64 MiB"),
        ({"oom_kills": 1, "progressed": False}, "out_of_memory", "too small for the driver itself"),
        ({"timed_out": True, "exit_status": 4}, "timeout", "9 s"),
        ({"signal": signal.SIGABRT, "exit_status": None}, "crash", "SIGABRT"),
        ({"signal": 35, "exit_status": None}, "crash", "signal 35"),
        ({"oom_kills": 1, "ran_into_cap": False, "signal": 9}, "failed", "whole host's lack of memory"),
        ({"signal": signal.SIGKILL, "exit_status": None}, "failed", "SIGKILL from outside"),
        ({"exit_status": 125}, "failed", "could not be started: last words"),
        ({"exit_status": 127}, "failed", "could not be started"),
        ({"exit_status": 3}, "wrong_data", "last words"),
        ({"exit_status": 1}, "failed", "refuses its properties: last words"),
        ({"exit_status": 4}, "interrupted", "SIGTERM"),
        ({"exit_status": 2}, "failed", "exit status 2: last words"),
        ({}, "failed", "reports success, but it left no outcome.json"),
    ],
)
def test_endings(changes: dict[str, object], status: str, said: str) -> None:
    signs = replace(SIGNS, ending=replace(ENDING, **changes))  # type: ignore[arg-type]
    found, failure = judge(signs)
    assert found == status
    assert failure is not None
    assert said in failure.reason
    assert failure.log_tail == SIGNS.log_tail


def test_a_disk_without_room_explains_a_failure() -> None:
    failed = replace(SIGNS, ending=replace(ENDING, exit_status=2), free_bytes=100)
    assert judge(failed)[0] == "disk_full"


def test_silence_is_reported_as_silence() -> None:
    _, failure = judge(replace(SIGNS, ending=replace(ENDING, exit_status=2), log_tail=""))
    assert failure is not None
    assert "it wrote nothing" in failure.reason


def test_the_tail_is_forty_lines_of_any_bytes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff\x00x\n" * 100_000)
    tail = read_tail(log)
    assert len(tail.splitlines()) == 40
    assert "\0" not in tail
    assert read_tail(tmp_path / "none") == ""
