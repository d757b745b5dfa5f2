"""A disk as a cgroup sees it: held to a rate, to imitate a slower one, and counted.

On v1 the kernel counts a disk's I/O only where some rule exists: then one that never binds is set. Rules hold
direct and synced writes and all reads; v1 does not hold what the kernel writes back later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.model.experiment import DeviceLimits

from .disk import mount_of
from .kernel import read_pressure

_NEVER_BINDS = str(1 << 62)

# The limits' names here, in v1's files, in v2's line, in systemd's properties and in Docker's words.
_NAMES = {
    "read_bytes_per_second": ("read_bps_device", "rbps", "IOReadBandwidthMax", "device_read_bps"),
    "write_bytes_per_second": ("write_bps_device", "wbps", "IOWriteBandwidthMax", "device_write_bps"),
    "read_iops": ("read_iops_device", "riops", "IOReadIOPSMax", "device_read_iops"),
    "write_iops": ("write_iops_device", "wiops", "IOWriteIOPSMax", "device_write_iops"),
}


@dataclass(frozen=True)
class Throttle:
    """Rules for one disk: `path` is its device file, `numbers` the kernel's "major:minor"."""

    path: str
    numbers: str
    limits: DeviceLimits = field(default_factory=DeviceLimits)
    #: Whether the disk is this run's alone: then rules may stand where write-back is held too.
    alone: bool = False

    @property
    def binds(self) -> bool:
        """Whether anything is limited."""
        return bool(self._rates())

    def at_root(self) -> Mapping[str, str]:
        """Files of v1's root group, and what to write so that these rules stand and no older ones."""
        rates = self._rates()
        return {
            f"blkio.throttle.{words[0]}": f"{self.numbers} {rates.get(name, 0)}"
            for name, words in _NAMES.items()
        }

    def v1(self) -> Mapping[str, str]:
        """Files below a cgroup v1, and what to write."""
        rates = self._rates() or {"read_bytes_per_second": _NEVER_BINDS}
        return {f"blkio.throttle.{_NAMES[name][0]}": f"{self.numbers} {rate}" for name, rate in rates.items()}

    def v2(self) -> Mapping[str, str]:
        """The same for v2, which counts without rules."""
        rates = " ".join(f"{_NAMES[name][1]}={rate}" for name, rate in self._rates().items())
        return {"io.max": f"{self.numbers} {rates}"} if rates else {}

    def systemd(self) -> list[str]:
        """Words for systemd-run."""
        rates = self._rates().items()
        return [word for name, rate in rates for word in ("-p", f"{_NAMES[name][2]}={self.path} {rate}")]

    def docker(self, *, v2: bool) -> Mapping[str, list[dict[str, object]]]:
        """Arguments for a container."""
        rates = self._rates() or ({} if v2 else {"read_bytes_per_second": _NEVER_BINDS})
        return {_NAMES[name][3]: [{"Path": self.path, "Rate": int(rate)}] for name, rate in rates.items()}

    def _rates(self) -> dict[str, str]:
        given = self.limits.model_dump(include=set(_NAMES), exclude_none=True)
        return {name: str(rate) for name, rate in given.items()}


def throttle_for(
    folder: Path, limits: DeviceLimits | None, *, alone: bool = False, root: Path = Path("/")
) -> Throttle | None:
    """Rules for the disk below `folder`. None if the kernel names no such disk and nothing is to be limited.

    `alone`: nothing but the run uses the disk. Raises HostError if something is to be limited.
    """
    link = root / "sys/dev/block" / mount_of(folder, root=root).device
    if link.exists():
        device = link.resolve()
        disk = device if (device / "queue").is_dir() else device.parent
        with contextlib.suppress(OSError):
            numbers = (disk / "dev").read_text().strip()
            return Throttle(f"/dev/{disk.name}", numbers, limits=limits or DeviceLimits(), alone=alone)
    if limits is None:
        return None
    raise HostError(
        "no disk to limit: the file system is not on one that the kernel names",
        where=str(folder),
        remedy="set KVDYNO_DATA to a folder on a plain disk or partition (not btrfs, overlay or a network)",
    )


def apply(rules: Mapping[str, str], group: Path, *, needed: bool) -> None:
    """Write the rules. Raises HostError if the kernel refuses and they are `needed`."""
    for file, text in rules.items():
        try:
            (group / file).write_text(text)
        except OSError as failure:
            if needed:
                raise cannot_limit(
                    f"the kernel refuses {text!r}: {failure.strerror}", where=str(group / file)
                ) from failure


@contextlib.contextmanager
def held_at_root(throttle: Throttle, root_group: Path) -> Iterator[None]:
    """Rules for a disk of the run's own stand at v1's root group: write-back is done on its account.

    v1 holds each group by itself, so the run's processes belong into that group too. Raises HostError.
    """
    try:
        apply(throttle.at_root(), root_group, needed=True)
        yield
    finally:
        free = replace(throttle, limits=DeviceLimits())
        apply(free.at_root(), root_group, needed=False)


def cannot_limit(why: str, *, where: str) -> HostError:
    """The experiment asks for a slower disk, and this machine cannot imitate one."""
    return HostError(
        f"the disk cannot be limited: {why}",
        where=where,
        remedy="run as root on a kernel with block throttling, or leave it out: --exclude device=<name>",
    )


_DIRTY_V1, _DIRTY_V2 = ("total_dirty", "total_writeback"), ("file_dirty", "file_writeback")

#: What `read_usage` gives as of now; all else has grown since the cgroup was made.
LEVELS = frozenset({"anonymous_bytes", "page_cache_bytes", "dirty_bytes"})


def read_usage(memory: Path | None, io: Path | None) -> dict[str, float]:
    """A cgroup's memory now and its I/O and pressure so far; what the kernel does not show is left out."""
    stat = _keyed(memory / "memory.stat") if memory else {}
    usage = {
        "anonymous_bytes": stat.get("total_rss", stat.get("anon")),
        "page_cache_bytes": stat.get("total_cache", stat.get("file")),
        "dirty_bytes": _sum(stat, _DIRTY_V1 if "total_dirty" in stat else _DIRTY_V2),
        **(_io_usage(io) if io else {}),
        **(read_pressure(memory, name="{}.pressure", prefix="own_pressure") if memory else {}),
    }
    return {name: value for name, value in usage.items() if value is not None}


def _sum(stat: Mapping[str, int], names: Sequence[str]) -> int | None:
    """The sum of the counters that are there; None if there is none."""
    found = [stat[name] for name in names if name in stat]
    return sum(found) if found else None


def _io_usage(group: Path) -> Mapping[str, int]:
    """Over all disks. A group that has done nothing yet lists none."""
    v2, v1 = group / "io.stat", group / "blkio.throttle.io_service_bytes"
    with contextlib.suppress(OSError, ValueError):
        if v2.exists():
            words = [word.split("=") for word in v2.read_text().split() if "=" in word]
            return {
                ours: sum(int(value) for key, value in words if key == name)
                for ours, name in (("io_read_bytes", "rbytes"), ("io_write_bytes", "wbytes"))
            }
        lines = [line.split() for line in v1.read_text().splitlines()]
        return {
            ours: sum(int(line[2]) for line in lines if line[1:2] == [name])
            for ours, name in (("io_read_bytes", "Read"), ("io_write_bytes", "Write"))
        }
    return {}


def _keyed(path: Path) -> dict[str, int]:
    try:
        pairs = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
