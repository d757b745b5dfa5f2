"""Owners in several PID namespaces: a sweep in any of them keeps what a living owner has, and removes what a
dead one left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.groups import groups_like

from kvdyno.host.owner import is_leftover, locked, owned_name
from kvdyno.model.point import Point, Run
from kvdyno.model.project import Project
from kvdyno.runner import Runner
from kvdyno.runner.cage import has_strangers, read_pids, wait_until
from kvdyno.runner.cgroup import V1, V2, CgroupCage, CgroupWarden
from kvdyno.runner.hierarchy import controller_mounts

from .conftest import Sink, can_cap, dead_name
from .test_killed import start_harness

#: What stands before a command that runs in a PID namespace of its own, and ends with it.
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")

LOOKER = """
import sys
from pathlib import Path
from kvdyno.runner.cgroup import V2, CgroupCage, CgroupWarden

group = Path(sys.argv[1])
print(CgroupWarden(group.parent, version=V2, name="kvdyno-looker", why="").remove_leftovers())
CgroupCage(group, V2).kill()
"""


@pytest.fixture
def apart() -> tuple[str, ...]:
    """Skips where no PID namespace can be made."""
    done = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs a PID namespace of its own: {done.stderr.strip()}")
    return APART


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup v2 that this process owns but did not lock, with a living process inside."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    root = next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("needs a cgroup v2 that may be written")
    path = root / owned_name("living")
    path.mkdir()
    try:
        with subprocess.Popen(["sleep", "600"]) as sleeper:
            try:
                (path / "cgroup.procs").write_text(str(sleeper.pid))
                yield path
            finally:
                sleeper.kill()
    finally:
        wait_until(lambda: not read_pids(path / "cgroup.procs"), seconds=20, failure=f"{path} is not empty")
        path.rmdir()


def test_an_owner_of_another_namespace_is_judged_by_its_lock(tmp_path: Path) -> None:
    name = dead_name(namespace=1)
    folder = tmp_path / name
    folder.mkdir()
    assert not is_leftover(name), "its process id means nothing here"
    with locked(folder):
        assert not is_leftover(name, folder=folder)
    assert is_leftover(name, folder=folder)


def test_a_lock_speaks_for_owners_that_proc_hides(tmp_path: Path) -> None:
    folder = tmp_path / dead_name()
    folder.mkdir()
    with locked(folder), locked(folder):
        assert not is_leftover(folder.name, folder=folder)
    assert is_leftover(folder.name, folder=folder)


def test_a_proc_of_another_namespace_proves_no_death(
    apart: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a /proc of its own, a namespace looks up its ids among another's."""
    program = (
        "from kvdyno.host.owner import is_leftover, owned_name;"
        "name, pid, start = owned_name('s').rsplit('-', 2);"
        "print(is_leftover(f'{name}-{pid}-{int(start) + 1}'))"
    )
    without_proc = [word for word in apart if word != "--mount-proc"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for command, said in ((without_proc, "False"), (apart, "True")):
        done = subprocess.run(
            [*command, sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        assert done.stdout.strip() == said


def test_a_living_sweep_of_another_namespace_stays_until_it_is_dead(
    apart: tuple[str, ...], project: Project, sink: Sink, loaded_point: Point, tmp_path: Path
) -> None:
    pid_file = tmp_path / "driver.pid"
    hanging = Run(replace(loaded_point, properties={"fake": "hang", "fake.pid": str(pid_file)}), 1)
    with start_harness(tmp_path, (project, hanging, not can_cap(), ["local"]), before=apart) as harness:
        assert harness.stdout
        for line in harness.stdout:
            if "measure" in line and pid_file.exists():
                break
        try:
            [work] = (project.data / "work").iterdir()
            with Runner(project, sweep_id="beside", loads=sink, uncapped=not can_cap()) as runner:
                assert work.name not in runner.removed_leftovers
            assert (work / "store").exists()
            if can_cap():
                assert any(read_pids(path / "cgroup.procs") for path in groups_like(f"{work.name}*"))
            assert harness.poll() is None
        finally:
            harness.kill()
            harness.stdout.close()
    wait_until(lambda: is_leftover(work.name, folder=work), seconds=20, failure="its lock outlives it")
    with Runner(project, sweep_id="after", loads=sink, uncapped=not can_cap()) as runner:
        assert work.name in runner.removed_leftovers
    assert not work.exists()
    assert groups_like(f"{work.name}*") == []


def test_processes_outside_of_the_namespace_are_not_acted_on(apart: tuple[str, ...], group: Path) -> None:
    """They are listed as 0, which a kill takes for the caller's own process group."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*apart, sys.executable, "-c", LOOKER, str(group)],
        capture_output=True,
        text=True,
        env=environment,
        start_new_session=True,  # a kill of the caller's process group would end the tests too
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "()"), done.stderr
    assert len(read_pids(group / "cgroup.procs")) == 1


def test_a_group_with_strangers_is_neither_killed_nor_a_leftover(tmp_path: Path) -> None:
    path = tmp_path / dead_name()
    path.mkdir()
    (path / "cgroup.procs").write_text("0\n")
    (path / "cgroup.kill").touch()
    assert read_pids(path / "cgroup.procs") == []
    assert has_strangers(path / "cgroup.procs")
    assert CgroupWarden(tmp_path, version=V2, name=owned_name("s"), why="").remove_leftovers() == ()
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        (path / "cgroup.procs").write_text(f"0\n{sleeper.pid}\n")
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(ProcessLookupError):
            patch.setattr(
                "kvdyno.runner.cgroup.read_pids",
                lambda file: read_pids(file) if sleeper.poll() is None else [],
            )
            CgroupCage(path, V2).kill()
        assert sleeper.wait(timeout=20) < 0
    assert (path / "cgroup.kill").read_text() == "", "it would end the strangers too"


@pytest.fixture
def frozen() -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A cgroup v1 that a dead process left, with a frozen process inside."""
    memory, _ = controller_mounts("memory")
    freezer, _ = controller_mounts("freezer")
    if memory is None or freezer is None or not os.access(freezer, os.W_OK):
        pytest.skip("needs cgroup v1 with a freezer that may be written; v2 ends frozen processes by itself")
    left, paused = memory / f"kvdyno-test-{os.getpid()}", freezer / f"kvdyno-test-{os.getpid()}"
    with contextlib.ExitStack() as undo:
        for path in (left, paused):
            path.mkdir()
            undo.callback(path.rmdir)
        sleeper = undo.enter_context(subprocess.Popen(["sleep", "600"]))
        undo.callback(sleeper.kill)
        for path in (left, paused):
            (path / "cgroup.procs").write_text(str(sleeper.pid))
        (paused / "freezer.state").write_text("FROZEN")
        undo.callback((paused / "freezer.state").write_text, "THAWED")
        yield left, sleeper


def test_a_frozen_process_is_thawed_before_it_is_killed(
    frozen: tuple[Path, subprocess.Popen[bytes]],
) -> None:
    group, sleeper = frozen
    CgroupCage(group, V1).kill()
    assert sleeper.wait(timeout=20) == -signal.SIGKILL
