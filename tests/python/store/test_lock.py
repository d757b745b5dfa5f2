"""One sweep a machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kvdyno.errors import BusyError, HostError
from kvdyno.store import SweepLock, machine_lock

HOLDER = """
import sys
from pathlib import Path
from kvdyno.store import SweepLock

with SweepLock(Path("/their/checkout"), places=[Path(place) for place in sys.argv[1:]]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@contextlib.contextmanager
def held_elsewhere(*places: Path, before: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its standard input ends."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*before, sys.executable, "-c", HOLDER, *map(str, places)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as holder:
        try:
            assert holder.stdout
            assert holder.stdout.readline() == "held\n"
            yield holder
        finally:
            holder.kill()


def end(holder: subprocess.Popen[str]) -> None:
    assert holder.stdin
    holder.stdin.close()


def test_a_second_sweep_learns_who_holds_the_machine(path: Path) -> None:
    with held_elsewhere(path) as holder:
        with pytest.raises(BusyError) as caught, SweepLock(Path("/mine"), places=[path]):
            pass
        assert f"process {holder.pid}, since " in caught.value.message
        assert f"/their/checkout on {os.uname().nodename}" in caught.value.message
        assert "--wait" in str(caught.value.remedy)
    with SweepLock(Path("/mine"), places=[path]):
        pass


def test_it_can_be_taken_again_after_use(path: Path) -> None:
    for _ in range(2):
        with SweepLock(Path("/mine"), places=[path]):
            pass


def test_it_is_free_after_a_failure_inside(path: Path) -> None:
    with pytest.raises(KeyError), SweepLock(Path("/mine"), places=[path]):
        raise KeyError
    with SweepLock(Path("/mine"), places=[path]):
        pass


def test_a_holder_that_wrote_nothing_is_still_one(path: Path) -> None:
    with SweepLock(Path("/mine"), places=[path]):
        path.write_text("")
        with pytest.raises(BusyError, match="did not say"), SweepLock(Path("/other"), places=[path]):
            pass


def test_any_user_may_open_the_file(path: Path) -> None:
    with SweepLock(Path("/mine"), places=[path]):
        assert path.stat().st_mode & 0o777 == 0o666


def test_the_place_is_the_same_whatever_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine_lock()
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert machine_lock() == before
    assert before.parent in (Path("/run/lock"), Path("/tmp"))


def test_an_impossible_place_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(HostError, match="sweep lock"),
        SweepLock(Path("/mine"), places=[tmp_path / "no" / "lock"]),
    ):
        pass


def test_each_place_that_is_shared_keeps_sweeps_apart(tmp_path: Path) -> None:
    """As for a container, which may have nothing but the data folder in common."""
    places = [tmp_path / name for name in ("ours", "theirs", "shared")]
    with held_elsewhere(places[1], places[2]) as holder:
        with (
            pytest.raises(BusyError, match=f"process {holder.pid}, since "),
            SweepLock(Path("/mine"), places=[places[0], places[2]]),
        ):
            pass
        with SweepLock(Path("/mine"), places=[places[0]]):
            pass


def test_a_folder_is_locked_itself(tmp_path: Path) -> None:
    """Cgroups take no files."""
    with held_elsewhere(tmp_path):
        with (
            pytest.raises(BusyError, match="did not say") as caught,
            SweepLock(Path("/mine"), places=[tmp_path]),
        ):
            pass
        assert caught.value.where == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_pid_namespace_is_kept_apart(path: Path) -> None:
    apart = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    done = subprocess.run([*apart, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs a PID namespace of its own: {done.stderr.strip()}")
    with (
        held_elsewhere(path, before=apart),
        pytest.raises(BusyError, match="process 1, since "),
        SweepLock(Path("/mine"), places=[path]),
    ):
        pass


def test_one_place_by_two_names_is_one(path: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").symlink_to(tmp_path)
    with SweepLock(Path("/mine"), places=[path, tmp_path / "folder" / path.name]):
        pass


def test_waiting_names_the_holder_and_ends_with_it(path: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with held_elsewhere(tmp_path / "theirs", path) as holder:

        def waiting(who: str) -> None:
            said.append(who)
            with SweepLock(Path("/third"), places=[tmp_path / "ours"]):
                pass  # it holds nothing while it waits
            end(holder)

        with SweepLock(Path("/mine"), places=[tmp_path / "ours", path], waiting=waiting):
            assert holder.wait(timeout=20) == 0
            with pytest.raises(BusyError, match="/mine"), SweepLock(Path("/third"), places=[path]):
                pass
    assert len(said) == 1
    assert said[0].startswith(f"process {holder.pid}, since ")


def test_a_planted_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    for planted in (target, tmp_path / "new"):
        path.symlink_to(planted)
        with pytest.raises(HostError, match="found a symbolic link"), SweepLock(Path("/mine"), places=[path]):
            pass
        path.unlink()
    assert not (tmp_path / "new").exists()
    path.hardlink_to(target)
    with SweepLock(Path("/mine"), places=[path]):
        pass
    assert target.read_text() == "precious"


def test_a_planted_pipe_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with SweepLock(Path("/mine"), places=[path]):
        pass


def test_a_holders_words_stay_until_the_lock_is_held(path: Path) -> None:
    with held_elsewhere(path):
        before = path.read_text()
        with pytest.raises(BusyError), SweepLock(Path("/mine"), places=[path]):
            pass
        assert path.read_text() == before
