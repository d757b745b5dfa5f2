"""Jobs: handed to a scheduler by submitit, looked at and cancelled by their sweep's name."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

import submitit

from kvdyno.errors import HostError, UsageError
from kvdyno.model.submission import ClusterName

#: Seconds that a job has before Slurm ends it, to put its host back.
_WARNING_SECONDS = 60
#: A job that ran out of time is queued again, so often: each time it goes on where it stopped.
_TIMEOUTS_MAX = 100
_ANSWER_SECONDS = 30


@dataclass(frozen=True)
class Job:
    """A job that waits or runs: its number, the scheduler's word for its state, and its host, if any."""

    number: int
    state: str
    host: str = ""


class Cluster(Protocol):
    """What starts jobs. `name` is a sweep's: jobs are found again by it."""

    def submit(
        self,
        commands: Sequence[Sequence[str]],
        *,
        name: str,
        folder: Path,
        hosts: int,
        minutes: int,
        options: Mapping[str, str],
        without: Sequence[str],
    ) -> None:
        """Hand over a job for each command, `hosts` at most at a time, `minutes` at most each, on no node of
        `without`; their output goes to `folder`. Raises HostError.
        """

    def active(self, name: str) -> tuple[Job, ...]:
        """The jobs that wait or run. Raises HostError if the scheduler does not answer."""

    def cancel(self, name: str) -> None:
        """End the jobs that wait or run; they put their hosts back. Raises HostError."""

    def keep_off(self, name: str, nodes: Sequence[str]) -> None:
        """Let the jobs that wait start on no node of these either. Raises HostError."""


def choose_cluster(name: ClusterName) -> Cluster:
    """Raises HostError where there is no Slurm."""
    if name == "local":
        return ThisMachine()
    for program in ("sbatch", "squeue", "scancel", "scontrol", "sinfo", "srun"):
        if shutil.which(program) is None:
            raise HostError(
                f"no {program} here",
                where="--runner slurm",
                remedy="submit from a host of the cluster, or pass --cluster local",
            )
    return Slurm()


@dataclass(frozen=True)
class Body:
    """What a job runs: one command, which is ended when its job is, and may be run again."""

    command: tuple[str, ...]

    def __call__(self) -> int:
        """Run the command. Raises CalledProcessError if it fails."""
        # Alone in its session: Slurm's warning is for submitit, which asks for the job to be queued again.
        child = subprocess.Popen(self.command, start_new_session=True)

        def end(_number: int, _frame: FrameType | None) -> None:
            child.terminate()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        try:
            status = child.wait()
        finally:
            child.terminate()
            child.wait()
        if status:
            raise subprocess.CalledProcessError(status, self.command)
        return status

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """Nothing is kept: what was measured is stored, and is not measured again."""
        return submitit.helpers.DelayedSubmission(self)


class Slurm:
    """A cluster, through Slurm's commands."""

    def submit(
        self,
        commands: Sequence[Sequence[str]],
        *,
        name: str,
        folder: Path,
        hosts: int,
        minutes: int,
        options: Mapping[str, str],
        without: Sequence[str],
    ) -> None:
        """See Cluster. One array, its jobs queued again when their host fails; each has a host for itself."""
        executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=_TIMEOUTS_MAX)
        asked = _leaving_out(options, without)
        try:
            minutes = int(asked.pop("time", minutes))
        except ValueError:
            raise UsageError("expected minutes", where=f"--slurm time={options['time']}") from None
        executor.update_parameters(
            job_name=name,
            time=minutes,
            nodes=1,
            exclusive=True,
            array_parallelism=hosts,
            signal_delay_s=_WARNING_SECONDS,
            # All CPUs and all memory of the host: a job's own share would confine the driver twice.
            srun_args=["--cpu-bind=none"],
            additional_parameters={"requeue": True, "mem": "0", "ntasks": "1", **asked},
        )
        try:
            with executor.batch():
                for command in commands:
                    executor.submit(Body(tuple(command)))
        except (OSError, RuntimeError, subprocess.SubprocessError) as failure:
            raise HostError(
                f"Slurm took no job: {failure}",
                where="sbatch",
                remedy="`--slurm NAME=VALUE` passes options of sbatch, such as partition=main",
            ) from failure

    def active(self, name: str) -> tuple[Job, ...]:
        """See Cluster."""
        lines = _answer("squeue", "-h", "-r", "--name", name, "-o", "%K|%T|%N").splitlines()
        fields = (line.strip().split("|") for line in lines)
        return tuple(Job(int(n) if n.isdigit() else 0, state.lower(), host) for n, state, host in fields)

    def cancel(self, name: str) -> None:
        """See Cluster."""
        _answer("scancel", "--name", name)

    def keep_off(self, name: str, nodes: Sequence[str]) -> None:
        """See Cluster. Slurm refuses to change a job that has started meanwhile: then it looks again."""
        for last in (False, False, True):
            try:
                self._keep_waiting_off(name, nodes)
            except HostError as refused:
                if last or refused.where != "scontrol":
                    raise
            else:
                return

    def _keep_waiting_off(self, name: str, nodes: Sequence[str]) -> None:
        waiting = _answer("squeue", "-h", "-t", "pending", "--name", name, "-o", "%i|%x").splitlines()
        for line in waiting if nodes else ():
            jobs, _, before = line.strip().partition("|")
            options = _leaving_out({} if before in ("", "(null)") else {"exclude": before}, nodes)
            if "exclude" in options:
                # 7_[3-8%2]: tasks 3 to 8, two at a time. scontrol takes it without the limit.
                tasks = re.sub(r"%\d+", "", jobs)
                _answer("scontrol", "update", f"JobId={tasks}", f"ExcNodeList={options['exclude']}")


class ThisMachine:
    """Jobs as processes of this machine, by submitit's local executor: the laptop's cluster."""

    def submit(
        self,
        commands: Sequence[Sequence[str]],
        *,
        name: str,
        folder: Path,
        hosts: int,
        minutes: int,
        options: Mapping[str, str],
        without: Sequence[str],
    ) -> None:
        """See Cluster. A machine is one host: its jobs wait for each other by the lock of sweeps."""
        del hosts, without
        if options:
            raise UsageError("no Slurm takes them", where="--slurm", remedy="leave out --cluster local")
        executor = submitit.LocalExecutor(folder=folder / name)
        executor.update_parameters(timeout_min=minutes, signal_delay_s=_WARNING_SECONDS)
        for command in commands:
            executor.submit(Body(tuple(command)))

    def active(self, name: str) -> tuple[Job, ...]:
        """See Cluster."""
        host = os.uname().nodename
        return tuple(Job(number, "running", host) for number, _ in enumerate(_controllers(name)))

    def cancel(self, name: str) -> None:
        """See Cluster. Waits until they have ended."""
        pids = list(_controllers(name))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        while list(_controllers(name)):
            time.sleep(0.1)

    def keep_off(self, name: str, nodes: Sequence[str]) -> None:
        """See Cluster. They can only start here: `run-point` refuses."""


def _controllers(name: str) -> list[int]:
    """Processes of submitit that look after a job of that name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"submitit.local._local" in words and words[-2].endswith(f"/{name}".encode()):
                found.append(int(folder.name))
    return sorted(found)


def _leaving_out(options: Mapping[str, str], nodes: Sequence[str]) -> dict[str, str]:
    """The options of sbatch, which exclude these nodes too. It refuses nodes that the cluster lacks."""
    known = _answer("sinfo", "-a", "-h", "-N", "-o", "%N").split() if nodes else ()
    names = [*filter(None, [options.get("exclude")]), *(node for node in nodes if node in known)]
    return {**options, "exclude": ",".join(dict.fromkeys(names))} if names else dict(options)


def _answer(*command: str) -> str:
    """What a command of Slurm prints. Raises HostError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise HostError(f"Slurm does not answer: {failure}", where=command[0]) from failure
    if done.returncode:
        raise HostError(f"Slurm does not answer: {done.stderr.strip()}", where=command[0])
    return done.stdout
