"""Disks of their own for runs on slower devices: a file system on a loop device over a file on the data disk.

cgroup v1 does not hold what the kernel writes back for a group: write-back counts as the root group's. A
disk that only one run uses can be held there. The loop device uses direct I/O, so that nothing is cached
twice. Whether the rule binds write-back is tried out once before a sweep relies on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.model.experiment import DeviceLimits

from .disk import free_bytes, mount_of, nearest_existing, remove_tree
from .hierarchy import controller_mounts
from .kernel import read_disk
from .throttle import Throttle, apply, held_at_root, throttle_for

#: Which file systems let the kernel write back on a cgroup's own account (v2).
ACCOUNTED_WRITE_BACK = frozenset({"ext2", "ext4", "btrfs", "f2fs", "xfs"})

_MIB = 1 << 20
_SECONDS_MAX = 120
_UNMOUNT_SECONDS = 10
_BYTES_MIN = 64 * _MIB
_TRIAL_RATE = 16 * _MIB
_TRIAL_BYTES = 8 * _MIB
# A rule lets a little through at once.
_TRIAL_SECONDS_MIN = 0.5 * _TRIAL_BYTES / _TRIAL_RATE
_REMEDY = (
    "run as root with loop devices and e2fsprogs, boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1), "
    "or leave it out: --exclude device=<name>"
)


class Imitation:
    """Makes such disks below `folder`, which is removed with each of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tried = False

    def demand(self) -> None:
        """Try one out, the first time. Raises HostError if write-back escapes, or no disk can be made."""
        if self._tried:
            return
        groups, _ = controller_mounts("blkio")
        if groups is None:
            raise _refusal("there is no blkio controller to hold it with")
        with self.disk(size=_BYTES_MIN) as store:
            throttle = throttle_for(store, DeviceLimits(write_bytes_per_second=_TRIAL_RATE), alone=True)
            assert throttle is not None
            with held_at_root(throttle, groups):
                seconds, written = _write_back(store / "trial", numbers=throttle.numbers)
        if written < _TRIAL_BYTES or seconds < _TRIAL_SECONDS_MIN:
            raise _refusal(
                f"the kernel wrote {written / _MIB:.0f} MiB back in {seconds:.2f} s, "
                f"expected at least {_TRIAL_SECONDS_MIN:g} s at {_TRIAL_RATE // _MIB} MiB/s"
            )
        self._tried = True

    @contextlib.contextmanager
    def disk(self, *, size: int) -> Iterator[Path]:
        """An empty folder on a disk of `size` bytes at most; it has the readahead of the one below.

        The file behind it takes what is written. Raises HostError.
        """
        try:
            self._folder.mkdir(parents=True)
            yield _mount(self._folder, size=max(_BYTES_MIN, min(size, free_bytes(self._folder))))
        finally:
            release(self._folder)
            remove_tree(self._folder)


def demand_accounted_write_back(folder: Path) -> None:
    """Raises HostError if the file system hides from cgroup v2 whose pages are written back."""
    kind = mount_of(folder).type
    if kind not in ACCOUNTED_WRITE_BACK:
        raise HostError(
            f"the file system {kind} does not say whose pages are written back, so no rate would hold them",
            where=str(folder),
            remedy=f"set KVDYNO_DATA to a folder on {', '.join(sorted(ACCOUNTED_WRITE_BACK))}",
        )


def release(folder: Path, *, root: Path = Path("/")) -> tuple[str, ...]:
    """Unmount and detach what imitated disks are below `folder`; returns the loop devices' names.

    Rules that a killed sweep left at the root group go too. Raises HostError.
    """
    below = str(folder.resolve()) + "/"
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        place = line.split()[4].encode().decode("unicode_escape")
        if place.startswith(below):
            _unmount(place)
    devices = devices_below(folder, root=root)
    for device in devices:
        _forget_rules((device / "dev").read_text().strip(), root=root)
        _run("losetup", "--detach", f"/dev/{device.name}")
    return tuple(device.name for device in devices)


def devices_below(folder: Path, *, root: Path = Path("/")) -> list[Path]:
    """The loop devices with a file below `folder`, each as its folder below /sys/block."""
    below = str(folder.resolve()) + "/"
    found = []
    for backing in sorted((root / "sys/block").glob("loop*/loop/backing_file")):
        try:
            path = backing.read_text()
        except FileNotFoundError:
            continue  # another's, detached since it was listed
        if path.startswith(below):
            found.append(backing.parent.parent)
    return found


def _unmount(place: str) -> None:
    """A container that has just ended may hold it for a moment."""
    deadline = time.monotonic() + _UNMOUNT_SECONDS
    while True:
        try:
            _run("umount", place)
        except HostError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _forget_rules(numbers: str, *, root: Path) -> None:
    groups, _ = controller_mounts("blkio", root=root)
    if groups:
        apply(Throttle(path="", numbers=numbers).at_root(), groups, needed=False)


def _mount(folder: Path, *, size: int) -> Path:
    """Make the file, the device and the file system, and mount it; all below `folder`."""
    image, place = folder / "disk.img", folder / "disk"
    with image.open("xb") as stream:
        stream.truncate(size)
    # Few inodes, and nothing left for later: a lazy initialisation would write during the run.
    lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    _run("mkfs.ext4", "-q", "-F", "-T", "largefile4", "-m", "0", "-E", lazy, str(image))
    device = Path(_run("losetup", "--find", "--show", "--direct-io=on", str(image)))
    queue = Path("/sys/block") / device.name / "queue"
    if (queue.parent / "loop/dio").read_text().strip() != "1":
        raise _refusal("the disk below takes no direct I/O from a loop device")
    with contextlib.suppress(OSError):
        (queue / "read_ahead_kb").write_text(_read_ahead_below(folder))
    place.mkdir()
    _run("mount", "-t", "ext4", str(device), str(place))
    store = place / "data"
    store.mkdir()
    return store


def _read_ahead_below(folder: Path) -> str:
    device = (Path("/sys/dev/block") / mount_of(nearest_existing(folder)).device).resolve()
    disk = device if (device / "queue").is_dir() else device.parent
    return (disk / "queue/read_ahead_kb").read_text()


def _write_back(path: Path, *, numbers: str) -> tuple[float, float]:
    """Dirty some pages, have the kernel write them back; returns seconds and bytes that the disk saw."""
    stat = Path("/sys/dev/block") / numbers / "stat"
    before = read_disk(stat)["disk_write_bytes"]
    with path.open("wb") as stream:
        stream.write(os.urandom(_TRIAL_BYTES))
        stream.flush()
        started = time.monotonic()
        # Unlike fsync, which writes as the caller, this has the kernel's own threads write.
        if ctypes.CDLL(None, use_errno=True).syncfs(stream.fileno()) != 0:
            raise _refusal(f"syncfs fails: {os.strerror(ctypes.get_errno())}")
    return time.monotonic() - started, read_disk(stat)["disk_write_bytes"] - before


def _refusal(why: str) -> HostError:
    return HostError(f"no disk can be imitated whose write-back is held: {why}", remedy=_REMEDY)


def _run(*command: str) -> str:
    """What the command prints. Raises HostError."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_SECONDS_MAX,
            check=False,
            env={"PATH": path, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise _refusal(f"{command[0]}: {failure}") from failure
    if done.returncode != 0:
        raise _refusal(f"{command[0]}: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout.strip()
