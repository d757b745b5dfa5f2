"""Cgroups against folders that imitate the kernel's; test_local.py has the real kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.host.owner import is_leftover, owned_name
from kvdyno.runner import cgroup as cgroup_module
from kvdyno.runner import choose_warden
from kvdyno.runner.cage import LAUNCH_FAILED, Warden, read_counter, read_number, read_pids
from kvdyno.runner.cgroup import V1, V2, CgroupCage, CgroupWarden
from kvdyno.runner.systemd import Systemctl, probe

from .conftest import dead_name

MIB = 1 << 20
FILES = {
    V1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness", "cgroup.procs"),
    V2: ("memory.max", "memory.swap.max", "memory.events", "memory.peak", "cgroup.procs"),
}


@pytest.fixture(autouse=True)
def kernel_like(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new cgroup has its files at once, and rmdir takes them along."""
    make, remove = Path.mkdir, Path.rmdir

    def mkdir(self: Path, *arguments: object, **named: object) -> None:
        make(self, *arguments, **named)  # type: ignore[arg-type]
        if self.name.startswith("kvdyno-"):
            version = V1 if (self.parent / "memory.use_hierarchy").exists() else V2
            for name in FILES[version]:
                (self / name).touch()

    def rmdir(self: Path) -> None:
        if self.name.startswith("kvdyno-"):
            for file in self.iterdir():
                file.unlink()
        remove(self)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)


def machine(root: Path, *, v1: bool = False, v2: bool = False, init: str = "tini", handed: str = "") -> Path:
    """A machine's /proc and /sys, as far as the choice looks at them."""
    lines = []
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/1").mkdir()
    (root / "proc/1/comm").write_text(init + "\n")
    if v1:
        folder = root / "sys/fs/cgroup/memory"
        folder.mkdir(parents=True)
        (folder / "memory.use_hierarchy").write_text("1")
        lines.append("cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0")
        lines.append("cgroup /elsewhere/memory cgroup rw,relatime,memory 0 0")
    unified = root / "sys/fs/cgroup/unified"
    unified.mkdir(parents=True)
    (unified / "cgroup.controllers").write_text("cpu memory pids\n" if v2 else "cpu\n")
    (unified / "cgroup.subtree_control").write_text(handed)
    lines.append("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0")
    (root / "proc/self/mounts").write_text("\n".join(lines) + "\n")
    return root


def test_v1_is_picked_and_capped_with_its_swap(tmp_path: Path) -> None:
    warden = choose_warden("s1", root=machine(tmp_path, v1=True))
    assert warden.kind == "cgroup v1"
    assert str(tmp_path / "sys/fs/cgroup/memory") in warden.why
    with warden.cage(cap_bytes=64 * MIB) as cage:
        path = Path(cage.place)
        assert path.parent == tmp_path / "sys/fs/cgroup/memory"
        assert path.name.startswith("kvdyno-s1-")
        assert (path / "memory.limit_in_bytes").read_text() == str(64 * MIB)
        assert (path / "memory.memsw.limit_in_bytes").read_text() == str(64 * MIB)
        (path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
        (path / "memory.max_usage_in_bytes").write_text("12345\n")
        assert cage.oom_kills() == 2
        assert not cage.ran_into_cap()
        (path / "memory.max_usage_in_bytes").write_text(f"{63 * MIB}\n")
        assert cage.ran_into_cap()
        assert cage.limits_swap()
        (path / "memory.memsw.limit_in_bytes").unlink()
        assert not cage.limits_swap()
        assert cage.peak_bytes() == 63 * MIB
    assert not path.exists()


def test_v2_without_systemd_hands_down_the_controller_and_takes_it_back(tmp_path: Path) -> None:
    warden = choose_warden("s1", root=machine(tmp_path, v2=True))
    control = tmp_path / "sys/fs/cgroup/unified/cgroup.subtree_control"
    assert warden.kind == "cgroup v2"
    with warden.cage(cap_bytes=64 * MIB) as cage:
        path = Path(cage.place)
        assert control.read_text() == "+memory"
        assert (path / "memory.max").read_text() == str(64 * MIB)
        assert (path / "memory.swap.max").read_text() == "0"
        (path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n")
        (path / "memory.peak").write_text("777\n")
        assert cage.ran_into_cap()
        assert cage.limits_swap()
        assert (cage.oom_kills(), cage.peak_bytes()) == (1, 777)
    warden.close()
    assert control.read_text() == "-memory"


def test_v2_leaves_alone_what_was_handed_down_before(tmp_path: Path) -> None:
    warden = choose_warden("s1", root=machine(tmp_path, v2=True, handed="cpu memory"))
    with warden.cage(cap_bytes=MIB):
        pass
    warden.close()
    assert (tmp_path / "sys/fs/cgroup/unified/cgroup.subtree_control").read_text() == "cpu memory"


def test_v2_ends_processes_by_cgroup_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "group"
    path.mkdir()
    (path / "cgroup.kill").touch()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as sleeper:
        (path / "cgroup.procs").write_text(f"{sleeper.pid}\n")
        monkeypatch.setattr(
            cgroup_module, "read_pids", lambda file: read_pids(file) if sleeper.poll() is None else []
        )
        CgroupCage(path, V2).kill()
        assert sleeper.wait(timeout=10) < 0
    assert (path / "cgroup.kill").read_text() == "1"


def test_systemd_is_asked_where_it_rules(tmp_path: Path) -> None:
    asked: list[bool] = []
    root = machine(tmp_path, v2=True, init="systemd")
    warden = choose_warden("s1", root=root, probe_systemd=lambda *, user, mount: asked.append(user))
    assert warden.kind == "systemd"
    assert asked == [os.geteuid() != 0]


def test_systemd_out_of_reach_leaves_v2_to_root(tmp_path: Path) -> None:
    def refuse(*, user: bool, mount: Path) -> None:
        raise HostError("Failed to connect to bus")

    warden = choose_warden("s1", root=machine(tmp_path, v2=True, init="systemd"), probe_systemd=refuse)
    assert warden.kind == "cgroup v2"
    assert "cannot be reached" in warden.why


def test_no_controller_is_an_error_with_a_remedy_unless_uncapped(tmp_path: Path) -> None:
    root = machine(tmp_path)
    with pytest.raises(HostError, match="--uncapped"):
        choose_warden("s1", root=root)
    warden = choose_warden("s1", root=root, uncapped=True)
    assert (warden.kind, warden.capped) == ("none", False)
    with warden.cage(cap_bytes=MIB) as cage:
        assert (cage.place, cage.pids()) == ("", [])


def test_no_proc_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no memory controller"):
        choose_warden("s1", root=tmp_path)


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, v1=True)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(HostError, match="sudo"):
        choose_warden("s1", root=root)


def test_a_cap_that_the_kernel_refuses_leaves_no_cgroup(tmp_path: Path) -> None:
    root = machine(tmp_path, v1=True) / "sys/fs/cgroup/memory"
    warden = CgroupWarden(root, version=V1, name="kvdyno-s1-1-1", why="")
    write = Path.write_text

    def refuse(self: Path, text: str) -> int:
        if self.name == "memory.limit_in_bytes":
            raise OSError(22, "Invalid argument")
        return write(self, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_text", refuse)
        with pytest.raises(HostError, match="refuses a cap"), warden.cage(cap_bytes=5):
            pass
    assert not list(root.glob("kvdyno-*"))


def test_leftovers_are_ours_and_of_the_dead_only(tmp_path: Path) -> None:
    root = machine(tmp_path, v1=True) / "sys/fs/cgroup/memory"
    living = owned_name("living")
    for name in (dead_name(), living, "kvdyno-by-hand", "other"):
        (root / name).mkdir()
    warden = CgroupWarden(root, version=V1, name="kvdyno-s1-1-1", why="")
    assert warden.remove_leftovers() == (dead_name(),)
    assert {p.name for p in root.iterdir() if p.is_dir()} == {living, "kvdyno-by-hand", "other"}


def test_a_reused_process_id_is_not_the_owner() -> None:
    sweep, pid, start = owned_name("s").rsplit("-", 2)
    assert not is_leftover(f"{sweep}-{pid}-{start}")
    assert not is_leftover(f"{sweep}-{pid}-{start}.3.scope")
    assert is_leftover(f"{sweep}-{pid}-{int(start) - 1}")
    assert not is_leftover("kvdyno-probe.scope")


def test_a_sweep_id_must_fit_into_a_name() -> None:
    with pytest.raises(ValueError, match="sweep id"):
        owned_name("../up")


def test_files_that_are_missing_or_say_max_count_nothing(tmp_path: Path) -> None:
    (tmp_path / "max").write_text("max\n")
    assert read_number(tmp_path / "max") is None
    assert read_number(tmp_path / "gone") is None
    assert read_counter(tmp_path / "gone", "oom_kill") == 0
    assert read_pids(tmp_path / "gone") == []


class TestSystemd:
    """With stand-ins for systemd-run and systemctl on the path."""

    @pytest.fixture
    def tools(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "tools"
        folder.mkdir()
        run = folder / "systemd-run"
        run.write_text(
            f'#!/bin/sh\necho "$@" >> {folder}/asked\n'
            'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
        )
        ctl = folder / "systemctl"
        ctl.write_text(
            f'#!/bin/sh\necho "systemctl $@" >> {folder}/asked\n'
            f'case "$*" in *show*) cat {folder}/result;; *list-units*) cat {folder}/units;; esac\n'
        )
        for tool in (run, ctl):
            tool.chmod(0o755)
        (folder / "result").write_text("success\n")
        (folder / "units").write_text("")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return folder

    @pytest.fixture
    def enforced(self, tmp_path: Path) -> Path:
        """The file that holds which cap is in force for the cgroup of this very process."""
        root = machine(tmp_path / "machine", v2=True, init="systemd")
        own = Path("/proc/self/cgroup").read_text().partition("0::")[2].split("\n")[0]
        group = Path(f"{root}/sys/fs/cgroup/unified{own}")
        group.mkdir(parents=True, exist_ok=True)
        (group / "memory.max").write_text(f"{64 * MIB}\n")
        return group / "memory.max"

    @pytest.fixture
    def warden(self, tools: Path, tmp_path: Path, enforced: Path) -> Warden:
        return choose_warden("s1", root=tmp_path / "machine")

    def test_a_scope_has_the_cap_and_no_swap(self, tools: Path, warden: Warden) -> None:
        with warden.cage(cap_bytes=64 * MIB) as cage:
            done = subprocess.run(cage.command(["sh", "-c", "exit 3"]), check=False)
            assert done.returncode == 3, "the holder passes the driver's status on"
            assert cage.place.startswith("kvdyno-s1-")
        asked = (tools / "asked").read_text()
        assert f"--unit={cage.place} -p MemoryMax={64 * MIB} -p MemorySwapMax=0" in asked
        assert f"reset-failed {cage.place}" in asked

    def test_the_result_shows_an_oom_kill_when_the_holder_died_too(self, tools: Path, warden: Warden) -> None:
        with warden.cage(cap_bytes=64 * MIB) as cage:
            assert cage.oom_kills() == 0
            (tools / "result").write_text("oom-kill\n")
            assert cage.oom_kills() == 1

    def test_the_holders_copy_of_the_counters_comes_first(self, tools: Path, warden: Warden) -> None:
        with warden.cage(cap_bytes=64 * MIB) as cage:
            report = cage.report  # type: ignore[attr-defined]
            (report / "memory.events").write_text("oom_kill 4\n")
            (report / "memory.peak").write_text("99\n")
            assert (cage.oom_kills(), cage.peak_bytes()) == (4, 99)

    def test_leftover_scopes_are_ended(self, tools: Path, warden: Warden) -> None:
        (tools / "units").write_text(
            f"{dead_name()}.1.scope loaded active running x\n{owned_name('me')}.1.scope loaded x\n"
        )
        assert warden.remove_leftovers() == (f"{dead_name()}.1.scope",)
        assert "kill --signal=SIGKILL kvdyno-dead" in (tools / "asked").read_text()

    def test_a_cap_that_is_not_in_force_starts_nothing(
        self, tmp_path: Path, warden: Warden, enforced: Path
    ) -> None:
        enforced.write_text("max\n")
        with warden.cage(cap_bytes=64 * MIB) as cage:
            done = subprocess.run(
                cage.command(["touch", str(tmp_path / "ran")]), capture_output=True, check=False
            )
            assert done.returncode == LAUNCH_FAILED
            assert b"expected the cap of 67108864 bytes, found 'max'" in done.stderr
            assert not (tmp_path / "ran").exists()
        with warden.cage(cap_bytes=0) as cage:
            assert subprocess.run(cage.command(["true"]), check=False).returncode == 0

    def test_the_probe_looks_at_the_cap_too(self, tools: Path, enforced: Path, tmp_path: Path) -> None:
        enforced.write_text("max\n")
        mount = tmp_path / "machine/sys/fs/cgroup/unified"
        with pytest.raises(HostError, match="does not enforce caps"):
            probe(user=True, mount=mount)

    def test_a_systemd_that_does_not_answer_is_named(
        self, tools: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def hang(*arguments: object, **named: object) -> None:
            raise subprocess.TimeoutExpired("systemctl", 30)

        monkeypatch.setattr(subprocess, "run", hang)
        with pytest.raises(HostError, match="no answer"):
            Systemctl(user=False).ask("stop", "x")

    def test_a_kill_without_meeting_the_cap_is_seen(self, warden: Warden) -> None:
        with warden.cage(cap_bytes=64 * MIB) as cage:
            report = cage.report  # type: ignore[attr-defined]
            assert cage.ran_into_cap(), "believed without counters"
            (report / "memory.events").write_text("oom 0\noom_kill 1\n")
            assert not cage.ran_into_cap()
            assert not cage.limits_swap()
            (report / "memory.swap.max").write_text("0\n")
            assert cage.limits_swap()

    def test_users_ask_their_own_manager(self) -> None:
        assert "--user" in Systemctl(user=True).scope("u", cap_bytes=1)
        assert "--user" not in Systemctl(user=False).scope("u", cap_bytes=1)
