"""A real Slurm on this machine, for tests: munged, slurmctld, and a slurmd for each host.

Hosts share the kernel and its clock. Each has its own processes, machine id, lock folder, cgroups and data
folder, so the harness takes them for different machines, and killing one kills all that runs on it, as a
power cut would. A host may show another kernel's release where the harness reads it, and the clock of its
jobs may be ahead or behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvdyno.runner import cgroup_root

PROGRAMS = ("munged", "slurmctld", "slurmd", "squeue", "unshare", "cc")

#: The size of the file system `TestCluster.small`.
SMALL_BYTES = 16 << 20

_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SlurmctldTimeout=5
SlurmdTimeout=5
KillWait=10
ReturnToService=2
SchedulerParameters=sched_interval=1,sched_min_interval=1,bf_interval=1
MaxArraySize=1001
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
TaskProlog={folder}/task-prolog
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2
"""

# In its own mount and process namespaces. What follows is this host's alone.
_HOST = """\
set -e
mount --bind {own}/machine-id /etc/machine-id
mount --bind {own}/lock /run/lock
mount --bind {own}/data {data}
mount --bind {own}/osrelease /proc/sys/kernel/osrelease
if [ -n "{cgroup}" ]; then mount --bind {own_cgroup} {cgroup}; fi
slurmd -D -N {name} &
wait
"""


def missing(programs: Sequence[str] = PROGRAMS) -> str:
    """Why no such cluster, or what needs these programs, can run here; nothing if it can."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    lacking = [program for program in programs if shutil.which(program, path=path) is None]
    if lacking:
        return f"no {', '.join(lacking)}: `harness/setup.sh slurm` installs Slurm"
    if os.geteuid() != 0:
        return "only root can start hosts with namespaces of their own"
    tried = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True, text=True)
    return f"this container may not make namespaces: {tried.stderr.strip()}" if tried.returncode else ""


def host_alone(folder: Path) -> Sequence[str]:
    """What to put before a command, so that no sweep of this machine shares its locks."""
    (folder / "lock").mkdir(parents=True)
    (folder / "lock").chmod(0o1777)
    (folder / "cgroup").mkdir()
    root = cgroup_root()
    hidden = f"mount --bind {folder}/cgroup {root};" if root else ""
    script = f'set -e; mount --bind {folder}/lock /run/lock; {hidden} exec "$0" "$@"'
    return ("unshare", "--mount", "sh", "-c", script)


@dataclass
class TestCluster:
    """The cluster: `data` is where every host has a folder of its own."""

    __test__ = False

    folder: Path
    data: Path
    names: Sequence[str] = ("host1", "host2")
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def small(self) -> Path:
        """A file system that all hosts share, and that is soon full."""
        return self.folder / "small"

    @property
    def environment(self) -> Mapping[str, str]:
        """For commands that talk to it."""
        return {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        }

    @property
    def _clock(self) -> Path:
        """What is preloaded into jobs whose clock is off."""
        return self.folder / "skewed_clock.so"

    def start(self) -> None:
        """Raises AssertionError if the hosts are not ready soon."""
        for name in ("munge", "state", "small", *(f"spool/{name}" for name in self.names)):
            (self.folder / name).mkdir(parents=True)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", str(self.small)], check=True
        )
        self.data.mkdir(parents=True, exist_ok=True)
        (self.folder / "munge").chmod(0o700)
        ports = _free_ports(len(self.names) + 1)
        nodes = "\n".join(
            f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} RealMemory=500 "
            f"CPUs={os.cpu_count()}"
            for name, port in zip(self.names, ports[1:], strict=True)
        )
        text = _CONFIGURATION.format(folder=self.folder, port=ports[0], nodes=nodes)
        (self.folder / "slurm.conf").write_text(text)
        source = Path(__file__).with_name("skewed_clock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self._clock, source, "-ldl"], check=True)
        prolog = self.folder / "task-prolog"
        # Batch scripts, whose steps have large numbers, only start srun.
        shown = f"cat {self.folder}/hosts/$SLURMD_NODENAME/environment"
        prolog.write_text(f'#!/bin/sh\nif [ "${{SLURM_STEP_ID:-9999}}" -lt 1000 ]; then {shown}; fi\n')
        prolog.chmod(0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        munge = [
            f"--{n}={self.folder}/munge/{n.removesuffix('-file')}"
            for n in ("key-file", "pid-file", "log-file")
        ]
        seed = f"--seed-file={self.folder}/munge/seed"
        self._run(
            "munged",
            "munged",
            "--foreground",
            "--force",
            f"--socket={self.folder}/munge/socket",
            seed,
            *munge,
        )
        wait_for((self.folder / "munge" / "socket").exists, "munged")
        self.start_controller()
        for name in self.names:
            self.start_host(name)
        wait_for(self.ready, "the hosts")

    def ready(self) -> bool:
        """Whether every host takes jobs."""
        return set(self.ask("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"}

    def start_controller(self) -> None:
        self._run("slurmctld", "slurmctld", "-D")
        wait_for(lambda: "UP" in self.ask("scontrol", "ping"), "slurmctld")

    def start_host(self, name: str, *, kernel: str = os.uname().release, ahead_seconds: int = 0) -> None:
        """Start a host, on which the clock of jobs is so far ahead; below 0, behind."""
        own = self.folder / "hosts" / name
        for folder in ("lock", "data"):
            (own / folder).mkdir(parents=True, exist_ok=True)
        (own / "lock").chmod(0o1777)
        (own / "machine-id").write_text(f"{name}\n")
        (own / "osrelease").write_text(f"{kernel}\n")
        preloaded = f"export LD_PRELOAD={self._clock}\nexport SKEW_SECONDS={ahead_seconds}\n"
        (own / "environment").write_text(preloaded if ahead_seconds else "")
        root = cgroup_root()
        own_cgroup = root / f"slurm-test-{os.getpid()}-{name}" if root else None
        if own_cgroup:
            own_cgroup.mkdir(exist_ok=True)
        script = _HOST.format(own=own, data=self.data, cgroup=root or "", own_cgroup=own_cgroup, name=name)
        self._run(
            name, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script
        )

    def kill(self, name: str) -> None:
        """A host, with all its processes; or the controller."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def restart_host(self, name: str, *, ahead_seconds: int = 0) -> None:
        """An idle one; it is ready again when this returns."""
        self.kill(name)
        self.start_host(name, ahead_seconds=ahead_seconds)
        wait_for(self.ready, "the hosts")

    def lose(self, name: str) -> None:
        """A host while jobs run. Slurm would notice later."""
        self.kill(name)
        self.ask("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=lost")
        self.hurry()

    def restart_controller(self, *, after: Callable[[], bool]) -> None:
        """It comes back with what it knew, and was away until `after` holds."""
        process = self._processes.pop("slurmctld")
        process.terminate()  # it saves what it knows
        process.wait()
        wait_for(after, "what happens without a controller")
        self.start_controller()

    def preempt(self, name: str) -> None:
        """A job of higher priority takes the host for a second; the job that had it is queued again."""
        self.ask("sbatch", "-p", "urgent", "-w", name, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
        self.hurry()

    def all_started(self) -> bool:
        """Whether jobs run, none waits, and each has the step that needed the controller."""
        steps = self.ask("squeue", "-h", "-s", "-o", "%i").split()
        running = self.ask("squeue", "-h", "-r", "-t", "running", "-o", "%i").split()
        waits = self.ask("squeue", "-h", "-t", "pending").strip()
        return bool(running) and not waits and {f"{job}.0" for job in running} <= set(steps)

    def hurry(self) -> None:
        """Start what is queued again now: Slurm would let it wait for two minutes."""
        wait_for(lambda: "BeginTime" in self.ask("squeue", "-h", "-r", "-o", "%r"), "a requeued job")
        jobs = set(self.ask("squeue", "-h", "-t", "pending", "-o", "%A").split())
        for job in jobs:
            self.ask("scontrol", "update", f"JobId={job}", "StartTime=now")

    def lose_controller(self) -> None:
        """The controller with all that it knew. New jobs get other numbers: hosts may still end old ones."""
        self.kill("slurmctld")
        shutil.rmtree(self.folder / "state")
        (self.folder / "state").mkdir()
        with (self.folder / "slurm.conf").open("a") as stream:
            stream.write("FirstJobId=10000\n")
        self.start_controller()

    def stop(self) -> None:
        for name in reversed(list(self._processes)):
            self.kill(name)
        subprocess.run(["umount", str(self.small)], check=False)
        root = cgroup_root()
        for group in sorted(root.glob(f"slurm-test-{os.getpid()}-*")) if root else ():
            for folder in (*sorted((p for p in group.rglob("*") if p.is_dir()), reverse=True), group):
                wait_for(lambda f=folder: _removed(f), f"an empty cgroup {folder}")

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            command, check=False, env={**os.environ, **self.environment}, capture_output=True, text=True
        )
        return done.stdout

    def _run(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.out").open("ab")
        with log:
            self._processes[name] = subprocess.Popen(
                command,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


@contextlib.contextmanager
def running(folder: Path, *, data: Path) -> Iterator[TestCluster]:
    cluster = TestCluster(folder, data)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def wait_for(condition: Callable[[], bool], what: str, *, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not come in {seconds:g} s"
        time.sleep(0.1)


def _removed(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
