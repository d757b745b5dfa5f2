"""One sweep a machine: two would measure each other. One sweep a folder: it alone may clean there.

Sweeps exclude each other by what they share. A container sees another /run/lock, but the same data folder,
records or cgroups; so a sweep locks all of these.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from kvdyno.errors import BusyError, HostError

#: What lock files are called, wherever they are.
LOCK_FILE = "kvdyno-sweep.lock"


class SweepLock:
    """Held as a context. The kernel frees it when its holder ends, however that happens.

    A sweep holds all `places` or none: lock files, and folders that are locked themselves since they take no
    files. `waiting` is called with the other sweep's holder before each wait; without it, entering raises
    BusyError, which names the holder. Raises HostError if a place cannot be locked.
    """

    def __init__(
        self, checkout: Path, *, places: Sequence[Path], waiting: Callable[[str], None] | None = None
    ) -> None:
        self._checkout = checkout
        self._places = places
        self._waiting = waiting
        self._held = contextlib.ExitStack()

    def __enter__(self) -> SweepLock:
        """Take the lock, at once or after all sweeps before it."""
        while taken := self._take():
            with _opened(taken) as descriptor:
                holder = _describe_holder(descriptor)
                if self._waiting is None:
                    raise BusyError(
                        f"another sweep runs on this machine: {holder}",
                        where=str(taken),
                        remedy="two at once would disturb each other: pass --wait to `kvdyno run` or "
                        "`kvdyno clean`, which then begins when the other has ended",
                    )
                self._waiting(holder)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free it. Files stay: removing one would let two sweeps hold locks on two files of one name."""
        self._held.close()

    def _take(self) -> Path | None:
        """Hold every place, or none; returns the first that another sweep holds."""
        descriptors: dict[tuple[int, int], int] = {}
        with contextlib.ExitStack() as undo:
            for place in self._places:
                descriptor = undo.enter_context(_opened(place))
                status = os.fstat(descriptor)
                if (status.st_dev, status.st_ino) in descriptors:
                    continue  # data and records in one folder
                if not _locked(descriptor, place):
                    return place
                descriptors[status.st_dev, status.st_ino] = descriptor
            self._held = undo.pop_all()
        for descriptor in descriptors.values():
            self._write_holder(descriptor)
        return None

    def _write_holder(self, descriptor: int) -> None:
        """Who holds it, for others' messages.

        A file that another user made may be locked, not written. One with a second name may be anything.
        """
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return
        holder = {
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            "checkout": str(self._checkout),
        }
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def machine_lock() -> Path:
    """One lock file for all users, whatever their rights and their TMPDIR."""
    shared = Path("/run/lock")
    for_all = shared.is_dir() and shared.stat().st_mode & stat.S_IWOTH
    return (shared if for_all else Path("/tmp")) / LOCK_FILE


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[int]:
    descriptor = _open(place)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(place: Path) -> int:
    """A descriptor of a lock file, to write if possible, or of a folder. Raises HostError.

    An existing file is opened without O_CREAT, which the kernel forbids for others' files in such folders.
    Anybody may have planted a link there: none is followed. The second round meets a file that another
    sweep made during the first.
    """
    careful = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for flags in 2 * (os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_CREAT | os.O_EXCL):
        try:
            descriptor = os.open(place, flags | careful, 0o666)
        except OSError as failure:
            reason = failure
            continue
        if flags & os.O_CREAT:
            os.fchmod(descriptor, 0o666)
        return descriptor
    if place.is_symlink():
        raise HostError(
            "expected the sweep lock, found a symbolic link", where=str(place), remedy="remove the link"
        )
    raise HostError(f"cannot open the sweep lock: {reason.strerror}", where=str(place))


def _locked(descriptor: int, place: Path) -> bool:
    """Whether this process holds it now. Raises HostError if the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as failure:
        raise HostError(
            f"cannot lock: {failure.strerror}",
            where=str(place),
            remedy="choose folders on a local file system: --data, --results",
        ) from failure
    return True


def _describe_holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        who = f"process {holder['pid']}, since {holder['started']}"
        return f"{who}, from {holder['checkout']} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "its holder did not say who it is"
