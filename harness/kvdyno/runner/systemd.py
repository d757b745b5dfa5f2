"""Where systemd rules cgroup v2: a transient scope for each run, asked for through systemd-run.

systemd insists on being the only one that makes cgroups at the top, and takes a scope away together with its
counters when its last process ends. So a shell stays inside as the driver's parent, and copies the
counters out before it leaves.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kvdyno.errors import HostError
from kvdyno.host.owner import PREFIX, is_leftover
from kvdyno.model.engine import RunnerName

from .cage import BINDS_V2, LAUNCH_FAILED, Process, Task, read_counter, read_number, read_pids, wait_until
from .process import HostProcess
from .throttle import Throttle, read_usage

_SECONDS_MAX = 30
_PROBE_CAP_BYTES = 64 << 20

# $0 is the report folder, $1 where cgroup v2 is mounted, $2 the cap that must be in force ("max": none).
# systemd takes any limit, and lets it rest where the memory controller is not delegated to it: so look.
# A handler for TERM (rather than ignoring it) lets the driver have its own default.
_HOLDER_SCRIPT = f"""
group=$1$(sed -n s/^0:://p /proc/self/cgroup)
echo "$group" > "$0/group" || exit {LAUNCH_FAILED}
found=$(cat "$group/memory.max" 2>&1)
if [ "$2" != max ] && [ "$found" != "$2" ]; then
  echo "$group/memory.max: expected the cap of $2 bytes, found '$found'" >&2
  exit {LAUNCH_FAILED}
fi
shift 2
trap : TERM
"$@"
status=$?
cp "$group/memory.events" "$group/memory.peak" "$group/memory.swap.max" "$0" 2>/dev/null
exit $status
"""


@dataclass(frozen=True)
class Systemctl:
    """The two commands, for the system or for the user's own manager."""

    user: bool

    @property
    def _who(self) -> list[str]:
        return ["--user"] if self.user else []

    def scope(self, unit: str, *, cap_bytes: int, throttle: Throttle | None = None) -> list[str]:
        """The words before a command that put it into a new scope."""
        rates = throttle.systemd() if throttle else []
        limits = ["-p", f"MemoryMax={cap_bytes}", "-p", "MemorySwapMax=0"] if cap_bytes else []
        return ["systemd-run", *self._who, "--scope", "--quiet", f"--unit={unit}", *limits, *rates, "--"]

    def ask(self, *words: str) -> str:
        """What systemctl prints; empty if it fails (a unit that has gone is no error here).

        Raises HostError if systemctl is not there, or does not answer.
        """
        return _run(["systemctl", *self._who, *words]).stdout.strip()


@dataclass(frozen=True)
class ScopeCage:
    """A systemd scope that holds one run. `report` is where the holder leaves the counters.

    `mount` is where cgroup v2 is mounted.
    """

    unit: str
    systemctl: Systemctl
    cap_bytes: int
    report: Path
    mount: Path
    throttle: Throttle | None = None

    @property
    def place(self) -> str:
        """The unit's name."""
        return self.unit

    def start(self, task: Task) -> Process:
        """See Cage."""
        return HostProcess(task, wrap=self.command, end_others=self.kill)

    def command(self, argv: Sequence[str]) -> list[str]:
        """`argv`, wrapped so that it starts inside."""
        cap = str(_whole_pages(self.cap_bytes)) if self.cap_bytes else "max"
        holder = ["/bin/sh", "-c", _HOLDER_SCRIPT, str(self.report), str(self.mount), cap, *argv]
        return [*self.systemctl.scope(self.unit, cap_bytes=self.cap_bytes, throttle=self.throttle), *holder]

    def pids(self) -> list[int]:
        """See Cage. The holder is among them."""
        group = self._group()
        return read_pids(group / "cgroup.procs") if group else []

    def kill(self) -> None:
        """See Cage."""
        self.systemctl.ask("kill", "--signal=SIGKILL", self.unit)
        wait_until(lambda: not self.pids(), seconds=20, failure=f"{self.unit}: processes outlive SIGKILL")

    def oom_kills(self) -> int:
        """The holder's copy of the counter; if the holder died too, systemd's verdict."""
        events = self._left("memory.events")
        if events:
            return read_counter(events, "oom_kill")
        return int(self.systemctl.ask("show", "--property=Result", "--value", self.unit) == "oom-kill")

    def ran_into_cap(self) -> bool:
        """See Cage. Believed if the counters are gone."""
        events = self._left("memory.events")
        return read_counter(events, "oom") > 0 if events else True

    def limits_swap(self) -> bool:
        """See Cage. Believed if nothing was left to look at."""
        return self._left("memory.swap.max") is not None or self._left("memory.events") is None

    def peak_bytes(self) -> int | None:
        """See Cage."""
        peak = self._left("memory.peak")
        return read_number(peak) if peak else None

    def usage(self) -> dict[str, float]:
        """See Cage."""
        group = self._group()
        return read_usage(group, group)

    def _left(self, name: str) -> Path | None:
        """A file of the cgroup: the holder's copy, or the original while it is there."""
        places = [folder / name for folder in (self.report, self._group()) if folder]
        return next((place for place in places if place.exists()), None)

    def _group(self) -> Path | None:
        try:
            return Path((self.report / "group").read_text().strip())
        except OSError:
            return None


class SystemdWarden:
    """Makes scopes named after this process."""

    runner: RunnerName = "local"
    kind = "systemd"
    capped = True
    device_binds = BINDS_V2
    binds_write_back = True
    details: Mapping[str, object] = MappingProxyType({})

    def __init__(self, *, user: bool, mount: Path, name: str, why: str) -> None:
        self.why = why
        self._mount = mount
        self._systemctl = Systemctl(user=user)
        self._name = name
        self._count = 0

    @contextlib.contextmanager
    def cage(self, *, cap_bytes: int, throttle: Throttle | None = None) -> Iterator[ScopeCage]:
        """See Warden."""
        self._count += 1
        unit = f"{self._name}.{self._count}.scope"
        with tempfile.TemporaryDirectory(prefix=PREFIX) as report:
            cage = ScopeCage(unit, self._systemctl, cap_bytes, Path(report), self._mount, throttle)
            try:
                yield cage
            finally:
                cage.kill()
                self._forget(unit)

    def remove_leftovers(self) -> tuple[str, ...]:
        """See Warden."""
        listed = self._systemctl.ask("list-units", "--all", "--plain", "--no-legend", f"{PREFIX}*.scope")
        units = [line.split()[0] for line in listed.splitlines() if line.split()]
        leftovers = tuple(u for u in units if is_leftover(u))
        for unit in leftovers:
            self._systemctl.ask("kill", "--signal=SIGKILL", unit)
            self._forget(unit)
        return leftovers

    def close(self) -> None:
        """Nothing outlives its cage."""

    def _forget(self, unit: str) -> None:
        """A scope that ended badly stays listed until it is reset."""
        self._systemctl.ask("stop", unit)
        self._systemctl.ask("reset-failed", unit)


def probe(*, user: bool, mount: Path) -> None:
    """Start nothing in a capped scope, to see whether the cap is in force. Raises HostError."""
    warden = SystemdWarden(user=user, mount=mount, name=f"{PREFIX}probe", why="")
    with warden.cage(cap_bytes=_PROBE_CAP_BYTES) as cage:
        done = _run(cage.command(["/bin/true"]))
    if done.returncode == LAUNCH_FAILED:
        raise HostError(
            f"systemd does not enforce caps here: {done.stderr.strip()}",
            where="systemd-run",
            remedy="run as root, or delegate the memory controller to your user manager",
        )
    if done.returncode != 0:
        raise HostError(
            f"systemd-run failed: {done.stderr.strip()}",
            where="systemd-run",
            remedy="run as root, or log in so that your user manager runs (loginctl enable-linger)",
        )


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired as failure:
        raise HostError(
            f"no answer within {_SECONDS_MAX} s", where=command[0], remedy="see with systemctl status"
        ) from failure
    except OSError as failure:
        raise HostError(
            f"cannot start: {failure.strerror}", where=command[0], remedy="install systemd"
        ) from failure


def _whole_pages(size: int) -> int:
    """What the kernel makes of a cap."""
    page = os.sysconf("SC_PAGESIZE")
    return size // page * page
