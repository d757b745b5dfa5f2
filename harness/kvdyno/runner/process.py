"""Processes of this machine: a driver starts with nothing of the harness's environment, and dies with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence

from kvdyno.errors import HostError

from .cage import Places, Task

# How `systemd-run --user` finds the user's manager.
_PASSED_ON = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")

Wrap = Callable[[Sequence[str]], list[str]]


class HostProcess:
    """See Process. What has left the process group is the cage's to end: `end_others` does."""

    fault = ""
    cpu_seconds_apart = 0.0

    def __init__(self, task: Task, *, wrap: Wrap, end_others: Callable[[], None]) -> None:
        """Start the task, wrapped so that it starts inside its cage. Raises HostError."""
        self._end_others = end_others
        self.progress, writing_end = os.pipe()
        try:
            self._process = _start(task, wrap, progress_fd=writing_end)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(writing_end)

    @property
    def pid(self) -> int:
        """See Process."""
        return self._process.pid

    @property
    def returncode(self) -> int:
        """See Process."""
        return int(self._process.returncode)

    def wait(self, seconds: float) -> bool:
        """See Process."""
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ask_to_end(self) -> None:
        """See Process. All of the group are asked."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """See Process."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._end_others()
        if not self.wait(20):
            raise HostError(
                f"process {self._process.pid} outlives SIGKILL",
                remedy="look at it with ps: state D waits for a disk; a reboot ends it",
            )

    def close(self) -> None:
        """See Process."""
        os.close(self.progress)


def _start(task: Task, wrap: Wrap, *, progress_fd: int) -> subprocess.Popen[bytes]:
    """The driver dies with the harness (setpriv), on its CPUs (taskset), in its cage."""
    places = Places(store=task.store, output=task.output, progress_fd=progress_fd)
    on_cpus = ["taskset", "-c", ",".join(map(str, task.cpus))] if task.cpus else []
    argv = wrap(["setpriv", "--pdeathsig", "KILL", "--", *on_cpus, *task.argv(places)])
    try:
        with task.log.open("ab") as log:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=task.output,
                env=_environment(),
                pass_fds=(progress_fd,),
                start_new_session=True,
            )
    except OSError as failure:
        raise HostError(
            f"cannot start: {failure.strerror}", where=argv[0], remedy="install util-linux"
        ) from failure


def _environment() -> dict[str, str]:
    """Nothing that a person's shell happens to hold (a preloaded allocator, say) may change a measurement."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", **passed_on}
