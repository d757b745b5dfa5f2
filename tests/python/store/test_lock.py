"""One sweep a machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvdyno.errors import BusyError, HostError
from kvdyno.store import SweepLock, lock

HOLDER = """
import sys
from pathlib import Path
from kvdyno.store import SweepLock

with SweepLock(Path("/their/checkout"), path=Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_second_sweep_is_told_who_holds_the_machine(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BusyError) as caught, SweepLock(Path("/mine"), path=path):
            pass
        assert f"process {holder.pid}, since " in caught.value.message
        assert "/their/checkout" in caught.value.message
        holder.kill()
    with SweepLock(Path("/mine"), path=path):
        pass


def test_it_can_be_taken_again_after_use(path: Path) -> None:
    for _ in range(2):
        with SweepLock(Path("/mine"), path=path):
            pass


def test_it_is_free_after_a_failure_inside(path: Path) -> None:
    with pytest.raises(KeyError), SweepLock(Path("/mine"), path=path):
        raise KeyError
    with SweepLock(Path("/mine"), path=path):
        pass


def test_a_holder_that_says_nothing_is_still_one(path: Path) -> None:
    with SweepLock(Path("/mine"), path=path):
        path.write_text("")
        with pytest.raises(BusyError, match="did not say"), SweepLock(Path("/other"), path=path):
            pass


def test_any_user_may_open_the_file(path: Path) -> None:
    with SweepLock(Path("/mine"), path=path):
        assert path.stat().st_mode & 0o777 == 0o666


def test_the_place_is_the_same_whatever_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = lock._default_path()
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert lock._default_path() == before
    assert before.parent in (Path("/run/lock"), Path("/tmp"))


def test_an_impossible_place_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(HostError, match="sweep lock"),
        SweepLock(Path("/mine"), path=tmp_path / "no" / "lock"),
    ):
        pass
