"""Where a run happens: facts about the machine, read without changing it, and without naming it.

Facts have dotted names and plain values; what cannot be read is None. `root` is where `proc`, `sys` and
`etc` are looked for, so that other machines can be imitated.
"""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from kvdyno import __version__
from kvdyno.model.project import Project
from kvdyno.model.record import Environment

from .disk import mount_of, nearest_existing

Fact = str | int | float | bool | list[str] | None

#: Instruction sets that change how fast an engine can be: checksums, hashing, comparison.
_FLAGS_OF_INTEREST = ("sse4_2", "pclmulqdq", "avx2", "avx512f", "sha_ni", "crc32", "pmull")
_LOAD_SAMPLE_SECONDS = 0.2
_GIB = 1 << 30


def host_id(*, root: Path = Path("/")) -> str:
    """This machine's anonymous name: the one in `Environment.host_id`.

    Stable over reboots, and over kernels (which move the total of memory a little).
    """
    memory = memory_bytes(root=root)
    cpu = _cpu_facts(root)
    parts = (
        _text(root / "etc/machine-id"),
        cpu["cpu.model"],
        cpu["cpu.logical"],
        round(memory / _GIB) if memory else 0,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def memory_bytes(*, root: Path = Path("/")) -> int | None:
    """This machine's memory; None where the kernel does not show it."""
    return _kibibytes(root / "proc/meminfo", "MemTotal")


class Surveyor:
    """Reads the facts that stay once, and the machine's load each time."""

    def __init__(self, project: Project, *, root: Path = Path("/")) -> None:
        self._project = project
        self._root = root
        self._lasting: dict[str, Fact] | None = None

    def survey(self) -> Environment:
        """The facts as of now. Takes a fifth of a second, to see what other processes use."""
        if self._lasting is None:
            self._lasting = {
                **_system_facts(self._root),
                **_cpu_facts(self._root),
                **_memory_facts(self._root),
                **_disk_facts(self._root, self._project.data),
                **_harness_facts(self._project.root),
            }
        facts = {**self._lasting, **_momentary_facts(self._root, self._project.data)}
        return Environment(host_id=host_id(root=self._root), facts=facts)


def _system_facts(root: Path) -> dict[str, Fact]:
    return {
        "os.name": _field(root / "etc/os-release", "PRETTY_NAME", separator="="),
        "os.kernel": _text(root / "proc/sys/kernel/osrelease"),
        "os.machine": platform.machine(),
        "os.virtualisation": _virtualisation(root),
        "os.clock_source": _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "os.open_files_max": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


def _virtualisation(root: Path) -> str | None:
    """The name that firmware or hypervisor gives; `yes` if only the CPU reports one."""
    named = _text(root / "sys/hypervisor/type") or _text(root / "sys/class/dmi/id/product_name")
    flags = (_field(root / "proc/cpuinfo", "flags") or "").split()
    return (named or "yes") if "hypervisor" in flags else None


def _cpu_facts(root: Path) -> dict[str, Fact]:
    info = root / "proc/cpuinfo"
    flags = (_field(info, "flags") or _field(info, "Features") or "").split()
    text = _text(info) or ""
    cores = {
        block.partition("core id")[2].split("\n")[0] for block in text.split("\n\n") if "core id" in block
    }
    return {
        "cpu.model": _field(info, "model name"),
        "cpu.logical": sum(line.startswith("processor") for line in text.splitlines()) or None,
        "cpu.physical": len(cores) or None,
        "cpu.flags": [flag for flag in _FLAGS_OF_INTEREST if flag in flags],
        "cpu.governor": _text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "cpu.turbo": _turbo(root),
    }


def _turbo(root: Path) -> bool | None:
    no_turbo = _text(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _text(root / "sys/devices/system/cpu/cpufreq/boost")
    if no_turbo is not None:
        return no_turbo == "0"
    return boost == "1" if boost is not None else None


def _memory_facts(root: Path) -> dict[str, Fact]:
    info = root / "proc/meminfo"
    return {
        "memory.bytes": _kibibytes(info, "MemTotal"),
        "memory.swap_bytes": _kibibytes(info, "SwapTotal"),
        "memory.huge_pages": _chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"),
    }


def _disk_facts(root: Path, folder: Path) -> dict[str, Fact]:
    mount = mount_of(folder, root=root)
    device = _block_device(root, mount.device)
    queue = device / "queue" if device else None
    rotational = _text(queue / "rotational") if queue else None
    read_ahead = _text(queue / "read_ahead_kb") if queue else None
    return {
        "disk.file_system": mount.type,
        "disk.mount_options": mount.options,
        "disk.device": device.name if device else mount.source,
        "disk.model": _text(device / "device/model") if device else None,
        "disk.rotational": rotational == "1" if rotational else None,
        "disk.read_ahead_kb": int(read_ahead) if read_ahead else None,
        "disk.scheduler": _chosen(queue / "scheduler") if queue else None,
    }


def _block_device(root: Path, numbers: str) -> Path | None:
    """The whole disk's folder in /sys: a partition's own has no queue, but lies inside its disk's."""
    link = root / "sys/dev/block" / numbers
    if not link.exists():
        return None
    device = link.resolve()
    return device if (device / "queue").is_dir() else device.parent


def _harness_facts(checkout: Path) -> dict[str, Fact]:
    changed = _git(checkout, "status", "--porcelain")
    return {
        "kvdyno.version": __version__,
        "kvdyno.commit": _git(checkout, "rev-parse", "HEAD"),
        "kvdyno.modified": bool(changed) if changed is not None else None,
        "python.version": platform.python_version(),
    }


def _git(checkout: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *words], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _momentary_facts(root: Path, folder: Path) -> dict[str, Fact]:
    """What may differ from run to run; `load.cpus_busy` is how many CPUs others keep busy."""
    average = _text(root / "proc/loadavg")
    space = os.statvfs(nearest_existing(folder))
    return {
        "disk.free_bytes": space.f_bavail * space.f_frsize,
        "memory.available_bytes": _kibibytes(root / "proc/meminfo", "MemAvailable"),
        "memory.swap_free_bytes": _kibibytes(root / "proc/meminfo", "SwapFree"),
        "load.average_1min": float(average.split()[0]) if average else None,
        "load.cpus_busy": _cpus_busy(root / "proc/stat"),
    }


@dataclass(frozen=True)
class CpuReading:
    """CPU seconds so far: of the whole machine, and of our children that have ended; and when."""

    machine: float
    children: float
    at: float


def read_cpu(*, root: Path = Path("/")) -> CpuReading | None:
    """As of now; None where the kernel does not say."""
    ticks = _busy_and_total_ticks(root / "proc/stat")
    if ticks is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return CpuReading(
        machine=ticks[0] / os.sysconf("SC_CLK_TCK"),
        children=usage.ru_utime + usage.ru_stime,
        at=time.monotonic(),
    )


def others_cpus_busy(
    before: CpuReading | None, after: CpuReading | None, *, apart: float = 0.0
) -> float | None:
    """How many CPUs, on average between two readings, all but our children kept busy.

    `apart` are CPU seconds that were ours as well, though not our children's.
    """
    if before is None or after is None or after.at <= before.at:
        return None
    others = (after.machine - before.machine) - (after.children - before.children) - apart
    return round(max(0.0, others) / (after.at - before.at), 2)


def _cpus_busy(stat: Path) -> float | None:
    before = _busy_and_total_ticks(stat)
    time.sleep(_LOAD_SAMPLE_SECONDS)
    after = _busy_and_total_ticks(stat)
    if before is None or after is None or after[1] == before[1]:
        return None
    cpus = os.cpu_count() or 1
    return round((after[0] - before[0]) / (after[1] - before[1]) * cpus, 2)


def _busy_and_total_ticks(stat: Path) -> tuple[int, int] | None:
    """Times of all CPUs since boot: user nice system idle iowait irq softirq steal; guests are in user."""
    text = _text(stat)
    if text is None:
        return None
    ticks = [int(field) for field in text.splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None


def _field(path: Path, name: str, *, separator: str = ":") -> str | None:
    """The value of the first `name: value` line."""
    for line in (_text(path) or "").splitlines():
        word, found, value = line.partition(separator)
        if found and word.strip() == name:
            return value.strip().strip('"')
    return None


def _kibibytes(path: Path, name: str) -> int | None:
    """A field of /proc/meminfo ("123 kB"), in bytes."""
    value = _field(path, name)
    return int(value.split()[0]) * 1024 if value else None


def _chosen(path: Path) -> str | None:
    """The bracketed word of a sysfs file that lists its choices."""
    text = _text(path)
    return text.partition("[")[2].partition("]")[0] or text if text else None
