"""One sweep a machine: two would measure each other."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from kvdyno.errors import BusyError, HostError

_NAME = "kvdyno-sweep.lock"


class SweepLock:
    """Held as a context. The kernel frees it when its holder ends, however that happens.

    It belongs to the machine, not to a checkout or a user: the file is where all of them may open it.
    Raises BusyError, which names the holder; HostError if no such file can be made.
    """

    def __init__(self, checkout: Path, *, path: Path | None = None) -> None:
        self._checkout = checkout
        self._path = path or _default_path()

    def __enter__(self) -> SweepLock:
        """Take the lock, or raise."""
        self._descriptor = _open(self._path)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _describe_holder(self._descriptor)
            os.close(self._descriptor)
            raise BusyError(
                f"another sweep runs on this machine: {holder}",
                where=str(self._path),
                remedy="wait for it: two at once would measure each other",
            ) from None
        self._write_holder()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free it. The file stays: removing it would let two hold locks on two files of one name."""
        os.close(self._descriptor)

    def _write_holder(self) -> None:
        """Who holds it, for others' messages; a file that another user made may be locked, not written."""
        holder = {
            "pid": os.getpid(),
            "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            "checkout": str(self._checkout),
        }
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(holder).encode(), 0)
        except OSError:
            return


def _default_path() -> Path:
    """One for all users, whatever their rights and their TMPDIR."""
    shared = Path("/run/lock")
    for_all = shared.is_dir() and shared.stat().st_mode & stat.S_IWOTH
    return (shared if for_all else Path("/tmp")) / _NAME


def _open(path: Path) -> int:
    """A descriptor of the lock file, to write if possible. Raises HostError.

    An existing file is opened without O_CREAT, which the kernel forbids for others' files in such folders.
    """
    for flags in (os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        try:
            descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
        except OSError as failure:
            reason = failure
            continue
        if flags & os.O_CREAT:
            os.fchmod(descriptor, 0o666)
        return descriptor
    raise HostError(f"cannot open the sweep lock: {reason.strerror}", where=str(path))


def _describe_holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {holder['pid']}, since {holder['started']}, from {holder['checkout']}"
    except (ValueError, KeyError, TypeError):
        return "its holder did not say who it is"
