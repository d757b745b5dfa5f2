"""Where the kernel shows its cgroups: the hierarchies that are mounted, and a process's place in them."""

from __future__ import annotations

import contextlib
from pathlib import Path


def controller_mounts(
    controller: str, *, root: Path = Path("/"), v2_name: str = ""
) -> tuple[Path | None, Path | None]:
    """The folders where v1 and v2 offer a controller; the first, where one is mounted twice.

    `v2_name` is what v2 calls it, if not the same.
    """
    try:
        lines = (root / "proc/self/mounts").read_text().splitlines()
    except OSError:
        lines = []
    v1 = v2 = None
    for line in lines:
        _, folder, kind, options = line.split()[:4]
        place = root / folder.lstrip("/")
        if kind == "cgroup" and controller in options.split(","):
            v1 = v1 or place
        if (
            kind == "cgroup2"
            and (v2_name or controller) in (place / "cgroup.controllers").read_text().split()
        ):
            v2 = v2 or place
    return v1, v2


def cgroup_root() -> Path | None:
    """Where this machine's cgroups are made; None if no memory controller is mounted."""
    v1, v2 = controller_mounts("memory")
    return v1 or v2


def group_of(
    pid: int, *, controller: str = "memory", v2_name: str = "", root: Path = Path("/")
) -> Path | None:
    """The folder of the process's cgroup under that controller; None if it has gone, or there is none."""
    try:
        lines = (root / f"proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    groups = {
        name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")
    }
    v1, v2 = controller_mounts(controller, root=root, v2_name=v2_name)
    if v1 and controller in groups:
        return v1 / groups[controller].lstrip("/")
    return v2 / groups[""].lstrip("/") if v2 and "" in groups else None


def thaw(pid: int) -> None:
    """Let a frozen process take a signal: v1's freezer holds back even SIGKILL, v2's does not.

    The process leaves its frozen group, which may hold others that are to stay frozen.
    """
    group = group_of(pid, controller="freezer")
    root, _ = controller_mounts("freezer")
    with contextlib.suppress(OSError):
        if group and root and (group / "freezer.state").read_text().strip() != "THAWED":
            (root / "cgroup.procs").write_text(str(pid))
