"""What the kernel counts of the whole machine: time stolen, a disk's I/O, pressure, swap, throttling.

All counters only grow. What the kernel does not offer is left out. `root` is where `proc` and `sys` are
looked for, so that other machines can be imitated.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from .disk import mount_of

#: Kernel sectors, whatever the disk's own.
_SECTOR_BYTES = 512
_MICROSECONDS, _MILLISECONDS = 1e-6, 1e-3
_PRESSURES = ("cpu", "memory", "io")

# Places in a disk's `stat` file (Documentation/admin-guide/iostats.rst), and what makes them base units.
_DISK_FIELDS: Mapping[str, tuple[int, float]] = {
    "disk_reads": (0, 1),
    "disk_read_bytes": (2, _SECTOR_BYTES),
    "disk_writes": (4, 1),
    "disk_write_bytes": (6, _SECTOR_BYTES),
    "disk_busy_seconds": (9, _MILLISECONDS),
    "disk_queue_seconds": (10, _MILLISECONDS),
}

Counters = dict[str, float]


def read_machine(*, device: str | None, root: Path = Path("/")) -> Counters:
    """All counters as of now; `device` is the kernel's "major:minor" of the disk that matters."""
    return {
        **read_steal(root / "proc/stat"),
        **(read_disk(root / "sys/dev/block" / device / "stat") if device else {}),
        **read_pressure(root / "proc/pressure", name="{}", prefix="pressure"),
        **read_swap_ins(root / "proc/vmstat"),
        **read_throttlings(root / "sys/devices/system/cpu"),
    }


def offered_counters(folder: Path, *, root: Path = Path("/")) -> dict[str, bool]:
    """Whether this kernel counts, by what it would count; `folder` is on the disk that matters."""
    found = read_machine(device=device_below(folder, root=root), root=root)
    kinds = {
        "steal": "steal_",
        "disk": "disk_",
        "pressure": "pressure_",
        "swap": "swap_",
        "thermal": "throttl",
    }
    return {kind: any(name.startswith(prefix) for name in found) for kind, prefix in kinds.items()}


def device_below(folder: Path, *, root: Path = Path("/")) -> str | None:
    """The "major:minor" of the disk or partition that holds `folder`, if the kernel counts for one."""
    numbers = mount_of(folder, root=root).device
    return numbers if (root / "sys/dev/block" / numbers / "stat").exists() else None


def read_steal(path: Path) -> Counters:
    """CPU seconds, over all CPUs, in which this virtual machine waited while its host ran something else."""
    fields = _lines(path)[:1]
    ticks = fields[0].split()[8:9] if fields else []
    return {"steal_seconds": int(ticks[0]) / os.sysconf("SC_CLK_TCK")} if ticks else {}


def read_disk(path: Path) -> Counters:
    """Reads, writes, bytes, seconds with I/O in flight, and the sum of all I/O's seconds in flight."""
    fields = [int(word) for line in _lines(path)[:1] for word in line.split()]
    return {name: fields[at] * unit for name, (at, unit) in _DISK_FIELDS.items() if at < len(fields)}


def read_pressure(folder: Path, *, name: str, prefix: str) -> Counters:
    """Pressure stall information: seconds in which some, or all, tasks waited for a resource.

    `name` makes a file's name of the resource's: `{}` below /proc/pressure, `{}.pressure` in a cgroup.
    """
    found: Counters = {}
    for resource in _PRESSURES:
        for line in _lines(folder / name.format(resource)):
            kind, *pairs = line.split()
            total = dict(pair.split("=", 1) for pair in pairs if "=" in pair).get("total")
            if total is not None:
                found[f"{prefix}_{resource}_{kind}_seconds"] = int(total) * _MICROSECONDS
    return found


def read_swap_ins(path: Path) -> Counters:
    """Pages that came back from swap, of any process."""
    found = [line.split()[1] for line in _lines(path) if line.startswith("pswpin ")]
    return {"swap_ins": int(found[0])} if found else {}


def read_throttlings(folder: Path) -> Counters:
    """How often CPUs were slowed down for their temperature: cores and packages together."""
    files = [*folder.glob("cpu[0-9]*/thermal_throttle/*_throttle_count")]
    counts = [int(line) for file in files for line in _lines(file)[:1]]
    return {"throttlings": sum(counts)} if counts else {}


def _lines(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().splitlines()
    return []
