"""Cgroups of our own, v1 and v2, made and removed directly: one run's processes under one cap."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kvdyno.errors import HostError
from kvdyno.host.owner import PREFIX, is_leftover, locked
from kvdyno.model.engine import RunnerName
from kvdyno.model.units import human_bytes

from .cage import (
    BINDS_V1,
    BINDS_V2,
    JOIN_SCRIPT,
    Cage,
    Process,
    Task,
    has_strangers,
    read_counter,
    read_number,
    read_pids,
    wait_until,
)
from .hierarchy import thaw
from .process import HostProcess
from .throttle import Throttle, apply, cannot_limit, held_at_root, read_usage


@dataclass(frozen=True)
class Limit:
    """A file that limits a cgroup, and what to write: the cap itself if `text` is None."""

    file: str
    text: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Version:
    """What differs between the versions of cgroups. `limits` are written in the order the kernel needs.

    `cap_hits` is the key in `events` that counts when the cap left no way out; without it, a peak near the
    cap has to show (v1's `failcnt` stays 0 in late kernels).
    """

    kind: str
    limits: tuple[Limit, ...]
    swap_limit: str
    events: str
    cap_hits: str | None
    peak: str

    @property
    def counters(self) -> tuple[str, ...]:
        """The files that Counters reads."""
        return (self.limits[0].file, self.swap_limit, self.events, self.peak)

    @property
    def container_files(self) -> tuple[str, ...]:
        """The same as a container sees them, below /sys/fs/cgroup."""
        folder = "memory/" if self.kind == "cgroup v1" else ""
        return tuple(folder + name for name in self.counters)


_NEAR_CAP_SHARE = 0.95

# Only the kernel's count of kills shows an out-of-memory kill. A peak that touches the cap shows none: page
# cache fills the cap of any run that reads enough, and is then reclaimed. But a kill in a cgroup that never
# met its cap was not for the cap's sake.
V1 = Version(
    kind="cgroup v1",
    limits=(
        Limit("memory.limit_in_bytes"),
        Limit("memory.memsw.limit_in_bytes", optional=True),
        Limit("memory.swappiness", text="0", optional=True),
    ),
    swap_limit="memory.memsw.limit_in_bytes",
    events="memory.oom_control",
    cap_hits=None,
    peak="memory.max_usage_in_bytes",
)

V2 = Version(
    kind="cgroup v2",
    limits=(Limit("memory.max"), Limit("memory.swap.max", text="0", optional=True)),
    swap_limit="memory.swap.max",
    events="memory.events",
    cap_hits="oom",
    peak="memory.peak",  # from Linux 5.19 on
)


@dataclass(frozen=True)
class Counters:
    """What the kernel reports of a cgroup, in its folder or in copies of its files."""

    path: Path
    version: Version

    def oom_kills(self) -> int:
        """See Cage."""
        return read_counter(self.path / self.version.events, "oom_kill")

    def ran_into_cap(self) -> bool:
        """See Cage."""
        if self.version.cap_hits:
            return read_counter(self.path / self.version.events, self.version.cap_hits) > 0
        cap = read_number(self.path / self.version.limits[0].file)
        peak = self.peak_bytes()
        return cap is not None and peak is not None and peak >= _NEAR_CAP_SHARE * cap

    def limits_swap(self) -> bool:
        """See Cage."""
        return (self.path / self.version.swap_limit).exists()

    def peak_bytes(self) -> int | None:
        """See Cage."""
        return read_number(self.path / self.version.peak)


@dataclass(frozen=True)
class CgroupCage(Counters):
    """A cgroup that holds one run."""

    #: Where its I/O is held: another hierarchy's group on v1.
    io: Path | None = None
    #: Whether that group counts for this run alone.
    counts_io: bool = True

    @property
    def place(self) -> str:
        """The cgroup's folder."""
        return str(self.path)

    def start(self, task: Task) -> Process:
        """See Cage."""
        return HostProcess(task, wrap=self.command, end_others=self.kill)

    def command(self, argv: Sequence[str]) -> list[str]:
        """`argv`, wrapped so that it starts inside."""
        groups = dict.fromkeys(filter(None, (self.io, self.path)))
        return ["/bin/sh", "-c", JOIN_SCRIPT, " ".join(map(str, groups)), *argv]

    def usage(self) -> dict[str, float]:
        """See Cage."""
        return read_usage(self.path, self.io if self.counts_io else None)

    def pids(self) -> list[int]:
        """See Cage."""
        return read_pids(self.path / "cgroup.procs")

    def kill(self) -> None:
        """See Cage. A tree that forks while it is being killed is caught by the next round.

        Frozen ones are thawed. Processes of other PID namespaces are not this harness's to end.
        """

        def emptied() -> bool:
            inside = self.pids()
            kill = self.path / "cgroup.kill"
            if inside and kill.exists() and not has_strangers(self.path / "cgroup.procs"):
                kill.write_text("1")
            for pid in inside:
                thaw(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not inside

        wait_until(emptied, seconds=20, failure=f"{self.path}: processes outlive SIGKILL")


class CgroupWarden:
    """Makes cages directly below `root`, the folder where the memory controller is mounted.

    A v2 root must hand its memory controller down to its children; if it did not, it does until `close`.
    """

    runner: RunnerName = "local"
    capped = True
    details: Mapping[str, object] = MappingProxyType({})

    def __init__(
        self, root: Path, *, version: Version, name: str, why: str, io_root: Path | None = None
    ) -> None:
        """`io_root` is where v1's blkio controller is mounted, if it may be used."""
        self._io_root = io_root
        self.device_binds = BINDS_V1 if version is V1 else BINDS_V2
        self.binds_write_back = version is V2
        self.kind = version.kind
        self.why = why
        self._root = root
        self._version = version
        self._name = name
        self._handed_down: list[str] = []

    @contextlib.contextmanager
    def cage(self, *, cap_bytes: int, throttle: Throttle | None = None) -> Iterator[Cage]:
        """See Warden."""
        if self._version is V2:
            self._hand_down("memory", needed=True)
            self._hand_down("io", needed=bool(throttle and throttle.binds))
        with _group(self._root / self._name, self._version) as path:
            if cap_bytes:
                _limit(path, self._version.limits, cap_bytes)
            with self._io_group(path, throttle) as io:
                yield CgroupCage(path, self._version, io=io, counts_io=io != self._io_root)

    @contextlib.contextmanager
    def _io_group(self, path: Path, throttle: Throttle | None) -> Iterator[Path | None]:
        """The group where I/O is counted, and held to the throttle."""
        needed = throttle is not None and throttle.binds
        if self._version is V2:
            apply(throttle.v2() if throttle else {}, path, needed=needed)
            yield path
            return
        if self._io_root is None:
            if needed:
                raise cannot_limit("there is no blkio controller", where="/proc/self/mounts")
            yield None
            return
        if throttle and throttle.alone:
            with held_at_root(throttle, self._io_root):
                yield self._io_root
            return
        with _group(self._io_root / self._name, self._version) as group:
            apply(throttle.v1() if throttle else {}, group, needed=needed)
            yield group

    def remove_leftovers(self) -> tuple[str, ...]:
        """See Warden."""
        leftovers = [
            path
            for root in filter(None, (self._root, self._io_root))
            for path in sorted(root.glob(PREFIX + "*"))
            if is_leftover(path.name, folder=path) and not has_strangers(path / "cgroup.procs")
        ]
        for path in leftovers:
            CgroupCage(path, self._version).kill()
            _remove(path)
        return tuple(dict.fromkeys(path.name for path in leftovers))

    def close(self) -> None:
        """Take the controllers back from the children, unless others have come to use them."""
        for controller in self._handed_down:
            with contextlib.suppress(OSError):
                (self._root / "cgroup.subtree_control").write_text(f"-{controller}")
        self._handed_down.clear()

    def _hand_down(self, controller: str, *, needed: bool) -> None:
        control = self._root / "cgroup.subtree_control"
        if controller in control.read_text().split() or controller in self._handed_down:
            return
        try:
            offered = (self._root / "cgroup.controllers").read_text().split()
            if needed or controller in offered:
                control.write_text(f"+{controller}")
                self._handed_down.append(controller)
        except OSError as failure:
            if needed:
                raise HostError(
                    f"the {controller} controller cannot be handed down: {failure.strerror}",
                    where=str(control),
                    remedy="in a container, start it with --cgroupns=host and a writable /sys/fs/cgroup",
                ) from failure


@contextlib.contextmanager
def _group(path: Path, version: Version) -> Iterator[Path]:
    """A new cgroup of this process's own; it goes with all that is inside."""
    _make(path)
    try:
        with locked(path):
            yield path
    finally:
        CgroupCage(path, version).kill()
        _remove(path)


def _make(path: Path) -> None:
    try:
        path.mkdir()
    except OSError as failure:
        raise HostError(
            f"cannot make a cgroup: {failure.strerror}",
            where=str(path),
            remedy="run as root, or with --uncapped for numbers that only you will see",
        ) from failure


def _limit(path: Path, limits: Sequence[Limit], cap_bytes: int) -> None:
    for limit in limits:
        file = path / limit.file
        if limit.optional and not file.exists():
            continue
        try:
            file.write_text(limit.text if limit.text is not None else str(cap_bytes))
        except OSError as failure:
            raise HostError(
                f"the kernel refuses a cap of {human_bytes(cap_bytes)}: {failure.strerror}",
                where=str(file),
                remedy="choose a larger cap",
            ) from failure


def _remove(path: Path) -> None:
    """Remove an empty cgroup; the kernel may count a process for a moment after its id has gone."""

    def removed() -> bool:
        try:
            path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    wait_until(removed, seconds=10, failure=f"{path}: this cgroup cannot be removed")
