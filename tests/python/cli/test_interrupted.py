"""A sweep that is stopped or killed loses at most the run in progress, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.drivers import build_fake
from fakes.groups import groups_like

from .conftest import Checkout

EXPERIMENT = """\
title: Stopped
engines: [fakedb]
grid:
  workload: [a, c]
  dataset: [256MiB]
cap: 2GiB
repetitions: 2
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def stuck(checkout: Checkout) -> Checkout:
    """Four runs, of which the third hangs; measured again it does not."""
    build_fake(checkout.binaries, calls=checkout.root / "calls")
    checkout.experiment("stopped", EXPERIMENT)
    return checkout


@pytest.fixture
def start(stuck: Checkout) -> Iterator[Start]:
    """Start a sweep, and wait until its third run hangs."""
    started = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        process = stuck.start("run", "stopped", *arguments)
        started.append(process)
        until(lambda: hangs(stuck) or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def hangs(stuck: Checkout) -> bool:
    calls = stuck.root / "calls"
    return calls.exists() and len(calls.read_text().splitlines()) == 3


def statuses(stuck: Checkout) -> list[str]:
    return [json.loads(path.read_text())["status"] for path in stuck.records() if ".load-" not in str(path)]


def drivers(stuck: Checkout) -> list[str]:
    """Living processes that work on this checkout's stores."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
            dead = (path.parent / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if f"data.dir={stuck.root}" in words and not dead:
            found.append(words)
    return found


def resume(stuck: Checkout, *arguments: str) -> None:
    """The same command again measures exactly what is missing, and leaves nothing but records."""
    answer = stuck.kvdyno("run", "stopped", "--json", *arguments)
    assert answer.status == 0, answer.err
    assert (answer.json["measured"], answer.json["reused"]) == (2, 2)
    assert statuses(stuck) == ["ok"] * 4
    assert len(list(stuck.runs.glob("*/*"))) == len(stuck.records()), "no run folder without a record"
    assert stuck.work == []
    assert drivers(stuck) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_sweep_resumes(stuck: Checkout, start: Start, number: int) -> None:
    process = start("--uncapped")
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what was finished is stored" in said
    assert "remedy: run the same command again: it goes on where it stopped" in said
    assert "Traceback" not in said
    assert statuses(stuck) == ["ok", "ok"]
    assert stuck.work == []
    assert drivers(stuck) == []
    resume(stuck, "--uncapped")


def test_two_sweeps_at_once(stuck: Checkout, start: Start) -> None:
    process = start("--uncapped")
    for command in (["run", "stopped", "--uncapped"], ["clean"]):
        answer = stuck.kvdyno(*command)
        assert answer.status == 6
        assert f"another sweep runs on this machine: process {process.pid}, since " in answer.err
        assert str(stuck.root) in answer.err
        assert "pass --wait" in answer.err
    assert stuck.kvdyno("plan", "stopped", "--uncapped").status == 0, "looking is allowed"
    assert process.poll() is None, "nor is the first one disturbed"


@pytest.mark.parametrize("command", [["run", "stopped", "--uncapped"], ["clean"]])
def test_waiting_for_another_sweep(stuck: Checkout, start: Start, command: list[str]) -> None:
    process = start("--uncapped")
    waiting = stuck.start(*command, "--wait")
    try:
        assert waiting.stderr
        said = waiting.stderr.readline()
        assert f"waiting for another sweep to end: process {process.pid}, since " in said
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        out, err = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, err
    finally:
        waiting.kill()
        waiting.communicate()
    if command[0] == "run":
        assert "2 runs measured, 2 taken from earlier sweeps" in out


def test_waiting_can_be_stopped(stuck: Checkout, start: Start) -> None:
    process = start("--uncapped")
    waiting = stuck.start("clean", "--wait")
    try:
        assert waiting.stderr
        waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=60)
        assert waiting.returncode == 130
    finally:
        waiting.kill()
        waiting.communicate()
    assert process.poll() is None


def test_a_killed_sweep_resumes(stuck: Checkout, start: Start, capped: None) -> None:
    process = start()
    process.kill()
    process.wait()
    assert statuses(stuck) == ["ok", "ok"]
    resume(stuck)
    assert groups_like(f"kvdyno-*-{process.pid}-*") == []


def test_a_killed_sweep_without_a_cap_takes_its_driver_along(stuck: Checkout, start: Start) -> None:
    process = start("--uncapped")
    process.kill()
    process.wait()
    until(lambda: drivers(stuck) == [])
    resume(stuck, "--uncapped")
