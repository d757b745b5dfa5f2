"""What this machine lacks for fair measurements, and the remedies: judgements on facts read elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kvdyno.errors import HostError, KvdynoError
from kvdyno.model.engine import RunnerName
from kvdyno.model.project import MEMORY_FILE_SYSTEMS, Project
from kvdyno.model.record import Environment
from kvdyno.model.units import human_bytes

Level = Literal["ok", "warn", "bad"]
Facts = Mapping[str, Any]

_GIB = 1 << 30

#: Below the first nothing can be measured; below the second only small experiments fit.
FREE_BYTES_BAD, FREE_BYTES_WARN = 1 * _GIB, 10 * _GIB
AVAILABLE_BYTES_WARN = 1 * _GIB

#: A page fault reads this much around it: above, engines that map their files measure readahead.
READ_AHEAD_KB_WARN = 512

#: Others' CPU use, in CPUs, that shows in results.
CPUS_BUSY_WARN = 0.1

OPEN_FILES_WARN = 4096

_DISTANT_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "9p", "virtiofs", "overlay", "fuse.sshfs"})

#: Clocks that a process reads without a system call.
_FAST_CLOCKS = frozenset({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"})


_GAUGES: Mapping[str, str] = {
    "disk.read_4k_p50_us": "4 KiB reads in {:.0f} us",
    "disk.read_4k_p99_us": "99th percentile {:.0f} us",
    "disk.write_mib_per_second": "sequential writes at {:.0f} MiB/s",
    "cpu.loop_ms": "CPU loop in {:.2f} ms",
}
_COUNTED: Mapping[str, str] = {
    "steal": "steal time",
    "disk": "I/O of the data's disk",
    "pressure": "pressure (PSI)",
    "swap": "swap-ins",
    "thermal": "thermal throttling",
}

Gauges = tuple[Mapping[str, float | None], Sequence[str]]


@dataclass(frozen=True)
class Finding:
    """One judgement. `bad`: sweeps cannot run; `warn`: results suffer; `ok` ones need no remedy."""

    level: Level
    what: str
    found: str
    remedy: str = ""


def examine(
    project: Project,
    *,
    environment: Environment,
    confinement: str | HostError,
    engines: Collection[str] | KvdynoError,
    docker: Facts | HostError,
    gauges: Gauges,
    counters: Mapping[str, bool],
    restored: Sequence[str] = (),
    runner: RunnerName = "local",
) -> tuple[Finding, ...]:
    """Every judgement on what `runner` needs, good ones too, in a fixed order.

    `environment` holds the facts (docs/formats.md); `confinement` is how the runner enforces caps here, or
    why it cannot; `engines` are the runner's, or why there are none; `docker` holds the facts of the Docker
    Engine, or why it is out of reach. `gauges` are those of a record, with why some are None; `counters` are
    what the kernel counts for records; `restored` is what a killed sweep had changed and was put back.
    """
    facts = environment.facts
    needed = runner == "docker"
    # Without an Engine, its cap and its images are not there to be judged.
    behind = () if needed and isinstance(docker, HostError) else (_cap(confinement), _engines(engines))
    return (
        *behind,
        *_docker(docker, facts, needed=needed),
        *_disk(project, facts),
        _read_ahead(facts),
        *_memory(facts),
        *_cpu(facts),
        _load(facts),
        _gauges(gauges),
        _counters(counters),
        *_restored(restored),
        _clock(facts),
        _open_files(facts),
    )


def _cap(confinement: str | HostError) -> Finding:
    if isinstance(confinement, HostError):
        return Finding("bad", "memory cap", _said(confinement), confinement.remedy or "")
    return Finding("ok", "memory cap", confinement)


def _said(refusal: KvdynoError) -> str:
    return f"{refusal.where}: {refusal.message}" if refusal.where else refusal.message


def _engines(engines: Collection[str] | KvdynoError) -> Finding:
    if isinstance(engines, KvdynoError):
        return Finding("bad", "engines", _said(engines), engines.remedy or "")
    return Finding("ok", "engines", ", ".join(sorted(engines)))


def _docker(docker: Facts | HostError, facts: Facts, *, needed: bool) -> Iterator[Finding]:
    """What is wrong with the Docker Engine is as bad as it is needed."""
    if isinstance(docker, HostError):
        found = _said(docker) + ("" if needed else " (only --runner docker needs one)")
        yield Finding("bad" if needed else "ok", "Docker Engine", found, docker.remedy or "")
        return
    version, storage = docker["docker.cgroup_version"], docker["docker.storage_driver"]
    found = f"{docker['docker.engine']} at {docker['docker.address']}, cgroup v{version}, {storage}"
    yield Finding("ok", "Docker Engine", found)
    level: Level = "warn" if needed else "ok"
    if not docker["docker.memory_limit"]:
        remedy = "boot with cgroup_enable=memory; a rootless Engine needs cgroup v2 and delegation"
        yield Finding("bad" if needed else "ok", "Docker cap", "it has no memory controller", remedy)
    elif facts.get("memory.swap_bytes") and not docker["docker.swap_limit"]:
        found = "it cannot limit swap: a run may swap its way past the cap"
        yield Finding(level, "Docker cap", found, "swapoff -a, or boot with swapaccount=1")
    if storage == "vfs":
        found = "vfs: every container copies its image"
        yield Finding(level, "Docker storage", found, "keep its data on ext4 or xfs, for overlay2")
    yield _base_image(docker, level=level)
    profile = docker["docker.seccomp"]
    blocked = "" if profile in ("none", "unconfined") else "; recent ones block io_uring"
    yield Finding("ok", "Docker seccomp", f"profile {profile}{blocked}")


def _base_image(docker: Facts, *, level: Level) -> Finding:
    """Whether images can be built on something. Only a pull can show whether a registry is in reach."""
    if docker["images.base"]:
        return Finding("ok", "base image", docker["images.base"])
    if docker["images.debootstrap"]:
        return Finding("ok", "base image", "none here; make images pulls one, or makes one with debootstrap")
    found = "none here, and no debootstrap to make one with: a registry must be in reach"
    return Finding(level, "base image", found, "apt-get install debootstrap")


def _disk(project: Project, facts: Facts) -> Iterator[Finding]:
    kind = facts.get("disk.file_system")
    found = f"{kind} on {facts.get('disk.device')}, at {project.data}"
    elsewhere = "set KVDYNO_DATA to a folder on a local disk"
    if kind in MEMORY_FILE_SYSTEMS:
        yield Finding("bad", "file system", f"{found}: it lives in memory", elsewhere)
    elif kind in _DISTANT_FILE_SYSTEMS:
        yield Finding("warn", "file system", f"{found}: not a local disk's own", elsewhere)
    else:
        yield Finding("ok", "file system", found)

    free = facts.get("disk.free_bytes") or 0
    found = f"{human_bytes(free)} free at {project.data}"
    remedy = "free some, run `kvdyno clean --snapshots`, or set KVDYNO_DATA to a larger disk"
    if free < FREE_BYTES_WARN:
        yield Finding("bad" if free < FREE_BYTES_BAD else "warn", "disk space", found, remedy)
    else:
        yield Finding("ok", "disk space", found)


def _read_ahead(facts: Facts) -> Finding:
    kib, device = facts.get("disk.read_ahead_kb"), facts.get("disk.device")
    if kib is None:
        return _unseen("readahead")
    found = f"{kib} KiB on {device}"
    if kib > READ_AHEAD_KB_WARN:
        return Finding(
            "warn",
            "readahead",
            f"{found}: one page fault reads up to that much",
            f"blockdev --setra 256 /dev/{device}",
        )
    return Finding("ok", "readahead", found)


def _memory(facts: Facts) -> Iterator[Finding]:
    available = facts.get("memory.available_bytes")
    if available is None:
        yield _unseen("memory")
    elif available < AVAILABLE_BYTES_WARN:
        found = f"{human_bytes(available)} available"
        yield Finding("warn", "memory", found, "close other programs: caps need memory behind them")
    else:
        yield Finding("ok", "memory", f"{human_bytes(available)} available")

    swap = facts.get("memory.swap_bytes")
    if swap:
        found = f"{human_bytes(swap)} of swap: others' pages may move while a run is measured"
        yield Finding("warn", "swap", found, "swapoff -a (and swapon -a afterwards)")
    else:
        yield Finding("ok", "swap", "none")

    huge = facts.get("memory.huge_pages")
    if huge == "always":
        remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        yield Finding("warn", "huge pages", "always: a cap fills sooner than an engine asks", remedy)
    else:
        yield Finding("ok", "huge pages", huge) if huge else _unseen("huge pages")


def _cpu(facts: Facts) -> Iterator[Finding]:
    governor = facts.get("cpu.governor")
    if governor is None:
        yield _unseen("CPU governor")
    elif governor != "performance":
        remedy = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        yield Finding("warn", "CPU governor", f"{governor}: speed follows load", remedy)
    else:
        yield Finding("ok", "CPU governor", governor)

    turbo = facts.get("cpu.turbo")
    if turbo is None:
        yield _unseen("CPU turbo")
    elif turbo:
        remedy = (
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, "
            "or echo 0 > /sys/devices/system/cpu/cpufreq/boost"
        )
        yield Finding("warn", "CPU turbo", "on: speed follows temperature", remedy)
    else:
        yield Finding("ok", "CPU turbo", "off")


def _load(facts: Facts) -> Finding:
    busy = facts.get("load.cpus_busy")
    if busy is None:
        return _unseen("other load")
    found = f"{busy:g} CPUs are busy"
    if busy > CPUS_BUSY_WARN:
        return Finding("warn", "other load", found, "see with top what runs, and end it")
    return Finding("ok", "other load", found)


def _gauges(gauges: Gauges) -> Finding:
    """What the disk and the CPU did just now."""
    values, flaws = gauges
    words = [text.format(value) for name, text in _GAUGES.items() if (value := values.get(name)) is not None]
    if flaws:
        remedy = "set KVDYNO_DATA to a folder on a local disk with room, that you may write"
        return Finding("warn", "gauges", "; ".join([*words, *flaws]), remedy)
    return Finding("ok", "gauges", ", ".join(words))


def _counters(counters: Mapping[str, bool]) -> Finding:
    """Which disturbances records can show. No remedy: kernels and hypervisors offer them or not."""
    missing = [_COUNTED[kind] for kind, offered in counters.items() if not offered]
    if missing:
        return Finding("ok", "kernel counters", f"not visible here: {', '.join(missing)}")
    return Finding("ok", "kernel counters", "all visible")


def _restored(restored: Sequence[str]) -> Iterator[Finding]:
    if restored:
        yield Finding("ok", "put back", f"a killed sweep had changed {', '.join(restored)}")


def _clock(facts: Facts) -> Finding:
    clock = facts.get("os.clock_source")
    if clock is None:
        return _unseen("clock")
    if clock not in _FAST_CLOCKS:
        remedy = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        return Finding("warn", "clock", f"{clock}: every time stamp is a system call", remedy)
    return Finding("ok", "clock", clock)


def _open_files(facts: Facts) -> Finding:
    limit = facts.get("os.open_files_max")
    if limit is None:
        return _unseen("open files")
    if limit < OPEN_FILES_WARN:
        return Finding("warn", "open files", f"at most {limit}: large stores need more", "ulimit -n 65536")
    return Finding("ok", "open files", f"at most {limit}")


def _unseen(what: str) -> Finding:
    """The kernel does not show it, as in most virtual machines and containers."""
    return Finding("ok", what, "not visible here")
