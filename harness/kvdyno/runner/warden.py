"""Which way of confining processes this machine offers: picked once a sweep, and explained."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.host.owner import owned_name
from kvdyno.model.engine import RunnerName

from .cage import Cage, Process, Task, Warden
from .cgroup import V1, V2, CgroupWarden
from .hierarchy import controller_mounts
from .process import HostProcess
from .systemd import SystemdWarden, probe
from .throttle import Throttle, cannot_limit

_OR_UNCAPPED = "or pass --uncapped: numbers without a cap, which every record notes"


class OpenCage:
    """No cage. The process's starter ends its process group."""

    place = ""

    def start(self, task: Task) -> Process:
        """See Cage."""
        return HostProcess(task, wrap=list, end_others=self.kill)

    def pids(self) -> list[int]:
        """No list is kept."""
        return []

    def kill(self) -> None:
        """No process is known to be inside."""

    def oom_kills(self) -> int:
        """Nothing is counted."""
        return 0

    def ran_into_cap(self) -> bool:
        """There is none."""
        return False

    def limits_swap(self) -> bool:
        """Nothing is."""
        return False

    def peak_bytes(self) -> int | None:
        """Nothing is measured."""
        return None

    def usage(self) -> dict[str, float]:
        """Nothing is counted."""
        return {}


@dataclass(frozen=True)
class NoWarden:
    """What `--uncapped` gets where nothing else works."""

    why: str
    runner: RunnerName = "local"
    kind: str = "none"
    capped: bool = False
    device_binds: str = "nothing"
    binds_write_back: bool = False
    details: Mapping[str, object] = field(default_factory=dict)

    @contextlib.contextmanager
    def cage(self, *, cap_bytes: int, throttle: Throttle | None = None) -> Iterator[Cage]:
        """See Warden. The driver knows the cap; nothing enforces it."""
        del cap_bytes
        if throttle and throttle.binds:
            raise cannot_limit("nothing is confined", where="--uncapped")
        yield OpenCage()

    def remove_leftovers(self) -> tuple[str, ...]:
        """None can be distinguished."""
        return ()

    def close(self) -> None:
        """Nothing was changed."""


def choose_warden(
    sweep_id: str,
    *,
    uncapped: bool = False,
    runner: RunnerName = "local",
    root: Path = Path("/"),
    probe_systemd: Callable[..., None] = probe,
) -> Warden:
    """The runner's way of capping that fits this machine; with `uncapped`, none at all.

    `root` is where `proc` and `sys` are looked for. Raises HostError, with the remedy, if no cap can be
    enforced: a run without its cap is never an accident.
    """
    if runner == "docker":
        from .docker import DockerWarden  # its library takes its time to import

        return DockerWarden(sweep_id, capped=not uncapped)
    if uncapped:
        return NoWarden(why="--uncapped was asked for")
    name = owned_name(sweep_id)
    v1, v2 = controller_mounts("memory", root=root)
    if v1:
        _demand_writable(v1)
        io, _ = controller_mounts("blkio", root=root)
        return CgroupWarden(
            v1,
            version=V1,
            name=name,
            why=f"the memory controller is mounted as cgroup v1 at {v1}",
            io_root=io if io and os.access(io, os.W_OK) else None,
        )
    if v2 is None:
        raise HostError(
            "no memory controller: neither cgroup v1 nor v2 offers one",
            where="/proc/self/mounts",
            remedy=f"boot with cgroup_enable=memory, {_OR_UNCAPPED}",
        )
    if _init_name(root) == "systemd":
        return _choose_beside_systemd(v2, name=name, probe_systemd=probe_systemd)
    _demand_writable(v2)
    return CgroupWarden(v2, version=V2, name=name, why=f"cgroup v2 at {v2} is ours: no systemd rules it")


def remove_leftover_containers() -> tuple[str, ...]:
    """What killed sweeps left running in a Docker Engine, if one is in reach; returns names.

    A local sweep may not have it beside itself, but needs no Engine for that.
    """
    from kvdyno.host.docker_engine import answers

    if not answers():
        return ()
    from .docker import DockerWarden

    try:
        with contextlib.closing(DockerWarden("clean", capped=False)) as warden:
            return warden.remove_leftovers()
    except HostError:
        return ()


def _choose_beside_systemd(v2: Path, *, name: str, probe_systemd: Callable[..., None]) -> Warden:
    """systemd if it answers; in a chroot, say, it does not, and root helps itself."""
    user = os.geteuid() != 0
    try:
        probe_systemd(user=user, mount=v2)
    except HostError as failure:
        if os.access(v2, os.W_OK):
            return CgroupWarden(
                v2, version=V2, name=name, why=f"cgroup v2 at {v2}: systemd rules it, but cannot be reached"
            )
        raise HostError(
            failure.message, where=failure.where, remedy=f"{failure.remedy}, {_OR_UNCAPPED}"
        ) from failure
    manager = "user's systemd" if user else "systemd"
    why = f"the {manager} rules cgroup v2 at {v2}"
    return SystemdWarden(user=user, mount=v2, name=name, why=why)


def _init_name(root: Path) -> str:
    try:
        return (root / "proc/1/comm").read_text().strip()
    except OSError:
        return ""


def _demand_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK):
        raise HostError(
            "cgroups may not be made here", where=str(folder), remedy=f"run as root (sudo), {_OR_UNCAPPED}"
        )
